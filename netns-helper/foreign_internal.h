/* SPDX-License-Identifier: GPL-2.0-or-later */
/* foreign_internal.h – the questions behind foreign_verify(). Only for the foreign_*.c of this folder. */
#ifndef SALLYPORT_NETNS_HELPER_FOREIGN_INTERNAL_H
#define SALLYPORT_NETNS_HELPER_FOREIGN_INTERNAL_H

#include <stddef.h>

#include "netns-helper/foreign.h"

enum {
	FOREIGN_SOCKETS =
		16384, /* more that are not known to be the sandbox's are too many to judge */
	FOREIGN_ADDRESS = 128, /* "[…]:port", or the name of an abstract unix socket */
	FOREIGN_COMM = 16,
};

struct foreign_socket {
	const char *kind; /* "TCP", … */
	char address[FOREIGN_ADDRESS];
	uint64_t inode;
	bool below; /* of a kind that sends below the table: raw, packet, XDP */
	bool inside; /* a process of the sandbox has it open */
	int pid; /* of one outside that has it open; 0 = none was found */
	char comm[FOREIGN_COMM]; /* its name */
};

/* Zeroed: none. */
struct foreign_sockets {
	struct foreign_socket *list;
	size_t n, room;
	bool resolver; /* and those of the resolver at 127.0.0.11 are left out */
};

/* foreign_sockets.c: all that were not made in the sandbox's own cgroup. 0, -E2BIG, -errno. */
int foreign_sockets_list(const struct foreign_spec *spec, struct foreign_sockets *s);
void foreign_sockets_free(struct foreign_sockets *s);

/* What a process chose itself is told to a person: other bytes than printable ones become ?. */
void foreign_printable(char *text);

/* foreign_holders.c: fills in who has them open, by a walk through /proc. 0 or -errno. */
int foreign_holders_find(const char *cgroup, struct foreign_sockets *s);

/* foreign_tables.c. `resolver` in: its sockets are there; out: also when only its table is. */
int foreign_tables_verify(struct fault *fault, bool *resolver);

/* foreign_rules.c */
int foreign_rules_verify(struct fault *fault);

/* foreign_links.c, uplink mode alone */
int foreign_links_verify(struct fault *fault);

#endif
