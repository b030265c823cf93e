/* SPDX-License-Identifier: Apache-2.0 */
/* alabel.c – see alabel.h. The encoder is RFC 3492 section 6.3 with the parameters of its
 * section 5. */
#include <errno.h>

#include "policy/alabel.h"

enum {
	ALABEL_POINTS = 63, /* of one label */
	ALABEL_BASE = 36,
	ALABEL_TMIN = 1,
	ALABEL_TMAX = 26,
	ALABEL_SKEW = 38,
	ALABEL_DAMP = 700,
	ALABEL_BIAS = 72,
	ALABEL_FIRST = 128,
};

struct alabel_out {
	char *to;
	size_t n, max;
};

static int alabel_put(struct alabel_out *o, char c)
{
	if (o->n + 1 >= o->max)
		return -EINVAL;
	o->to[o->n++] = c;
	o->to[o->n] = '\0';
	return 0;
}

/* The code point at the front of s, which is moved on; -EINVAL for what is not UTF-8 (RFC 3629). */
static long alabel_point(struct slice *s)
{
	uint8_t c = s->p[0];
	unsigned more = c < 0x80                ? 0
			: c >= 0xc2 && c < 0xe0 ? 1
			: c >= 0xe0 && c < 0xf0 ? 2
			: c >= 0xf0 && c < 0xf5 ? 3
						: 9;
	long point = more == 0 ? c : c & (0x3f >> more);
	static const long least[] = {0, 0x80, 0x800, 0x10000};

	if (more > 3 || s->n <= more)
		return -EINVAL;
	for (unsigned i = 1; i <= more; i++) {
		if ((s->p[i] & 0xc0) != 0x80)
			return -EINVAL;
		point = point << 6 | (s->p[i] & 0x3f);
	}
	if (point < least[more] || (point >= 0xd800 && point < 0xe000) || point > 0x10ffff)
		return -EINVAL;
	*s = slice_skip(*s, more + 1);
	return point;
}

static long alabel_lower(long c)
{
	if ((c >= 'A' && c <= 'Z') || (c >= 0xc0 && c <= 0xde && c != 0xd7) ||
		(c >= 0x391 && c <= 0x3a9) || (c >= 0x410 && c <= 0x42f))
		return c + 32;
	return c >= 0x400 && c <= 0x40f ? c + 80 : c;
}

static unsigned alabel_adapt(unsigned delta, unsigned points, bool first)
{
	unsigned k = 0;

	delta = first ? delta / ALABEL_DAMP : delta / 2;
	delta += delta / points;
	for (; delta > (ALABEL_BASE - ALABEL_TMIN) * ALABEL_TMAX / 2; k += ALABEL_BASE)
		delta /= ALABEL_BASE - ALABEL_TMIN;
	return k + (ALABEL_BASE - ALABEL_TMIN + 1) * delta / (delta + ALABEL_SKEW);
}

static int alabel_number(struct alabel_out *o, unsigned q, unsigned bias)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz0123456789";

	for (unsigned k = ALABEL_BASE;; k += ALABEL_BASE) {
		unsigned t = k <= bias                 ? ALABEL_TMIN
			     : k >= bias + ALABEL_TMAX ? ALABEL_TMAX
						       : k - bias;

		if (q < t)
			return alabel_put(o, digits[q]);
		if (alabel_put(o, digits[t + (q - t) % (ALABEL_BASE - t)]) < 0)
			return -EINVAL;
		q = (q - t) / (ALABEL_BASE - t);
	}
}

static int alabel_encode(struct alabel_out *o, const long *points, unsigned n)
{
	unsigned basic = 0, done, delta = 0, bias = ALABEL_BIAS;
	long next = ALABEL_FIRST;

	for (const char *c = "xn--"; *c; c++)
		if (alabel_put(o, *c) < 0)
			return -EINVAL;
	for (unsigned i = 0; i < n; i++)
		if (points[i] < ALABEL_FIRST && (basic++, alabel_put(o, (char)points[i]) < 0))
			return -EINVAL;
	if (basic && alabel_put(o, '-') < 0)
		return -EINVAL;
	for (done = basic; done < n; next++, delta++) {
		long least = 0x110000;

		for (unsigned i = 0; i < n; i++)
			if (points[i] >= next && points[i] < least)
				least = points[i];
		delta += (unsigned)(least - next) * (done + 1);
		next = least;
		for (unsigned i = 0; i < n; i++) {
			if (points[i] < next)
				delta++;
			if (points[i] != next)
				continue;
			if (alabel_number(o, delta, bias) < 0)
				return -EINVAL;
			bias = alabel_adapt(delta, done + 1, done == basic);
			delta = 0;
			done++;
		}
	}
	return 0;
}

static int alabel_label(struct alabel_out *o, struct slice label)
{
	long points[ALABEL_POINTS];
	bool ascii = true;
	unsigned n = 0;

	while (label.n) {
		long c = alabel_point(&label);

		if (c < 0 || n == ALABEL_POINTS)
			return -EINVAL;
		ascii = ascii && c < ALABEL_FIRST;
		points[n++] = alabel_lower(c);
	}
	if (!ascii)
		return alabel_encode(o, points, n);
	for (unsigned i = 0; i < n; i++)
		if (alabel_put(o, (char)points[i]) < 0)
			return -EINVAL;
	return 0;
}

int alabel_name(struct slice utf8, char *ret, size_t n)
{
	struct alabel_out o = {ret, 0, n};

	for (;;) {
		size_t dot = slice_find(utf8, '.');

		if (alabel_label(&o, slice_first(utf8, dot)) < 0)
			return -EINVAL;
		if (dot == utf8.n)
			return 0;
		if (alabel_put(&o, '.') < 0)
			return -EINVAL;
		utf8 = slice_skip(utf8, dot + 1);
	}
}
