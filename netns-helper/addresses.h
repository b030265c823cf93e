/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * addresses.h – the addresses of a sandbox's interfaces, lo left out: read, and followed. Life:
 * open → (when the descriptor is readable: changed → read) → close.
 */
#ifndef SALLYPORT_ADDRESSES_H
#define SALLYPORT_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/capture.h"

struct addresses {
	int fd; /* owned; readable when an address came or went; -1 = not open */
	uint8_t list[CAPTURE_LOCALS][16]; /* IPv4 as v4-mapped */
	size_t n;
	bool cut; /* there are more than fit */
};

/* Inside the namespace: begins to follow, then reads, so that no change is missed. 0 or -errno with
 * nothing open. */
int addresses_open(struct addresses *ret);

/* Takes what the descriptor has to say, without waiting; whether that was anything. Anywhere. */
bool addresses_changed(struct addresses *a);

/* Inside the namespace: the list as it is now. 1 = another than before, 0 = the same, -errno. */
int addresses_read(struct addresses *a);

void addresses_close(struct addresses *a);

#endif
