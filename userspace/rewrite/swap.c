/* SPDX-License-Identifier: Apache-2.0 */
/*
 * swap.c – placeholder → value in a request head (swap.h).
 *
 * Order: find the one placeholder that stands in a position (swap_position), find every other own
 * placeholder in the head (swap_count: those are misdirected), then judge, and only then write. A
 * value is touched by swap_write() alone, which goes from the locked copy straight to the caller's
 * buffer; base64 is made inside that buffer too, so no third place ever holds it.
 *
 * Two Authorization fields leave it open which one the server believes: neither is a position then.
 * Positions are whole: a scheme, spaces, and nothing but the placeholder behind them.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "cred/placeholder.h"
#include "model/msg.h"
#include "rewrite/base64.h"
#include "rewrite/swap.h"

enum {
	SWAP_BASIC = 8192
}; /* characters of a Basic credential that is looked into; a longer one is left alone */

/* A field value that may be a position: "scheme SP+ rest". */
struct swap_credentials {
	struct slice scheme, rest;
};

/* What Basic decodes to; the placeholder in it is not secret. */
struct swap_basic {
	uint8_t bytes[BASE64_DECODED(SWAP_BASIC)];
	struct slice user, password; /* user without the colon */
	bool good;
};

struct swap_hit {
	bool found; /* a placeholder in a position, bound or not */
	const char *name; /* its credential */
	uint16_t field;
	enum cred_position position;
	struct swap_credentials parts;
	struct swap_basic basic; /* CRED_BASIC_PASSWORD */
	int credential; /* index, or negative: not in the set */
	bool bound;
};

/* ---- reading ---- */

static struct swap_credentials swap_split(struct slice value)
{
	size_t space = slice_find(value, ' ');
	struct swap_credentials c = {slice_first(value, space), slice_skip(value, space)};

	while (c.rest.n && c.rest.p[0] == ' ')
		c.rest = slice_skip(c.rest, 1);
	return c;
}

static void swap_decode(struct slice rest, struct swap_basic *ret)
{
	long n = rest.n <= SWAP_BASIC ? base64_decode(rest, ret->bytes) : -EBADMSG;
	struct slice plain = slice_of(ret->bytes, n > 0 ? (size_t)n : 0);
	size_t colon = slice_find(plain, ':');

	ret->good = n > 0;
	ret->user = slice_first(plain, colon);
	ret->password = slice_skip(plain, colon + 1);
}

/* The only Authorization field, or NULL. */
static const struct field *swap_authorization(const struct msg *m)
{
	unsigned at = 0;
	const struct field *first = msg_next(m, SLICE("authorization"), &at);

	return first && !msg_next(m, SLICE("authorization"), &at) ? first : NULL;
}

static void swap_position(const struct swap_request *q, struct swap_hit *hit)
{
	const struct field *f = swap_authorization(q->msg);

	if (!f)
		return;
	hit->parts = swap_split(f->value);
	hit->field = (uint16_t)(f - q->msg->fields);
	if (slice_ieq(hit->parts.scheme, SLICE("bearer"))) {
		hit->position = CRED_BEARER;
		hit->name = placeholders_find(q->placeholders, hit->parts.rest);
	} else if (slice_ieq(hit->parts.scheme, SLICE("basic"))) {
		hit->position = CRED_BASIC_PASSWORD;
		swap_decode(hit->parts.rest, &hit->basic);
		if (hit->basic.good)
			hit->name = placeholders_find(q->placeholders, hit->basic.password);
	}
	hit->found = hit->name;
	if (!hit->found)
		return;
	hit->credential = credset_find(q->set, slice_str(hit->name));
	hit->bound =
		hit->credential >= 0 && credset_binding(q->set, (unsigned)hit->credential, q->host,
						q->over_tls, q->msg->method, hit->position);
}

/* ---- misdirected ones ---- */

static void swap_note(struct swap_plan *plan, const char *name)
{
	plan->misdirected_total++;
	for (unsigned i = 0; i < plan->nmisdirected; i++)
		if (strcmp(plan->misdirected[i].credential, name) == 0) {
			plan->misdirected[i].count++;
			return;
		}
	if (plan->nmisdirected == SWAP_MISDIRECTED)
		return;
	plan->misdirected[plan->nmisdirected].credential = name;
	plan->misdirected[plan->nmisdirected++].count = 1;
}

/* Notes each own placeholder in the text; a credential that wants such a request refused is
 * remembered. */
static void swap_count(const struct swap_request *q, struct slice text, struct swap_plan *plan)
{
	const char *name;
	size_t at = 0;

	while ((name = placeholders_search(q->placeholders, text, &at))) {
		int i = credset_find(q->set, slice_str(name));

		swap_note(plan, name);
		if (i < 0 || !credset_at(q->set, (unsigned)i)->refuse ||
			plan->result == SWAP_REFUSED)
			continue;
		plan->result = SWAP_REFUSED;
		plan->credential = credset_at(q->set, (unsigned)i)->name;
	}
}

static void swap_count_field(
	const struct swap_request *q, const struct field *f, struct swap_plan *plan)
{
	struct swap_credentials parts = swap_split(f->value);
	struct swap_basic basic;

	swap_count(q, f->value, plan);
	if (!slice_ieq(parts.scheme, SLICE("basic")))
		return;
	swap_decode(parts.rest, &basic);
	if (basic.good) {
		swap_count(q, basic.user, plan);
		swap_count(q, basic.password, plan);
	}
}

static void swap_count_all(
	const struct swap_request *q, const struct swap_hit *hit, struct swap_plan *plan)
{
	swap_count(q, q->msg->target, plan);
	for (unsigned i = 0; i < q->msg->nfields; i++) {
		if (hit->bound && i == hit->field) {
			if (hit->position == CRED_BASIC_PASSWORD)
				swap_count(q, hit->basic.user, plan);
			continue;
		}
		swap_count_field(q, &q->msg->fields[i], plan);
	}
}

/* ---- writing ---- */

static int swap_write_scheme(const struct swap_hit *hit, struct buf *values)
{
	int r = buf_append(values, hit->parts.scheme);

	return r < 0 ? r : buf_append(values, SLICE(" "));
}

/* user:VALUE is put behind the place of its base64, which is then written in front of it. */
static int swap_write_basic(const struct swap_hit *hit, struct slice value, struct buf *values)
{
	size_t n = hit->basic.user.n + 1 + value.n, encoded = BASE64_ENCODED(n);
	uint8_t *to = buf_reserve(values, encoded + n), *plain;

	if (!to)
		return -ENOMEM;
	plain = to + encoded;
	memcpy(plain, hit->basic.user.p, hit->basic.user.n);
	plain[hit->basic.user.n] = ':';
	memcpy(plain + hit->basic.user.n + 1, value.p, value.n);
	base64_encode(slice_of(plain, n), to);
	explicit_bzero(plain, n);
	buf_commit(values, encoded);
	return 0;
}

static int swap_write(const struct swap_request *q, const struct swap_hit *hit, struct buf *values,
	struct swap_plan *plan)
{
	struct slice value = credset_value(q->set, (unsigned)hit->credential);
	int r = swap_write_scheme(hit, values);

	if (r == 0)
		r = hit->position == CRED_BEARER ? buf_append(values, value)
						 : swap_write_basic(hit, value, values);
	if (r < 0) {
		buf_done(values);
		return -ENOMEM;
	}
	plan->result = SWAP_DONE;
	plan->replaced[plan->nreplaced].field = hit->field;
	plan->replaced[plan->nreplaced].offset = 0;
	plan->replaced[plan->nreplaced++].n = buf_used(values);
	plan->uses[plan->nuses].credential = credset_at(q->set, (unsigned)hit->credential)->name;
	plan->uses[plan->nuses].position = hit->position;
	plan->uses[plan->nuses++].count = 1;
	return 0;
}

int swap_judge(const struct swap_request *q, struct buf *values, struct swap_plan *ret)
{
	struct swap_plan plan = {.result = SWAP_NONE};
	struct swap_hit hit;
	int r = 0;

	hit.found = hit.bound = false;
	hit.name = NULL;
	swap_position(q, &hit);
	swap_count_all(q, &hit, &plan);
	if (plan.result != SWAP_REFUSED && hit.bound) {
		plan.cause = credset_cause(q->set, (unsigned)hit.credential);
		if (plan.cause) {
			plan.result = SWAP_UNAVAILABLE;
			plan.credential = credset_at(q->set, (unsigned)hit.credential)->name;
		} else {
			r = swap_write(q, &hit, values, &plan);
		}
	}
	if (r < 0)
		return r;
	*ret = plan;
	return 0;
}

struct slice swap_value(const struct swap_plan *plan, const struct swap_request *q,
	const struct buf *values, unsigned field)
{
	for (unsigned i = 0; i < plan->nreplaced; i++)
		if (plan->replaced[i].field == field)
			return slice_first(slice_skip(buf_slice(values), plan->replaced[i].offset),
				plan->replaced[i].n);
	return q->msg->fields[field].value;
}
