/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steer_program.h – the sk_lookup program that hands a netns's connections to our sockets: one
 * small program, one SOCKMAP and one flag for each netns, since a sk_lookup program cannot ask in
 * which netns it runs. Life: open once (the instructions); for each netns attach → activate →
 * detach; close.
 *
 * Functions return 0 or -errno and then say in *f which step failed. Nothing here logs.
 */
#ifndef SALLYPORT_NETNS_HELPER_STEER_PROGRAM_H
#define SALLYPORT_NETNS_HELPER_STEER_PROGRAM_H

#include <stdint.h>

struct fault;
struct steer_program;
struct steer_netns;

/* Reads and checks the program once. 60 to 160 ms: libbpf reads the kernel's types. */
int steer_program_open(struct fault *f, struct steer_program **ret);
/* Attached netns are not touched. Takes NULL. */
void steer_program_close(struct steer_program *p);

struct steer_spec {
	int netns_fd; /* borrowed, and only during the call, like all descriptors here */
	uint8_t own4[16]; /* v4-mapped */
	uint8_t own6[16]; /* all zero = no IPv6 */
	unsigned nslots; /* 1 … CAPTURE_SLOTS listeners of each family */
	const int *listeners4; /* TCP, listening, AF_INET, sockets of this very netns: the kernel
				  does not check that */
	const int *listeners6; /* NULL = no IPv6 */
	int udp4; /* UDP, bound */
	int udp6; /* -1 = no IPv6 */
};

/*
 * Puts the sockets into their slots and attaches the program to the netns, inactive: what would be
 * ours is dropped (TCP reset, UDP port unreachable). A slot stays filled as long as somebody holds
 * a copy of its socket. -EBUSY or -EEXIST: the netns has a sk_lookup program that does not share.
 */
int steer_program_attach(const struct steer_program *p, const struct steer_spec *spec,
	struct fault *f, struct steer_netns **ret);

/* From now on connections reach the sockets. */
int steer_program_activate(struct steer_netns *s, struct fault *f);

/* Detaches and frees. Takes NULL. */
void steer_program_detach(struct steer_netns *s);

#endif
