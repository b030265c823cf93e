/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h – the two times: monotonic for deadlines, wall for records. Parsers take them as parameters instead. */
#ifndef SALLYPORT_CLOCK_H
#define SALLYPORT_CLOCK_H

#include <stdint.h>

enum { CLOCK_TEXT = 25 }; /* "2026-01-31T23:59:59.999Z" and NUL */

/* Milliseconds since some fixed moment; never goes back. */
uint64_t clock_monotonic_ms(void);

/* RFC 3339, UTC, milliseconds. */
void clock_wall_text(char ret[CLOCK_TEXT]);

#endif
