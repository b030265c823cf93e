/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_authority.c – any bytes as host and port. What is accepted holds no byte that two readers
 * could take differently, can be put together again, and is read alike in CONNECT and
 * absolute-form.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "http/target.h"

static bool same(const struct authority *a, const struct authority *b)
{
	return slice_eq(a->host, b->host) && a->port == b->port && a->has_port == b->has_port &&
	       a->bracketed == b->bracketed;
}

static void check_bytes(const struct authority *a)
{
	assert(a->host.n > 0 && a->has_port == (a->port != 0));
	for (size_t i = 0; i < a->host.n; i++) {
		uint8_t c = a->host.p[i];

		assert(c > 0x20 && c < 0x7f && !strchr("%\\/?#@[]\"<>^`{|}", c));
		assert(c != ':' || a->bracketed);
	}
}

static void check_again(const struct authority *a)
{
	char *text = malloc(a->host.n + 64);
	struct authority again;
	int n = sprintf(text, a->bracketed ? "[%.*s]" : "%.*s", SLICE_ARG(a->host));

	if (a->has_port)
		n += sprintf(text + n, ":%u", a->port);
	assert(authority_parse(slice_of(text, (size_t)n), &again) == 0 && same(a, &again));
	n = sprintf(text, a->bracketed ? "http://[%.*s]" : "http://%.*s", SLICE_ARG(a->host));
	if (a->has_port)
		n += sprintf(text + n, ":%u", a->port);
	n += sprintf(text + n, "/p?q");
	{
		struct target t;

		assert(target_parse(slice_of(text, (size_t)n), SLICE("GET"), &t) == 0);
		assert(t.form == TARGET_ABSOLUTE && same(a, &t.authority));
		assert(slice_eq(t.path, SLICE("/p?q")) && !t.https);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const methods[] = {"GET", "OPTIONS"};
	struct slice text = slice_of(data, size);
	struct authority a;
	struct target t;
	int r = authority_parse(text, &a);

	if (r == 0) {
		check_bytes(&a);
		check_again(&a);
	}
	assert((target_parse(text, SLICE("CONNECT"), &t) == 0) == (r == 0 && a.has_port));
	for (int i = 0; i < 2; i++)
		if (target_parse(text, slice_str(methods[i]), &t) == 0) {
			assert(t.path.n > 0 && strchr("/?*", t.path.p[0]));
			if (t.form == TARGET_ABSOLUTE)
				check_again(&t.authority);
		}
	return 0;
}
