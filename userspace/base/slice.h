/* SPDX-License-Identifier: Apache-2.0 */
/* slice.h – borrowed bytes. A slice owns nothing and is valid only as long as what it points into. */
#ifndef SALLYPORT_SLICE_H
#define SALLYPORT_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
	const uint8_t *p;
	size_t n;
};

/* printf("%.*s", SLICE_ARG(s)) */
#define SLICE_ARG(s) (int)(s).n, (const char *)(s).p
/* A slice of a string literal. */
#define SLICE(literal) ((struct slice){(const uint8_t *)(literal), sizeof(literal) - 1})

static inline struct slice slice_of(const void *p, size_t n)
{
	return (struct slice){p, n};
}

static inline struct slice slice_str(const char *s)
{
	return (struct slice){(const uint8_t *)s, s ? strlen(s) : 0};
}

/* The slice without its first n bytes; n beyond the end gives an empty slice. */
static inline struct slice slice_skip(struct slice s, size_t n)
{
	if (n > s.n)
		n = s.n;
	return (struct slice){s.p + n, s.n - n};
}

static inline struct slice slice_first(struct slice s, size_t n)
{
	return (struct slice){s.p, n < s.n ? n : s.n};
}

static inline bool slice_eq(struct slice a, struct slice b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline uint8_t slice_lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
}

/* Equal but for the case of ASCII letters. */
static inline bool slice_ieq(struct slice a, struct slice b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (slice_lower(a.p[i]) != slice_lower(b.p[i]))
			return false;
	return true;
}

/* Without leading and trailing SP and HTAB (OWS, RFC 9110 section 5.6.3). */
static inline struct slice slice_trim(struct slice s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
		s.p++, s.n--;
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

/* The offset of byte c, or s.n. */
static inline size_t slice_find(struct slice s, uint8_t c)
{
	const uint8_t *hit = s.n ? memchr(s.p, c, s.n) : NULL;

	return hit ? (size_t)(hit - s.p) : s.n;
}

#endif
