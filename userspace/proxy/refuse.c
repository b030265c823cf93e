/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refuse.c – see refuse.h. The sentence stands in the reason phrase too, since pip, npm, apt and wget print that and
 * nothing else.
 */
#include <stdio.h>

#include "base/json.h"
#include "http/fields.h"
#include "http/h1_write.h"
#include "proxy/refuse.h"

/* gRPC's status codes: PERMISSION_DENIED, RESOURCE_EXHAUSTED, UNAVAILABLE, INVALID_ARGUMENT. */
static const char *refuse_grpc_status(enum category c)
{
	switch (category_status(c)) {
	case 400:
		return "3";
	case 429:
		return "8";
	case 502:
	case 503:
	case 504:
		return "14";
	default:
		return "7";
	}
}

/* Names of rules and credentials are whatever a document says; a line break in one must not cost the client its answer. */
static void refuse_message(const struct refusal *r, char message[REFUSE_MESSAGE])
{
	(void)snprintf(message, REFUSE_MESSAGE, "sallyport: %s%s%s%s%s%s%s%s%s",
		category_name(r->category), r->host[0] ? ": " : "", r->host,
		r->name ? ": credential " : "", r->name ? r->name : "", r->why[0] ? ": " : "",
		r->why, r->rule[0] ? ", by rule " : "", r->rule);
	for (char *c = message; *c; c++)
		if (!fields_vchar((uint8_t)*c) || *c == '\t')
			*c = ' ';
}

static int refuse_json(const struct refusal *r, const char *message, struct buf *out)
{
	struct json j;

	json_start(&j, out);
	json_open(&j, NULL, '{');
	json_open(&j, "error", '{');
	json_text(&j, "category", category_name(r->category));
	if (r->host[0])
		json_text(&j, "host", r->host);
	if (r->rule[0])
		json_text(&j, "rule", r->rule);
	json_text(&j, "policy", r->policy);
	if (r->name)
		json_text(&j, "credential", r->name);
	json_text(&j, "message", message);
	json_text(&j, "hint", category_hint(r->category));
	json_close(&j, '}');
	json_close(&j, '}');
	if (!json_end(&j))
		(void)buf_append(out, SLICE("\n"));
	return json_end(&j);
}

static int refuse_text(const struct refusal *r, const char *message, struct buf *out)
{
	char text[REFUSE_MESSAGE + 256];
	int n = snprintf(text, sizeof(text), "%s\n%s\n", message, category_hint(r->category));

	return buf_append(out, slice_of(text, n > 0 ? (size_t)n : 0));
}

static void refuse_field(struct msg *m, const char *name, const char *value)
{
	m->fields[m->nfields++] =
		(struct field){.name = slice_str(name), .value = slice_str(value)};
}

/* Percent-encoded, as grpc-message is (gRPC over HTTP/2, "Responses"). */
static void refuse_encode(const char *message, char *to)
{
	for (; *message; message++)
		if (*message < ' ' || *message > '~' || *message == '%')
			to += sprintf(to, "%%%02X", (unsigned)(uint8_t)*message);
		else
			*to++ = *message;
	*to = 0;
}

/* Trailers only: a status that a gRPC client understands. */
static void refuse_grpc(const struct refusal *r, struct refused *ret)
{
	refuse_encode(ret->message, ret->encoded);
	ret->msg.status = 200;
	refuse_field(&ret->msg, "content-type", "application/grpc");
	refuse_field(&ret->msg, "grpc-status", refuse_grpc_status(r->category));
	refuse_field(&ret->msg, "grpc-message", ret->encoded);
	refuse_field(&ret->msg, "sallyport-refusal", category_name(r->category));
}

int refuse_make(const struct refusal *r, struct refused *ret)
{
	int e;

	memset(&ret->msg, 0, offsetof(struct msg, fields));
	buf_init(&ret->body, 8192);
	refuse_message(r, ret->message);
	if (r->grpc) {
		refuse_grpc(r, ret);
		return 0;
	}
	e = r->plain ? refuse_text(r, ret->message, &ret->body)
		     : refuse_json(r, ret->message, &ret->body);
	(void)snprintf(ret->length, sizeof(ret->length), "%zu", buf_used(&ret->body));
	ret->msg.status = (uint16_t)category_status(r->category);
	if (r->h2 && r->category == CATEGORY_HOST_MISMATCH)
		ret->msg.status = 421;
	ret->msg.reason = slice_str(ret->message);
	ret->msg.framing = r->head ? FRAMING_NONE : FRAMING_LENGTH;
	ret->msg.length = buf_used(&ret->body);
	refuse_field(&ret->msg, "content-type",
		r->plain ? "text/plain; charset=utf-8" : "application/json");
	refuse_field(&ret->msg, "content-length", ret->length);
	refuse_field(&ret->msg, "sallyport-refusal", category_name(r->category));
	refuse_field(&ret->msg, "cache-control", "no-store");
	if (r->head)
		buf_done(&ret->body);
	return e;
}

void refuse_done(struct refused *r)
{
	buf_done(&r->body);
}

int refuse_write(const struct refusal *r, struct buf *out)
{
	struct refused refused;
	int e = refuse_make(r, &refused);

	e = e ? e : h1_write_response(out, &refused.msg, &(struct h1_write_how){.close = true});
	e = e ? e : buf_append(out, buf_slice(&refused.body));
	refuse_done(&refused);
	return e;
}

bool refuse_wants_plain(struct slice user_agent)
{
	return user_agent.n >= 4 && slice_ieq(slice_first(user_agent, 4), SLICE("git/"));
}
