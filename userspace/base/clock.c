/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c – see clock.h. #syscalls: clock_gettime (vDSO) */
#include <stdio.h>
#include <time.h>

#include "base/clock.h"

uint64_t clock_monotonic_ms(void)
{
	struct timespec t;

	(void)clock_gettime(
		CLOCK_MONOTONIC, &t); /* cannot fail with this clock and a valid pointer */
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void clock_wall_text(char ret[CLOCK_TEXT])
{
	struct timespec t;
	struct tm tm;
	char day[21];

	(void)clock_gettime(CLOCK_REALTIME, &t);
	(void)gmtime_r(&t.tv_sec, &tm);
	(void)strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(ret, CLOCK_TEXT, "%.19s.%03uZ", day, (unsigned)(t.tv_nsec / 1000000) % 1000);
}
