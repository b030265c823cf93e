/* SPDX-License-Identifier: Apache-2.0 */
/* synthetic_record.c – see synthetic_record.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "model/addr.h"
#include "policy/hosts.h"
#include "proxy/synthetic.h"
#include "proxy/synthetic_record.h"

static const char synthetic_record_first[] = "sallyport-names 1\n";
_Static_assert(sizeof(synthetic_record_first) - 1 == SYNTHETIC_RECORD_HEAD, "the first line");

static int synthetic_record_bad(
	const struct synthetic_place *at, struct fault *fault, int r, const char *what)
{
	return fault_set(fault, r,
		"%s:%u: %s (the file is the daemon's own: detach the sandbox, which removes it, "
		"and "
		"attach it again)",
		at->path, at->lines + 1, what);
}

/* The address of the line in host byte order. 0 or -EINVAL. */
static int synthetic_record_address(struct slice text, uint32_t *ret)
{
	struct addr a;

	if (addr_parse(text, &a) < 0 || !addr_is_v4(&a) || memchr(text.p, ':', text.n))
		return -EINVAL;
	memcpy(ret, a.ip + 12, sizeof(*ret));
	*ret = ntohl(*ret);
	return 0;
}

static int synthetic_record_entry(struct synthetic *s, struct slice line,
	const struct synthetic_place *at, struct fault *fault)
{
	size_t space = slice_find(line, ' ');
	struct slice name = slice_skip(line, space + 1);
	struct synthetic_entry *e;
	struct host host;
	uint32_t v4;

	if (synthetic_record_address(slice_first(line, space), &v4) < 0)
		return synthetic_record_bad(at, fault, -EBADMSG, "no address");
	/* only a name in its one spelling, or what is asked for would not be found */
	if (host_canon(name, &host) < 0 || host.is_ip ||
		!slice_eq(name, slice_of(host.text, host.n)))
		return synthetic_record_bad(at, fault, -EBADMSG, "no name");
	/* a flight of ours that could not be taken back has left it (naming.c) */
	e = synthetic_entry(s, name);
	if (e && e->v4 == v4 && !atomic_load_explicit(&e->settled, memory_order_relaxed)) {
		synthetic_settle(e);
		return 0;
	}
	switch (synthetic_add(s, name, v4, &e)) {
	case 0:
		synthetic_settle(e);
		return 0;
	case -ERANGE:
		return synthetic_record_bad(
			at, fault, -EBADMSG, "the address is none that stands for a name");
	case -EEXIST:
		return synthetic_record_bad(at, fault, -EBADMSG, "the name or the address again");
	case -ENOSPC:
		return synthetic_record_bad(
			at, fault, -EBADMSG, "more names than a sandbox may have");
	default:
		return -ENOMEM;
	}
}

int synthetic_record_read(struct synthetic *s, struct slice text, struct synthetic_place *at,
	struct fault *fault, size_t *ret_used)
{
	const struct slice first = slice_of(synthetic_record_first, SYNTHETIC_RECORD_HEAD - 1);
	size_t used = 0, end;

	while ((end = slice_find(slice_skip(text, used), '\n')) < text.n - used) {
		struct slice line = slice_first(slice_skip(text, used), end);
		int r = 0;

		if (at->lines)
			r = synthetic_record_entry(s, line, at, fault);
		else if (!slice_eq(line, first))
			r = synthetic_record_bad(
				at, fault, -EBADMSG, "not a file of names, or of another version");
		if (r < 0)
			return r;
		at->lines++;
		used += end + 1;
	}
	*ret_used = used;
	return 0;
}

int synthetic_record_head(struct buf *out)
{
	return buf_append(out, slice_of(synthetic_record_first, SYNTHETIC_RECORD_HEAD));
}

int synthetic_record_line(const struct synthetic_entry *e, struct buf *out)
{
	char line[SYNTHETIC_RECORD_LINE + 1];
	int n = snprintf(line, sizeof(line), "%u.%u.%u.%u %s\n", e->v4 >> 24, e->v4 >> 16 & 0xff,
		e->v4 >> 8 & 0xff, e->v4 & 0xff, e->text);

	return n < 0 || (size_t)n >= sizeof(line) ? -ENAMETOOLONG
						  : buf_append(out, slice_of(line, (size_t)n));
}
