/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit.h – the file that events end in: one JSON object a line, appended whole, rotated by size.
 * Belongs to the control thread. A line that cannot be written is counted, and the next one that
 * can be is preceded by a notice with the count.
 */
#ifndef SALLYPORT_AUDIT_H
#define SALLYPORT_AUDIT_H

#include <stdint.h>

struct audit;
struct audit_client;
struct audit_event;
struct audit_paths;

enum { AUDIT_KEPT = 3 }; /* rotated files: PATH.1 is the youngest */

/*
 * Opens or creates the file (0640). Reaching `size` bytes it is renamed to PATH.1 and a new one
 * begun; 0 never rotates. Rotation needs the right to write the directory; without it the file
 * grows on and audit_trouble() says so. 0, -EINVAL for what is not a regular file, or -errno.
 */
int audit_open(const char *path, uint64_t size, struct audit **ret);
/* NULL is allowed. */
void audit_close(struct audit *a);

/* Writes one event as a line. 0, or -errno when the line was lost (and counted). */
int audit_write(struct audit *a, const struct audit_event *e);

/*
 * From now on asks for the paths of each line's client just before it is written; the answer starts empty. NULL: no
 * paths.
 */
void audit_paths_by(struct audit *a,
	void (*find)(void *arg, const struct audit_client *client, struct audit_paths *ret),
	void *arg);

/* Counts events that were dropped before they got here (a full queue); they are told with the next
 * line. */
void audit_lose(struct audit *a, uint64_t n);

/* Another daemon writes to the file as well and will be the one to rotate it. */
void audit_share(struct audit *a);

/* Closes and opens the path again, for an outside log rotator. On failure the old file stays in
 * use. */
int audit_reopen(struct audit *a);

/* Since the start: lines written, events lost. */
uint64_t audit_written(const struct audit *a);
uint64_t audit_lost(const struct audit *a);
/* Why writing or rotating failed the last time (-errno), 0 when both are well. */
int audit_trouble(const struct audit *a);

#endif
