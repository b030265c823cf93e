/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite_head.c – see rewrite_head.h. Fields keep their order; every name and value passes h1_write_field(), which
 * refuses what could end a line, so a value that was put in cannot add a field.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "http/fields.h"
#include "http/h1_write.h"
#include "policy/hosts.h"
#include "proxy/rewrite_head.h"

/* Fields by which frameworks let a request name another method than its own. */
static const struct slice rewrite_overrides[] = {
	{(const uint8_t *)"x-http-method-override", 22},
	{(const uint8_t *)"x-http-method", 13},
	{(const uint8_t *)"x-method-override", 17},
};

static bool rewrite_is_override(struct slice name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rewrite_overrides); i++)
		if (slice_ieq(name, rewrite_overrides[i]))
			return true;
	return false;
}

static int rewrite_host(const struct rewrite_request *r, struct buf *out)
{
	bool v6 = r->host->is_ip && strchr(r->host->text, ':');
	char text[LIMIT_NAME + 16];
	int n = snprintf(text, sizeof(text), v6 ? "[%s]" : "%s", r->host->text);

	if (r->port != (r->tls ? 443 : 80))
		n += snprintf(text + n, sizeof(text) - (size_t)n, ":%u", r->port);
	return h1_write_field(out, SLICE("host"), slice_of(text, (size_t)n));
}

/* It announces trailers, which only a body in chunks can have. */
static bool rewrite_is_trailer(struct slice name)
{
	return slice_ieq(name, SLICE("trailer"));
}

static bool rewrite_drops(const struct rewrite_request *r, const struct field *f)
{
	if (rewrite_is_trailer(f->name) && r->msg->framing != FRAMING_CHUNKED)
		return true;
	if (fields_hop(f->name) || slice_ieq(f->name, SLICE("host")) ||
		fields_named_by_connection(r->msg, f->name))
		return true;
	if (r->judges_methods && rewrite_is_override(f->name))
		return true;
	/* a server must ignore it from a 1.0 client (RFC 9110 section 10.1.1), and we speak 1.1 for that client */
	return r->msg->minor == 0 && slice_ieq(f->name, SLICE("expect"));
}

int rewrite_request_head(const struct rewrite_request *r, struct buf *out)
{
	int e = h1_write_request_line(out, r->msg->method, r->path);

	e = e ? e : rewrite_host(r, out);
	for (unsigned i = 0; !e && i < r->msg->nfields; i++)
		if (!rewrite_drops(r, &r->msg->fields[i]))
			e = h1_write_field(out, r->msg->fields[i].name,
				swap_value(r->plan, r->swap, r->values, i));
	if (!e && r->msg->framing == FRAMING_CHUNKED)
		e = h1_write_field(out, SLICE("transfer-encoding"), SLICE("chunked"));
	if (!e && fields_wants_trailers(r->msg)) {
		e = h1_write_field(out, SLICE("te"), SLICE("trailers"));
		e = e ? e : h1_write_field(out, SLICE("connection"), SLICE("te"));
	}
	return e ? e : h1_write_head_end(out);
}

static bool rewrite_drops_response(const struct rewrite_response *r, const struct field *f)
{
	if (rewrite_is_trailer(f->name) && !r->chunked)
		return true;
	return fields_drop_response(f->name) || fields_named_by_connection(r->msg, f->name);
}

int rewrite_response_head(const struct rewrite_response *r, struct buf *out)
{
	const struct msg *m = r->msg;
	int e = h1_write_status_line(out, m->status, m->reason, 1);

	for (unsigned i = 0; !e && i < m->nfields; i++)
		if (!rewrite_drops_response(r, &m->fields[i]))
			e = h1_write_field(out, m->fields[i].name, m->fields[i].value);
	if (!e && r->chunked)
		e = h1_write_field(out, SLICE("transfer-encoding"), SLICE("chunked"));
	if (!e && m->status >= 200 && r->close)
		e = h1_write_field(out, SLICE("connection"), SLICE("close"));
	else if (!e && m->status >= 200 && r->client_10)
		e = h1_write_field(out, SLICE("connection"), SLICE("keep-alive"));
	return e ? e : h1_write_head_end(out);
}
