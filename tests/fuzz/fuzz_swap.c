/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_swap.c – a request head whose lines are the input (the first is the target, the others
 * "name:value"; a byte 0x01 stands for a placeholder, 0x02 for "Basic " and the base64 of
 * "u:PLACEHOLDER"). The value leaves only whole, only in an Authorization field, only towards its
 * host and over TLS, and else everything is as it came.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../userspace/rewrite/swap.c"
#include "policy/hosts.h"

#define FUZZ_VALUE "the-real-value-0123"

static const char document[] = "credentials:\n"
			       "- {name: A, source: {value: " FUZZ_VALUE "},\n"
			       "    swap: [{hosts: [a.test], in: [bearer, basic-password]}]}\n";

static struct credset *set;
static struct placeholders *placeholders;
static char basic[128];

static int zeros(void *arg, uint8_t *to, size_t n)
{
	(void)arg;
	memset(to, 0, n);
	return 0;
}

static void prepare(void)
{
	const struct source_trust trust = {0, 0};
	struct fault fault = {{0}};
	char plain[64];
	int n;

	if (credset_load(slice_str(document), "f", &trust, &fault, &set) < 0 ||
		placeholders_make(NULL, set, zeros, NULL, &placeholders) < 0)
		abort();
	n = snprintf(plain, sizeof(plain), "u:%s", placeholders_text(placeholders, "A"));
	base64_encode(slice_of(plain, (size_t)n), (uint8_t *)basic + sprintf(basic, "Basic "));
}

/* Replaces the stand-in bytes; returns the length, or 0 when there is no room. */
static size_t expand(struct slice in, char *to, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < in.n; i++) {
		const char *text = in.p[i] == 1   ? placeholders_text(placeholders, "A")
				   : in.p[i] == 2 ? basic
						  : NULL;
		size_t add = text ? strlen(text) : 1;

		if (n + add > room)
			return 0;
		if (text)
			memcpy(to + n, text, add);
		else
			to[n] = (char)in.p[i];
		n += add;
	}
	return n;
}

static bool holds_value(struct slice s)
{
	uint8_t plain[BASE64_DECODED(SWAP_VALUES)];
	size_t space = slice_find(s, ' ') + 1;
	long n;

	if (s.n && memmem(s.p, s.n, FUZZ_VALUE, strlen(FUZZ_VALUE)))
		return true;
	n = base64_decode(slice_skip(s, space), plain);
	return n > 0 && memmem(plain, (size_t)n, FUZZ_VALUE, strlen(FUZZ_VALUE));
}

static void judge(const struct msg *m, const char *to, bool tls)
{
	struct swap_plan plan;
	struct buf values;
	unsigned changed = 0;
	struct host h;
	struct swap_request q = {m, &h, tls, set, placeholders};

	buf_init(&values, SWAP_VALUES);
	if (host_canon(slice_str(to), &h) < 0 || swap_judge(&q, &values, &plan) < 0)
		abort();
	for (unsigned i = 0; i < m->nfields; i++) {
		struct slice sent = swap_value(&plan, &q, &values, i);

		if (slice_eq(sent, m->fields[i].value))
			continue;
		changed++;
		if (!slice_ieq(m->fields[i].name, SLICE("authorization")) || !holds_value(sent))
			abort();
	}
	if (changed != (plan.result == SWAP_DONE) || changed != plan.nreplaced ||
		changed != plan.nuses || (changed && (!tls || strcmp(to, "a.test") != 0)) ||
		(!changed && buf_used(&values)))
		abort();
	buf_done(&values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct msg m;
	char *text = malloc(LIMIT_HEAD);
	struct slice rest;

	if (!set)
		prepare();
	rest = slice_of(text, expand(slice_of(data, size), text, LIMIT_HEAD));
	if (rest.n && !memmem(rest.p, rest.n, FUZZ_VALUE, strlen(FUZZ_VALUE))) {
		m = (struct msg){.method = SLICE("GET"),
			.target = slice_first(rest, slice_find(rest, '\n'))};
		rest = slice_skip(rest, m.target.n + 1);
		while (rest.n && m.nfields < LIMIT_FIELDS) {
			struct slice line = slice_first(rest, slice_find(rest, '\n'));
			size_t colon = slice_find(line, ':');

			m.fields[m.nfields++] = (struct field){
				slice_first(line, colon), slice_trim(slice_skip(line, colon + 1))};
			rest = slice_skip(rest, line.n + 1);
		}
		judge(&m, "a.test", true);
		judge(&m, "a.test", false);
		judge(&m, "b.test", true);
	}
	free(text);
	return 0;
}
