/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.c – see paths.h.
 *
 * A path is read as segments, split at the slashes that stand there as such: an escaped slash is a byte of its segment.
 * Within a segment bytes are compared decoded, once, and with their case. Only the characters that RFC 3986 lets mean
 * something else when they stand bare (delimiters) are told from their escapes, by a bit, which `broad` ignores.
 *
 * A pattern is compiled to units of 16 bits: such bytes, and three signs: the slash in front of each segment, `*` for any
 * bytes of a segment, `**` for any number of segments, also none. An empty segment is matched by `**` alone, except one at the
 * end (a trailing slash), which a pattern may end in as well.
 *
 * The matcher is the greedy one for both levels: of several `**` only the last that was passed is ever moved, since what
 * it leaves to the rest only grows by moving an earlier one; the same for `*` within a segment. So there is no recursion,
 * and each byte meets each unit at most once. A pattern covers another if it matches that one's units, its signs taken for
 * bytes that only a sign of the same kind takes in.
 */
#include <errno.h>
#include <stdio.h>

#include "base/limits.h"
#include "policy/paths.h"

enum path_unit {
	/* 0 to 255: a byte, decoded */
	PATH_BARE = 0x100, /* bit: a delimiter that is not escaped */
	PATH_SLASH = 0x200,
	PATH_STAR, /* * */
	PATH_ANY, /* **, the whole of a segment */
};

static const size_t path_none = SIZE_MAX;

/* The path of a target that is not in authority-form. */
static struct slice path_of(struct slice target)
{
	struct slice path = slice_first(target, slice_find(target, '?'));

	return path.n || target.n == 0 ? path : SLICE("/"); /* "?q": http/target.h */
}

static int path_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = slice_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that the escape at `at` stands for, or -1. */
static int path_escape(const uint8_t *p, size_t n, size_t at)
{
	int high = n - at > 2 ? path_digit(p[at + 1]) : -1,
	    low = high < 0 ? -1 : path_digit(p[at + 2]);

	return p[at] != '%' || low < 0 ? -1 : high * 16 + low;
}

/* RFC 3986 section 2.2, those that a path may hold; not `*`, which in a pattern is a sign, nor the slash. */
static bool path_delimiter(uint8_t c)
{
	return c && strchr(":@!$&'()+,;=", c);
}

/* ---- what is refused ---- */

/* Whether the second of two escaped bytes makes a longer form of a character than UTF-8 has: some decoders read a dot or a
 * slash in %C0%AE, %E0%80%AF. */
static bool path_overlong(uint8_t first, uint8_t c)
{
	if (c == 0xc0 || c == 0xc1)
		return true;
	return (first == 0xe0 && c >= 0x80 && c < 0xa0) ||
	       (first == 0xf0 && c >= 0x80 && c < 0x90) ||
	       (first == 0xf8 && c >= 0x80 && c < 0x88) || (first == 0xfc && c >= 0x80 && c < 0x84);
}

/* The dots that a segment consists of so far; -1 = there is something else. */
static int path_dots(int dots, uint8_t c)
{
	if (c == '/')
		return 0;
	return c == '.' && dots >= 0 ? dots + 1 : -1;
}

static const char *path_byte_fault(uint8_t c)
{
	if (c < 0x20 || c == 0x7f)
		return "the path holds a control byte";
	return c == '\\' ? "the path holds a backslash" : NULL;
}

const char *path_fault(struct slice target)
{
	struct slice path = path_of(target);
	const char *why = NULL;
	uint8_t before = 0; /* the byte before, if it was escaped */
	int dots = -1;

	if (slice_eq(path, SLICE("*")))
		return NULL;
	if (path.n == 0 || path.p[0] != '/')
		return "the path does not begin with a slash";
	for (size_t at = 0; at < path.n && !why;) {
		bool escaped = path.p[at] == '%';
		int c = escaped ? path_escape(path.p, path.n, at) : path.p[at];

		if (c < 0)
			return "the path holds a bad escape";
		why = path_byte_fault((uint8_t)c);
		if (!why && !escaped && (c <= 0x20 || c > 0x7e || c == '#'))
			return "the path holds a byte that must be escaped";
		if (!why && escaped && path_overlong(before, (uint8_t)c))
			return "the path holds an overlong form of UTF-8";
		if ((c == '/' || c == ';') && (dots == 1 || dots == 2))
			return "the path holds a dot segment";
		dots = path_dots(dots, (uint8_t)c);
		before = escaped ? (uint8_t)c : 0;
		at += escaped ? 3 : 1;
	}
	return !why && (dots == 1 || dots == 2) ? "the path holds a dot segment" : why;
}

/* ---- compiling ---- */

/* The bytes that a pattern may hold bare: RFC 3986 section 3.3, and the slash. */
static bool path_bare(uint8_t c)
{
	uint8_t low = slice_lower(c);

	return (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') || path_delimiter(c) ||
	       (c && strchr("-._~*/%", c));
}

static int path_refused(struct slice text, char why[PATH_WHY])
{
	const char *fault;

	if (text.n > LIMIT_PATH_PATTERN)
		return snprintf(why, PATH_WHY, "a pattern of a path has at most %d bytes",
			LIMIT_PATH_PATTERN);
	if (text.n == 0 || text.p[0] != '/')
		return snprintf(why, PATH_WHY, "a pattern of a path begins with `/`");
	if (slice_find(text, '?') < text.n)
		return snprintf(why, PATH_WHY,
			"the query is not matched, and `?` is no sign of a pattern: write %%3F for "
			"the "
			"character");
	for (size_t i = 0; i < text.n; i++)
		if (!path_bare(text.p[i]) && !path_byte_fault(text.p[i]))
			return snprintf(why, PATH_WHY,
				"a pattern of a path is written as paths are sent: write %%%02X "
				"for "
				"this byte",
				text.p[i]);
	fault = path_fault(text);
	return fault ? snprintf(why, PATH_WHY, "%s: such requests are refused, it cannot match",
			       fault)
		     : 0;
}

/* One segment. What is asked for was checked, but for its stars. */
static int path_compile(struct slice segment, uint16_t *units, size_t *n, char why[PATH_WHY])
{
	if (slice_eq(segment, SLICE("**"))) {
		units[(*n)++] = PATH_ANY;
		return 0;
	}
	for (size_t at = 0; at < segment.n; at++) {
		int c = path_escape(segment.p, segment.n, at);

		if (segment.p[at] != '*') {
			uint8_t bare = segment.p[at];

			units[(*n)++] = (uint16_t)(c >= 0                 ? c
						   : path_delimiter(bare) ? bare | PATH_BARE
									  : bare);
			at += c >= 0 ? 2 : 0;
		} else if (at + 1 < segment.n && segment.p[at + 1] == '*') {
			(void)snprintf(why, PATH_WHY,
				"`**` stands for whole segments: it is alone between two slashes");
			return -EINVAL;
		} else {
			units[(*n)++] = PATH_STAR;
		}
	}
	return 0;
}

int path_pattern_parse(
	struct slice text, uint16_t *units, struct path_pattern *ret, char why[PATH_WHY])
{
	size_t n = 0;

	if (path_refused(text, why) != 0)
		return -EINVAL;
	for (struct slice rest = text; rest.n;) {
		struct slice segment;

		rest = slice_skip(rest, 1);
		segment = slice_first(rest, slice_find(rest, '/'));
		rest = slice_skip(rest, segment.n);
		units[n++] = PATH_SLASH;
		if (segment.n == 0 && rest.n) {
			(void)snprintf(
				why, PATH_WHY, "an empty segment (`//`) is matched by `**` only");
			return -EINVAL;
		}
		if (path_compile(segment, units, &n, why) < 0)
			return -EINVAL;
	}
	*ret = (struct path_pattern){units, n};
	return 0;
}

/* ---- matching ---- */

/* What is matched: the path of a target, or the units of another pattern. */
struct path_text {
	const uint8_t *bytes; /* NULL: units */
	const uint16_t *units;
	size_t n;
};

/* The unit at *at, which moves behind it. */
static uint16_t path_read(const struct path_text *t, size_t *at)
{
	uint8_t c;
	int escape;

	if (!t->bytes)
		return t->units[(*at)++];
	c = t->bytes[*at];
	escape = c == '%' ? path_escape(t->bytes, t->n, *at) : -1;
	*at += escape < 0 ? 1 : 3;
	if (escape >= 0)
		return (uint16_t)escape;
	if (c == '/')
		return PATH_SLASH;
	return path_delimiter(c) ? c | PATH_BARE : c;
}

/* Where the segment that begins at `at` ends. */
static size_t path_end(const struct path_text *t, size_t at)
{
	if (t->bytes)
		return at + slice_find(slice_of(t->bytes + at, t->n - at), '/');
	while (at < t->n && t->units[at] != PATH_SLASH)
		at++;
	return at;
}

static bool path_same(uint16_t pattern, uint16_t unit, bool broad)
{
	if (broad && pattern < PATH_SLASH && unit < PATH_SLASH)
		return (uint8_t)pattern == (uint8_t)unit;
	return pattern == unit;
}

/* Whether the pattern's segment p, which is not `**`, matches the text's from `at` to `end`. */
static bool path_segment(
	const struct path_pattern *p, const struct path_text *t, size_t at, size_t end, bool broad)
{
	size_t i = 0, star = path_none, mark = 0;

	if (p->n == 0 || at == end)
		return p->n == 0 && at == end;
	if (!t->bytes && t->units[at] == PATH_ANY)
		return false;
	while (at < end) {
		size_t next = at;
		uint16_t unit = path_read(t, &next);

		if (i < p->n && p->units[i] == PATH_STAR) {
			star = ++i;
			mark = at;
		} else if (i < p->n && path_same(p->units[i], unit, broad)) {
			i++;
			at = next;
		} else if (star != path_none) {
			i = star;
			(void)path_read(t, &mark);
			at = mark;
		} else {
			return false;
		}
	}
	while (i < p->n && p->units[i] == PATH_STAR)
		i++;
	return i == p->n;
}

/* The segment of a pattern whose slash is at i. */
static struct path_pattern path_part(const struct path_pattern *p, size_t i)
{
	const struct path_text t = {.units = p->units, .n = p->n};

	return (struct path_pattern){p->units + i + 1, path_end(&t, i + 1) - i - 1};
}

static bool path_is_any(const struct path_pattern *part)
{
	return part->n && part->units[0] == PATH_ANY;
}

/* Both begin with a slash; i and at stay at one, or at the end. */
static bool path_match(const struct path_pattern *p, const struct path_text *t, bool broad)
{
	size_t i = 0, at = 0, any = path_none, mark = 0;

	while (at < t->n) {
		struct path_pattern part = {NULL, 0};
		size_t end = path_end(t, at + 1);

		if (i < p->n)
			part = path_part(p, i);
		if (i < p->n && path_is_any(&part)) {
			any = i += 1 + part.n;
			mark = at;
		} else if (i < p->n && path_segment(&part, t, at + 1, end, broad)) {
			i += 1 + part.n;
			at = end;
		} else if (any != path_none) {
			i = any;
			at = mark = path_end(t, mark + 1);
		} else {
			return false;
		}
	}
	while (i + 1 < p->n && p->units[i + 1] == PATH_ANY)
		i += 2;
	return i == p->n;
}

bool path_pattern_match(const struct path_pattern *p, struct slice target, bool broad)
{
	struct slice path = path_of(target);
	const struct path_text t = {.bytes = path.p, .n = path.n};

	return path.n && path.p[0] == '/' && path_match(p, &t, broad);
}

bool path_pattern_covers(const struct path_pattern *a, const struct path_pattern *b, bool broad)
{
	const struct path_text t = {.units = b->units, .n = b->n};

	return path_match(a, &t, broad);
}
