/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_hosts.c – a host or nothing: what comes out is canonical (it goes in again unchanged, has
 * only the bytes of a name), and what a C library would take for an address is one or is refused.
 * Patterns agree with their own text, and covering implies overlapping and matching.
 */
#include <arpa/inet.h>
#include <stdlib.h>

#include "../../userspace/policy/hosts.c"

static void check_host(const struct host *h)
{
	struct in_addr v4;
	struct host again;

	if (h->n != strlen(h->text) || h->n == 0 ||
		host_canon(slice_of(h->text, h->n), &again) < 0 || !host_same(h, &again) ||
		h->is_ip != again.is_ip)
		abort();
	if (!h->is_ip && (strspn(h->text, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != h->n ||
				 inet_aton(h->text, &v4)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice all = slice_of(data, size), first = slice_first(all, slice_find(all, '\n')),
		     second = slice_skip(all, first.n + 1);
	struct host_pattern a, b;
	char why[HOST_WHY];
	bool covers;
	struct host h;

	if (host_canon(first, &h) == 0)
		check_host(&h);
	if (host_pattern_parse(first, &a, why) < 0)
		return 0;
	if (host_pattern_parse(second, &b, why) == 0) {
		covers = host_pattern_covers(&a, &b);
		if (host_pattern_overlaps(&a, &b) != host_pattern_overlaps(&b, &a) ||
			(covers && !host_pattern_overlaps(&a, &b)) || !host_pattern_covers(&a, &a))
			abort();
		if (host_canon(second, &h) == 0 && covers != host_pattern_match(&a, &h))
			abort(); /* an exact pattern is covered iff its host is matched */
	}
	return 0;
}
