/* SPDX-License-Identifier: GPL-2.0-or-later */
/* listeners.h – the sockets in a sandbox's network namespace at which captured traffic ends. */
#ifndef SALLYPORT_LISTENERS_H
#define SALLYPORT_LISTENERS_H

#include <stdbool.h>

#include "netns-helper/proto.h"

/* Where they are bound: out of everybody's way. IPv6 has one loopback address. */
#define LISTENERS_TCP4 "127.0.64.1"
#define LISTENERS_DNS4 "127.0.64.53"
#define LISTENERS_TCP6 "::1"
#define LISTENERS_DNS6 "::1"

/*
 * In the bpf lane [0] serves both families; in the nft lane [0] is of IPv4 and [1] of IPv6. Unused
 * entries are -1. Every descriptor is owned.
 */
struct listeners {
	unsigned int nslots;
	int tcp[2][PROTO_SLOTS];
	int dns[2];
};

/* The slots of a new sandbox: one a core that is online, at most PROTO_SLOTS. */
unsigned int listeners_slots(void);

/*
 * Opens them in the calling thread's network namespace, transparent (IP_TRANSPARENT, what tproxy
 * takes) for the nft lane. 0, or -errno with nothing left open.
 */
int listeners_open(unsigned int nslots, bool has_v6, bool transparent, struct listeners *ret);

/* The ports of the TCP listeners, in host order; 0 for what there is not. 0 or -errno. */
int listeners_ports(
	const struct listeners *l, uint16_t ret4[PROTO_SLOTS], uint16_t ret6[PROTO_SLOTS]);

/* Closes; a slot is free for good only when the daemon's copies are closed too. */
void listeners_close(struct listeners *l);

#endif
