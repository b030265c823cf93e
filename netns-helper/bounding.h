/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bounding.h – sets of capabilities, 1 << CAP_…: as text, and of a process. */
#ifndef SALLYPORT_BOUNDING_H
#define SALLYPORT_BOUNDING_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Reads `none`, names with or without CAP_ and separated by commas, or the hexadecimal number of
 * /proc/PID/status. 0, or -EINVAL.
 */
int bounding_parse(const char *text, uint64_t *ret);

/* The name of the capability without CAP_, in capitals, into ret. */
void bounding_name(unsigned int capability, char ret[32]);

/*
 * Whatever the process and its programs can still come by: its bounding set, and what it holds or
 * hands on beside that (dropping from the bounding set takes nothing away). comm gets its name. 0,
 * -ESRCH when it is gone, -errno.
 */
int bounding_of(pid_t pid, uint64_t *ret, char comm[16]);

#endif
