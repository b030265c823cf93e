/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_head.c – see h2_head.h.
 *
 * The library has its own checks of the same rules (nghttp2, "HTTP messaging"), but it forgives:
 * regular fields with invalid bytes are passed over, and later versions may forgive more. Here each
 * rule is checked again and nothing is passed over, so that what a head may hold does not depend on
 * the library's version.
 *
 * Text grows while fields come, in one buffer for the whole session since field blocks never mix
 * (RFC 9113 section 4.3). A finished head is one allocation of the exact size. struct msg is in it
 * whole although few fields are used: whoever copies a msg may copy all of it.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "http/authority.h"
#include "http/fields.h"
#include "http/h2_head.h"
#include "http/target.h"

enum {
	DRAFT_OVERHEAD = 32, /* of a field in MAX_HEADER_LIST_SIZE, RFC 9113 section 6.5.2 */
	DRAFT_KEEP = 4096, /* text that a draft keeps between heads */
};

void h2_draft_init(struct h2_draft *d)
{
	*d = (struct h2_draft){0};
	buf_init(&d->text, LIMIT_HEAD);
	buf_init(&d->cookie, LIMIT_HEAD);
}

void h2_draft_done(struct h2_draft *d)
{
	buf_done(&d->text);
	buf_done(&d->cookie);
}

static void draft_empty(struct buf *b)
{
	buf_consume(b, buf_used(b));
	if (b->cap > DRAFT_KEEP)
		buf_done(b);
}

void h2_draft_begin(struct h2_draft *d, enum h2_block block)
{
	draft_empty(&d->text);
	draft_empty(&d->cookie);
	d->block = block;
	d->size = 0;
	d->seen = 0;
	d->regular = d->host_seen = d->length_seen = d->te_seen = false;
	d->cookie_at = -1;
	d->nfields = 0;
}

static int draft_text(struct h2_draft *d, struct slice s, struct h2_span *ret)
{
	uint32_t at = (uint32_t)buf_used(&d->text);
	int r = buf_append(&d->text, s);

	if (r < 0)
		return r == -ENOBUFS ? -EMSGSIZE : r;
	*ret = (struct h2_span){at, (uint32_t)s.n};
	return 0;
}

static struct slice draft_at(const struct h2_draft *d, struct h2_span span)
{
	return slice_first(slice_skip(buf_slice(&d->text), span.at), span.n);
}

static const struct {
	struct slice name;
	enum h2_block block;
} draft_pseudo[H2_PSEUDO_NUM] = {
	[H2_METHOD] = {SLICE(":method"), H2_BLOCK_REQUEST},
	[H2_SCHEME] = {SLICE(":scheme"), H2_BLOCK_REQUEST},
	[H2_AUTHORITY] = {SLICE(":authority"), H2_BLOCK_REQUEST},
	[H2_PATH] = {SLICE(":path"), H2_BLOCK_REQUEST},
	[H2_STATUS] = {SLICE(":status"), H2_BLOCK_RESPONSE},
};

/* :protocol (RFC 8441) is not in the table: extended CONNECT is not spoken. */
static int draft_pseudo_field(struct h2_draft *d, struct slice name, struct slice value)
{
	for (unsigned i = 0; i < H2_PSEUDO_NUM; i++) {
		if (!slice_eq(name, draft_pseudo[i].name))
			continue;
		if (draft_pseudo[i].block != d->block || d->regular || d->seen & 1U << i)
			return -EBADMSG;
		d->seen |= (uint8_t)(1U << i);
		return draft_text(d, value, &d->pseudo[i]);
	}
	return -EBADMSG;
}

static bool draft_name(struct slice name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!fields_tchar(name.p[i]) || (name.p[i] >= 'A' && name.p[i] <= 'Z'))
			return false;
	return name.n > 0;
}

static const struct slice draft_connection[] = {
	SLICE("connection"),
	SLICE("http2-settings"),
	SLICE("keep-alive"),
	SLICE("proxy-connection"),
	SLICE("transfer-encoding"),
	SLICE("upgrade"),
};

static bool draft_of_connection(struct slice name)
{
	for (size_t i = 0; i < ARRAY_SIZE(draft_connection); i++)
		if (slice_eq(name, draft_connection[i]))
			return true;
	return false;
}

static int draft_length(struct h2_draft *d, struct slice value)
{
	uint64_t length = 0;

	if (d->length_seen || d->block == H2_BLOCK_TRAILERS || value.n == 0 || value.n > 18)
		return -EBADMSG;
	for (size_t i = 0; i < value.n; i++) {
		if (value.p[i] < '0' || value.p[i] > '9')
			return -EBADMSG;
		length = length * 10 + (value.p[i] - '0');
	}
	d->length = length;
	d->length_seen = true;
	return 0;
}

static int draft_crumb(struct h2_draft *d, struct slice value, bool secret)
{
	int r;

	if (d->cookie_at >= 0) {
		d->fields[d->cookie_at].secret |= secret;
		r = buf_append(&d->cookie, SLICE("; "));
		if (r == 0)
			r = buf_append(&d->cookie, value);
		return r == -ENOBUFS ? -EMSGSIZE : r;
	}
	if (d->nfields == LIMIT_FIELDS)
		return -EMSGSIZE;
	r = draft_text(d, SLICE("cookie"), &d->fields[d->nfields].name);
	if (r == 0)
		r = buf_append(&d->cookie, value);
	if (r < 0)
		return r;
	d->fields[d->nfields].secret = secret;
	d->cookie_at = (int16_t)d->nfields++;
	return 0;
}

int h2_draft_field(struct h2_draft *d, struct slice name, struct slice value, bool secret)
{
	int r;

	d->size += name.n + value.n + DRAFT_OVERHEAD;
	if (d->size > LIMIT_HEAD)
		return -EMSGSIZE;
	if (!fields_value(value) || slice_trim(value).n != value.n)
		return -EBADMSG;
	if (name.n && name.p[0] == ':')
		return draft_pseudo_field(d, name, value);
	d->regular = true;
	if (!draft_name(name) || draft_of_connection(name))
		return -EBADMSG;
	if (slice_eq(name, SLICE("cookie")) && d->block == H2_BLOCK_REQUEST)
		return draft_crumb(d, value, secret);
	if (slice_eq(name, SLICE("host")) && d->block != H2_BLOCK_RESPONSE) {
		if (d->host_seen || d->block == H2_BLOCK_TRAILERS)
			return -EBADMSG;
		d->host_seen = true;
		return draft_text(d, value, &d->host);
	}
	if (slice_eq(name, SLICE("te"))) {
		if (d->te_seen || d->block == H2_BLOCK_TRAILERS ||
			!slice_ieq(value, SLICE("trailers")))
			return -EBADMSG;
		d->te_seen = true;
	} else if (slice_eq(name, SLICE("content-length"))) {
		r = draft_length(d, value);
		if (r < 0)
			return r;
	}
	if (d->nfields == LIMIT_FIELDS)
		return -EMSGSIZE;
	r = draft_text(d, name, &d->fields[d->nfields].name);
	if (r == 0)
		r = draft_text(d, value, &d->fields[d->nfields].value);
	if (r < 0)
		return r;
	d->fields[d->nfields++].secret = secret;
	return 0;
}

/* Which authority a request has; the draft keeps it as its :authority. */
static int draft_authority(struct h2_draft *d)
{
	struct authority authority;

	if (!(d->seen & 1U << H2_AUTHORITY)) {
		if (!d->host_seen)
			return -EBADMSG;
		d->pseudo[H2_AUTHORITY] = d->host;
	} else if (d->host_seen &&
		   !slice_ieq(draft_at(d, d->pseudo[H2_AUTHORITY]), draft_at(d, d->host))) {
		return -EBADMSG; /* RFC 9113 section 8.3.1 */
	}
	return authority_parse(draft_at(d, d->pseudo[H2_AUTHORITY]), &authority);
}

static int draft_request(struct h2_draft *d)
{
	const uint8_t all = 1U << H2_METHOD | 1U << H2_SCHEME | 1U << H2_PATH;
	struct slice method, scheme;
	struct target target;

	if ((d->seen & all) != all)
		return -EBADMSG;
	method = draft_at(d, d->pseudo[H2_METHOD]);
	scheme = draft_at(d, d->pseudo[H2_SCHEME]);
	if (!fields_token(method) || slice_eq(method, SLICE("CONNECT")))
		return -EBADMSG;
	if (!slice_eq(scheme, SLICE("https")) && !slice_eq(scheme, SLICE("http")))
		return -EBADMSG;
	if (target_parse(draft_at(d, d->pseudo[H2_PATH]), method, &target) < 0 ||
		(target.form != TARGET_ORIGIN && target.form != TARGET_ASTERISK))
		return -EBADMSG;
	return draft_authority(d);
}

static int draft_response(const struct h2_draft *d, uint16_t *ret_status)
{
	struct slice text;
	unsigned status = 0;

	if (!(d->seen & 1U << H2_STATUS))
		return -EBADMSG;
	text = draft_at(d, d->pseudo[H2_STATUS]);
	if (text.n != 3)
		return -EBADMSG;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] < '0' || text.p[i] > '9')
			return -EBADMSG;
		status = status * 10 + (text.p[i] - '0');
	}
	if (status < 100 || status == 101)
		return -EBADMSG; /* 101: RFC 9113 section 8.6 */
	if (d->length_seen && (status < 200 || status == 204))
		return -EBADMSG; /* RFC 9110 section 8.6 */
	*ret_status = (uint16_t)status;
	return 0;
}

static bool draft_bodiless(uint16_t status)
{
	return status == 204 || status == 304 || (status > 0 && status < 200);
}

static struct h2_head *head_new(size_t size)
{
	struct h2_head *head = malloc(sizeof(*head) + size);

	if (!head)
		return NULL;
	head->next = NULL;
	head->size = size;
	/* what is beyond nfields is nobody's, but whole msgs are copied */
	memset(&head->msg, 0, sizeof(head->msg));
	return head;
}

static struct slice head_put(struct h2_head *head, size_t *at, struct slice s)
{
	uint8_t *to = head->text + *at;

	if (s.n)
		memcpy(to, s.p, s.n);
	*at += s.n;
	return slice_of(to, s.n);
}

static struct slice head_at(const struct h2_head *head, struct h2_span span)
{
	return slice_of(head->text + span.at, span.n);
}

static void head_fields(struct h2_head *head, const struct h2_draft *d, struct slice cookie)
{
	struct msg *m = &head->msg;
	unsigned expectations = 0;

	m->nfields = d->nfields;
	for (unsigned i = 0; i < d->nfields; i++) {
		struct field *f = &m->fields[i];

		f->name = head_at(head, d->fields[i].name);
		f->value = (int)i == d->cookie_at ? cookie : head_at(head, d->fields[i].value);
		f->secret = d->fields[i].secret;
		if (d->block == H2_BLOCK_REQUEST && slice_eq(f->name, SLICE("expect"))) {
			expectations++;
			m->expect_continue = slice_ieq(f->value, SLICE("100-continue"));
		}
	}
	if (expectations != 1)
		m->expect_continue = false;
}

int h2_draft_finish(struct h2_draft *d, bool end, bool to_head, struct h2_head **ret)
{
	struct slice text, cookie = buf_slice(&d->cookie);
	struct h2_head *head;
	uint16_t status = 0;
	size_t at = 0;
	int r = 0;

	if (d->block == H2_BLOCK_REQUEST)
		r = draft_request(d);
	else if (d->block == H2_BLOCK_RESPONSE)
		r = draft_response(d, &status);
	if (r < 0)
		return r;
	text = buf_slice(&d->text);
	head = head_new(text.n + cookie.n);
	if (!head)
		return -ENOMEM;
	(void)head_put(head, &at, text); /* spans are relative to the text's start */
	head_fields(head, d, head_put(head, &at, cookie));
	head->msg.minor = 1;
	head->msg.keep_alive = true;
	if (d->block == H2_BLOCK_REQUEST) {
		head->msg.method = head_at(head, d->pseudo[H2_METHOD]);
		head->msg.scheme = head_at(head, d->pseudo[H2_SCHEME]);
		head->msg.authority = head_at(head, d->pseudo[H2_AUTHORITY]);
		head->msg.target = head_at(head, d->pseudo[H2_PATH]);
	}
	head->msg.status = status;
	if (end || draft_bodiless(status) || (status && to_head)) {
		head->msg.framing = FRAMING_NONE;
	} else if (d->length_seen) {
		head->msg.framing = FRAMING_LENGTH;
		head->msg.length = d->length;
	} else {
		head->msg.framing = FRAMING_CHUNKED;
	}
	*ret = head;
	return 0;
}

struct h2_head *h2_head_copy_fields(const struct msg *m)
{
	struct h2_head *head;
	size_t size = 0, at = 0;

	for (unsigned i = 0; i < m->nfields; i++)
		size += m->fields[i].name.n + m->fields[i].value.n;
	head = head_new(size);
	if (!head)
		return NULL;
	head->msg.nfields = m->nfields;
	for (unsigned i = 0; i < m->nfields; i++) {
		head->msg.fields[i].name = head_put(head, &at, m->fields[i].name);
		head->msg.fields[i].value = head_put(head, &at, m->fields[i].value);
		head->msg.fields[i].secret = m->fields[i].secret;
	}
	return head;
}

void h2_head_free(struct h2_head *head)
{
	if (!head)
		return;
	explicit_bzero(head->text, head->size);
	free(head);
}
