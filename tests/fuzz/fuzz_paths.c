/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_paths.c – two patterns and a target, a line each. The matcher says what a slow one says that fills tables: of
 * segments, and for each pair of these of bytes. What is refused is what a reader finds that decodes the whole first. A
 * pattern matches all that a pattern matches which it covers. Bytes read stay within length x length, also for the longest
 * of paths.
 */
#include <stdlib.h>
#include <string.h>

static size_t
	reads; /* bare bytes that the matcher has read: it asks of each whether it is a delimiter */
#define strchr(set, c) (reads++, strchr(set, c))
#include "../../userspace/policy/paths.c"
#undef strchr

enum { BYTES = 1024, LONGEST = 65536, STAR = -1, ANY = -2, BARE = 256 };

/* ---- the slow way: segments as arrays of int ---- */

struct segments {
	int units[BYTES + 1];
	size_t start[BYTES + 2]; /* of each, and of the one behind the last */
	size_t n;
};

static int hex(uint8_t c)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	const char *at = c ? memchr(digits, c, 32) : NULL;

	return at ? (int)(at - digits) % 16 : -1;
}

static void split(struct slice text, bool pattern, struct segments *ret)
{
	size_t used = 0;

	ret->n = 0;
	for (size_t i = 0; i < text.n; i++) {
		uint8_t c = text.p[i];
		int u = c;

		if (c == '/') {
			ret->start[ret->n++] = used;
			continue;
		}
		if (c == '%') {
			u = hex(text.p[i + 1]) * 16 + hex(text.p[i + 2]);
			i += 2;
		} else if (pattern && c == '*') {
			u = i + 1 < text.n && text.p[i + 1] == '*' ? ANY : STAR;
			i += u == ANY;
		} else if (memchr(":@!$&'()+,;=", c, 12)) {
			u += BARE;
		}
		ret->units[used++] = u;
	}
	ret->start[ret->n] = used;
}

static bool same(int a, int b, bool broad)
{
	return a >= 0 && (broad ? a % BARE == b % BARE : a == b);
}

static bool slow_segment(const int *p, size_t np, const int *t, size_t nt, bool broad)
{
	static bool table[BYTES + 2][BYTES + 2];

	if (np == 0 || nt == 0)
		return np == nt;
	for (size_t i = 0; i <= np; i++)
		for (size_t k = 0; k <= nt; k++) {
			if (i == 0)
				table[i][k] = k == 0;
			else if (p[i - 1] == STAR)
				table[i][k] = table[i - 1][k] || (k && table[i][k - 1]);
			else
				table[i][k] =
					k && table[i - 1][k - 1] && same(p[i - 1], t[k - 1], broad);
		}
	return table[np][nt];
}

static bool slow_match(const struct segments *p, const struct segments *t, bool broad)
{
	static bool table[BYTES + 2][BYTES + 2];

	for (size_t i = 0; i <= p->n; i++)
		for (size_t k = 0; k <= t->n; k++) {
			const int *s = i ? p->units + p->start[i - 1] : NULL;
			size_t n = i ? p->start[i] - p->start[i - 1] : 0;

			if (i == 0)
				table[i][k] = k == 0;
			else if (n && s[0] == ANY)
				table[i][k] = table[i - 1][k] || (k && table[i][k - 1]);
			else
				table[i][k] = k && table[i - 1][k - 1] &&
					      slow_segment(s, n, t->units + t->start[k - 1],
						      t->start[k] - t->start[k - 1], broad);
		}
	return table[p->n][t->n];
}

/* ---- what is refused, the slow way ---- */

static bool dotted(const char *segment, size_t n)
{
	const char *end = memchr(segment, ';', n);

	n = end ? (size_t)(end - segment) : n;
	return (n == 1 || n == 2) && memcmp(segment, "..", n) == 0;
}

/* Pairs of bytes that begin no character in its shortest form. */
static bool too_long(uint8_t a, uint8_t b)
{
	static const uint8_t begins[][2] = {{0xe0, 0xa0}, {0xf0, 0x90}, {0xf8, 0x88}, {0xfc, 0x84}};

	for (unsigned i = 0; i < 4; i++)
		if (a == begins[i][0] && b >= 0x80 && b < begins[i][1])
			return true;
	return b == 0xc0 || b == 0xc1;
}

static bool slow_good(struct slice path)
{
	char plain[BYTES + 1];
	size_t n = 0, start = 1;
	int before = 0;

	if (path.n == 0 || path.p[0] != '/')
		return path.n == 1 && path.p[0] == '*';
	for (size_t i = 0; i < path.n; i++) {
		int c = path.p[i];

		if (c == '%') {
			if (path.n - i < 3 || hex(path.p[i + 1]) < 0 || hex(path.p[i + 2]) < 0)
				return false;
			c = hex(path.p[i + 1]) * 16 + hex(path.p[i + 2]);
			i += 2;
			if (too_long((uint8_t)before, (uint8_t)c))
				return false;
			before = c;
		} else if (c <= 0x20 || c > 0x7e || c == '#') {
			return false;
		} else {
			before = 0;
		}
		if (c < 0x20 || c == 0x7f || c == '\\')
			return false;
		plain[n++] = (char)c;
	}
	for (size_t i = 1; i <= n; i++)
		if (i == n || plain[i] == '/') {
			if (dotted(plain + start, i - start))
				return false;
			start = i + 1;
		}
	return true;
}

/* ---- the fuzzer ---- */

static bool quick(const struct path_pattern *p, struct slice target, bool broad)
{
	bool r;

	reads = 0;
	r = path_pattern_match(p, target, broad);
	if (reads > 2 * (target.n + 1) * (p->n + 2))
		abort();
	return r;
}

static void stretch(const struct path_pattern *p, struct slice path)
{
	static uint8_t longest[LONGEST];

	for (size_t i = 0; i < LONGEST; i++)
		longest[i] = path.p[i % path.n];
	(void)quick(p, slice_of(longest, LONGEST), true);
}

static bool parse(struct slice text, uint16_t *units, struct path_pattern *ret)
{
	char why[PATH_WHY] = "";
	int r = path_pattern_parse(text, units, ret, why);

	if (r == 0 ? ret->n > text.n : r != -EINVAL || !why[0])
		abort();
	return r == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct segments a, b, t;
	struct slice all = slice_of(data, size), first = slice_first(all, slice_find(all, '\n')),
		     rest = slice_skip(all, first.n + 1),
		     second = slice_first(rest, slice_find(rest, '\n')),
		     target = slice_skip(rest, second.n + 1),
		     path = slice_first(target, slice_find(target, '?'));
	uint16_t units[2][BYTES];
	struct path_pattern p, q;
	bool two;

	if (size > BYTES)
		return 0;
	if (path.n == 0 && target.n)
		path = SLICE("/");
	if (slow_good(path) != !path_fault(target))
		abort();
	if (!parse(first, units[0], &p))
		return 0;
	two = parse(second, units[1], &q);
	if (path_fault(target) || path.p[0] != '/') {
		if (path_fault(target) == NULL && path_pattern_match(&p, target, true))
			abort(); /* * */
		(void)path_pattern_match(
			&p, target, true); /* nobody asks, but it must not read beyond */
		return 0;
	}
	split(first, true, &a);
	split(path, false, &t);
	for (int broad = 0; broad < 2; broad++) {
		bool hit = quick(&p, target, broad);

		if (hit != slow_match(&a, &t, broad) || (hit && !quick(&p, target, true)))
			abort();
		if (two) {
			split(second, true, &b);
			if (slow_match(&b, &t, broad) && path_pattern_covers(&p, &q, broad) && !hit)
				abort();
			if (!path_pattern_covers(&q, &q, broad))
				abort();
		}
	}
	if (size % 16 == 0) /* it is slow */
		stretch(&p, path);
	return 0;
}
