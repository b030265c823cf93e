/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite_head.c – see rewrite_head.h. Fields keep their order. That no value can end a line is checked where a head is
 * written (h1_write_field()), so a value that was put in cannot add a field.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "http/fields.h"
#include "policy/hosts.h"
#include "proxy/rewrite_head.h"

/* Fields by which frameworks let a request name another method than its own. */
static const struct slice rewrite_overrides[] = {
	{(const uint8_t *)"x-http-method-override", 22},
	{(const uint8_t *)"x-http-method", 13},
	{(const uint8_t *)"x-method-override", 17},
};

/* The same for another path. */
static const struct slice rewrite_path_overrides[] = {
	{(const uint8_t *)"x-original-url", 14},
	{(const uint8_t *)"x-rewrite-url", 13},
};

static bool rewrite_is_in(struct slice name, const struct slice *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (slice_ieq(name, names[i]))
			return true;
	return false;
}

static struct slice rewrite_authority(const struct rewrite_request *r, struct rewritten *ret)
{
	bool v6 = r->host->is_ip && strchr(r->host->text, ':');
	int n = snprintf(ret->authority, sizeof(ret->authority), v6 ? "[%s]" : "%s", r->host->text);

	if (r->port != (r->tls ? 443 : 80))
		n += snprintf(
			ret->authority + n, sizeof(ret->authority) - (size_t)n, ":%u", r->port);
	return slice_of(ret->authority, (size_t)n);
}

/* It announces trailers, which only a body that says its end itself can have. */
static bool rewrite_drops_trailer(const struct msg *m, const struct field *f)
{
	return m->framing != FRAMING_CHUNKED && slice_ieq(f->name, SLICE("trailer"));
}

static bool rewrite_drops(const struct rewrite_request *r, const struct field *f)
{
	if (rewrite_drops_trailer(r->msg, f) || fields_hop(f->name) ||
		slice_ieq(f->name, SLICE("host")) || fields_named_by_connection(r->msg, f->name))
		return true;
	if (r->judges_methods &&
		rewrite_is_in(f->name, rewrite_overrides, ARRAY_SIZE(rewrite_overrides)))
		return true;
	if (r->judges_paths &&
		rewrite_is_in(f->name, rewrite_path_overrides, ARRAY_SIZE(rewrite_path_overrides)))
		return true;
	/* a server must ignore it from a 1.0 client (RFC 9110 section 10.1.1), and we speak 1.1 for that client */
	return r->msg->minor == 0 && slice_ieq(f->name, SLICE("expect"));
}

/* Everything of a head but its fields. */
static void rewrite_start(const struct msg *m, struct msg *ret)
{
	size_t n = offsetof(struct msg, fields);

	memcpy(ret, m, n);
	ret->nfields = 0;
	ret->upgrade = (struct slice){0};
}

/* In HTTP/2 the head's END_STREAM says that there is no content; HTTP/1 wants it in words (RFC 9110 section 8.6). */
static bool rewrite_says_empty(const struct msg *m)
{
	return m->authority.n && m->framing == FRAMING_NONE &&
	       !msg_find(m, SLICE("content-length")) &&
	       (slice_eq(m->method, SLICE("POST")) || slice_eq(m->method, SLICE("PUT")) ||
		       slice_eq(m->method, SLICE("PATCH")));
}

void rewrite_request_head(const struct rewrite_request *r, struct rewritten *ret)
{
	struct msg *out = &ret->msg;

	rewrite_start(r->msg, out);
	out->target = r->path;
	out->scheme = r->tls ? SLICE("https") : SLICE("http");
	out->authority = rewrite_authority(r, ret);
	out->upgrade = r->upgrade;
	out->takes_trailers = fields_wants_trailers(r->msg);
	for (unsigned i = 0; i < r->msg->nfields; i++) {
		const struct field *f = &r->msg->fields[i];
		struct slice value;

		if (rewrite_drops(r, f))
			continue;
		value = swap_value(r->plan, r->swap, r->values, i);
		out->fields[out->nfields++] = (struct field){
			.name = f->name, .value = value, .secret = value.p != f->value.p};
	}
	if (rewrite_says_empty(r->msg) && out->nfields < LIMIT_FIELDS)
		out->fields[out->nfields++] =
			(struct field){.name = SLICE("content-length"), .value = SLICE("0")};
}

void rewrite_response_head(const struct msg *m, struct msg *ret)
{
	rewrite_start(m, ret);
	for (unsigned i = 0; i < m->nfields; i++)
		if (!rewrite_drops_trailer(m, &m->fields[i]) &&
			!fields_drop_response(m->fields[i].name) &&
			!fields_named_by_connection(m, m->fields[i].name))
			ret->fields[ret->nfields++] = m->fields[i];
}
