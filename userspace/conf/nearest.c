/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.c – see nearest.h. Three rows of the usual table of distances are enough. */
#include <stdio.h>

#include "conf/nearest.h"

enum { NEAREST_LONGEST = 32 }; /* words longer than this have no neighbours */

static unsigned nearest_least(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b. */
static unsigned nearest_distance(struct slice a, struct slice b)
{
	unsigned rows[3][NEAREST_LONGEST + 1], *before = rows[0], *last = rows[1], *now = rows[2];

	if (a.n > NEAREST_LONGEST || b.n > NEAREST_LONGEST)
		return NEAREST_LONGEST;
	for (unsigned j = 0; j <= b.n; j++)
		before[j] = last[j] = j;
	for (unsigned i = 1; i <= a.n; i++) {
		unsigned *spare = before;

		now[0] = i;
		for (unsigned j = 1; j <= b.n; j++) {
			bool same = slice_lower(a.p[i - 1]) == slice_lower(b.p[j - 1]);

			now[j] = nearest_least(last[j] + 1, now[j - 1] + 1, last[j - 1] + !same);
			if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] &&
				a.p[i - 2] == b.p[j - 1] && before[j - 2] + 1 < now[j])
				now[j] = before[j - 2] + 1;
		}
		before = last;
		last = now;
		now = spare;
	}
	return last[b.n];
}

void nearest_to(struct nearest *best, struct slice to)
{
	*best = (struct nearest){.to = to, .distance = NEAREST_LONGEST};
}

void nearest_try(struct nearest *best, const char *word)
{
	unsigned d = nearest_distance(best->to, slice_str(word));

	if (d <= 2 && d < best->distance && d < best->to.n) {
		best->distance = d;
		best->word = word;
	}
}

const char *nearest_hint(const struct nearest *best, char ret[NEAREST_HINT])
{
	ret[0] = '\0';
	if (best->word)
		(void)snprintf(ret, NEAREST_HINT, "; did you mean `%s`?", best->word);
	return ret;
}
