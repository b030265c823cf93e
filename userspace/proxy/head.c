/* SPDX-License-Identifier: Apache-2.0 */
/* head.c – see head.h. */
#include <errno.h>

#include "proxy/head.h"
#include "rewrite/swap.h"

enum { HEAD_BYTES = 2 * LIMIT_HEAD + SWAP_VALUES }; /* a head and what was put in */

void head_init(struct head *h)
{
	buf_init(&h->bytes, HEAD_BYTES);
	h->msg.nfields = 0;
}

static size_t head_size(const struct msg *m)
{
	size_t n = m->method.n + m->target.n + m->scheme.n + m->authority.n + m->upgrade.n +
		   m->reason.n;

	for (unsigned i = 0; i < m->nfields; i++)
		n += m->fields[i].name.n + m->fields[i].value.n;
	return n;
}

static struct slice head_copy(uint8_t **to, struct slice s)
{
	struct slice copy = slice_of(*to, s.n);

	if (s.n)
		memcpy(*to, s.p, s.n);
	*to += s.n;
	return copy;
}

int head_keep(struct head *h, const struct msg *m)
{
	size_t n = head_size(m);
	uint8_t *to;

	if (n > buf_room(&h->bytes))
		return -ENOBUFS;
	to = buf_reserve(&h->bytes, n);
	if (!to)
		return -ENOMEM;
	memcpy(&h->msg, m, offsetof(struct msg, fields));
	h->msg.method = head_copy(&to, m->method);
	h->msg.target = head_copy(&to, m->target);
	h->msg.scheme = head_copy(&to, m->scheme);
	h->msg.authority = head_copy(&to, m->authority);
	h->msg.upgrade = head_copy(&to, m->upgrade);
	h->msg.reason = head_copy(&to, m->reason);
	for (unsigned i = 0; i < m->nfields; i++) {
		h->msg.fields[i] = m->fields[i];
		h->msg.fields[i].name = head_copy(&to, m->fields[i].name);
		h->msg.fields[i].value = head_copy(&to, m->fields[i].value);
	}
	buf_commit(&h->bytes, n);
	return 0;
}

void head_done(struct head *h)
{
	buf_done(&h->bytes);
	h->msg.nfields = 0;
}
