/* SPDX-License-Identifier: Apache-2.0 */
/* target.c – see target.h. The method and the first byte decide the form; each form has one reader.
 */
#include <errno.h>

#include "http/target.h"

static int target_absolute(struct slice text, bool options, struct target *t)
{
	size_t colon = slice_find(text, ':'), end;

	t->form = TARGET_ABSOLUTE;
	t->scheme = slice_first(text, colon);
	t->https = slice_ieq(t->scheme, SLICE("https"));
	if (!t->https && !slice_ieq(t->scheme, SLICE("http")))
		return -EBADMSG;
	text = slice_skip(text, colon);
	if (!slice_eq(slice_first(text, 3), SLICE("://")))
		return -EBADMSG;
	text = slice_skip(text, 3);
	for (end = 0; end < text.n; end++)
		if (text.p[end] == '/' || text.p[end] == '?')
			break;
	t->path = slice_skip(text, end);
	if (t->path.n == 0)
		t->path = options ? SLICE("*") : SLICE("/"); /* RFC 9112 sections 3.2.1, 3.2.4 */
	return authority_parse(slice_first(text, end), &t->authority);
}

int target_parse(struct slice target, struct slice method, struct target *ret)
{
	bool options = slice_eq(method, SLICE("OPTIONS"));
	struct target t = {0};
	int r = 0;

	if (target.n == 0)
		return -EBADMSG;
	for (size_t i = 0; i < target.n; i++)
		if (target.p[i] < 0x21 || target.p[i] > 0x7e || target.p[i] == '#')
			return -EBADMSG;
	if (slice_eq(method, SLICE("CONNECT"))) {
		t.form = TARGET_AUTHORITY;
		r = authority_parse(target, &t.authority);
		if (r == 0 && !t.authority.has_port)
			r = -EBADMSG;
	} else if (target.p[0] == '/') {
		t.form = TARGET_ORIGIN;
		t.path = target;
	} else if (slice_eq(target, SLICE("*"))) {
		t.form = TARGET_ASTERISK;
		t.path = target;
		r = options ? 0 : -EBADMSG;
	} else {
		r = target_absolute(target, options, &t);
	}
	if (r < 0)
		return r;
	*ret = t;
	return 0;
}
