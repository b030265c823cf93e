/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hosts.h – every address of the namespace in which the helper was started, which is where the daemon
 * dials from: the host's own, followed live. Life: hosts_open → (changed …) → hosts_close.
 */
#ifndef SALLYPORT_NETNS_HELPER_HOSTS_H
#define SALLYPORT_NETNS_HELPER_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/capture.h"
#include "netns-helper/loop.h"

#include "base/fault.h"

struct mnl_socket;

/* Without those of loopback, and without fe80::/10, which is refused as a class. */
struct hosts_list {
	size_t n;
	bool cut; /* there are more than fit */
	uint8_t ip[CAPTURE_HOSTS][16]; /* ascending, each once; IPv4 as v4-mapped */
};

struct hosts {
	struct loop *loop; /* borrowed */
	struct loop_source source;
	struct mnl_socket *events;
	struct hosts_list list;
	void (*changed)(struct hosts *hosts); /* the list is another than before */
	int failed; /* -errno of the last reading, which left the list as it was; 0 */
};

/* Reads the list and begins to watch. 0 or -errno with nothing left behind. */
int hosts_open(struct hosts *h, struct loop *loop, void (*changed)(struct hosts *hosts),
	struct fault *fault);
/* Also of one that was zeroed and never opened. */
void hosts_close(struct hosts *h);

#endif
