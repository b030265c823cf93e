/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steer_program.h – the sk_lookup program that hands a netns's connections to our sockets: one
 * small program, one SOCKMAP and one small array for each netns, since a sk_lookup program cannot
 * ask in which netns it runs. Life: open once (the instructions); for each netns attach → activate
 * → detach; close.
 *
 * Functions return 0 or -errno and then say in *f which step failed. Nothing here logs.
 */
#ifndef SALLYPORT_NETNS_HELPER_STEER_PROGRAM_H
#define SALLYPORT_NETNS_HELPER_STEER_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fault;
struct pins;
struct programs;
struct steer_program;
struct steer_netns;

/* Reads and checks the program once; `programs`, whose maps it reads, must live until the close. 60 to 160 ms: libbpf reads
 * the kernel's types. */
int steer_program_open(
	const struct programs *programs, struct fault *f, struct steer_program **ret);
/* Attached netns are not touched. Takes NULL. */
void steer_program_close(struct steer_program *p);

struct steer_spec {
	const char *id; /* the sandbox's, as programs_attach() takes it; copied */
	const struct pins *pins; /* programs_pins(); must live until the detach */
	int netns_fd; /* borrowed, and only during the call, like all descriptors here */
	uint64_t netns_cookie; /* not 0 */
	unsigned nslots; /* 1 … CAPTURE_SLOTS listeners */
	const int
		*listeners; /* TCP, listening, of both families (AF_INET6, not IPV6_V6ONLY), sockets
				 of this very netns: the kernel does not check that */
	int udp; /* UDP, bound, of both families */
};

/*
 * Puts the sockets into their slots and attaches the program to the netns. It goes by the sandbox's entry, which
 * programs_attach() makes under the same cookie: while there is none, or it is not active, what would be
 * ours is dropped (TCP reset, UDP port unreachable). A slot stays filled as long as somebody holds
 * a copy of its socket. The link is pinned as links/ID and outlives this process.
 * -EBUSY or -EEXIST: the netns has a sk_lookup program that does not share, or the id is taken.
 */
int steer_program_attach(const struct steer_program *p, const struct steer_spec *spec,
	struct fault *f, struct steer_netns **ret);

/* Whether the program is still attached to the netns of that inode; -ENOENT: it is not. */
int steer_program_verify(const struct steer_netns *s, uint64_t netns_inode, struct fault *f);

/* Detaches and frees. Takes NULL. */
void steer_program_detach(struct steer_netns *s);

#endif
