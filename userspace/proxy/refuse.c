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

enum { REFUSE_MESSAGE = 768 };

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

int refuse_write(const struct refusal *r, struct buf *out)
{
	char message[REFUSE_MESSAGE];
	struct buf body;
	int e;

	buf_init(&body, 8192);
	refuse_message(r, message);
	e = r->plain ? refuse_text(r, message, &body) : refuse_json(r, message, &body);
	e = e ? e : h1_write_status_line(out, category_status(r->category), slice_str(message), 1);
	e = e ? e
	      : h1_write_field(out, SLICE("content-type"),
			r->plain ? SLICE("text/plain; charset=utf-8") : SLICE("application/json"));
	e = e ? e : h1_write_number_field(out, SLICE("content-length"), buf_used(&body));
	e = e ? e
	      : h1_write_field(
			out, SLICE("sallyport-refusal"), slice_str(category_name(r->category)));
	e = e ? e : h1_write_field(out, SLICE("cache-control"), SLICE("no-store"));
	e = e ? e : h1_write_field(out, SLICE("connection"), SLICE("close"));
	e = e ? e : h1_write_head_end(out);
	if (!e && !r->head)
		e = buf_append(out, buf_slice(&body));
	buf_done(&body);
	return e;
}

bool refuse_wants_plain(struct slice user_agent)
{
	return user_agent.n >= 4 && slice_ieq(slice_first(user_agent, 4), SLICE("git/"));
}
