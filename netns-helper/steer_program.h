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

/* Reads and checks the program once. 60 to 160 ms: libbpf reads the kernel's types. `programs`, whose
 * maps about an outage it reads, is borrowed and must live until the close. */
int steer_program_open(
	const struct programs *programs, struct fault *f, struct steer_program **ret);
/* Attached netns are not touched. Takes NULL. */
void steer_program_close(struct steer_program *p);

struct steer_spec {
	const char *id; /* the sandbox's, as programs_attach() takes it; copied */
	const struct pins *pins; /* programs_pins(); must live until the detach */
	int netns_fd; /* borrowed, and only during the call, like all descriptors here */
	uint8_t own4[16]; /* v4-mapped */
	uint8_t own6[16]; /* all zero = no IPv6 */
	unsigned nslots; /* 1 … CAPTURE_SLOTS listeners */
	const int
		*listeners; /* TCP, listening, of both families (AF_INET6, not IPV6_V6ONLY), sockets
				 of this very netns: the kernel does not check that */
	int udp; /* UDP, bound, of both families */
	bool resolver; /* the container runtime has its resolver at 127.0.0.11 */
};

/*
 * Puts the sockets into their slots and attaches the program to the netns, inactive: what would be
 * ours is dropped (TCP reset, UDP port unreachable). A slot stays filled as long as somebody holds
 * a copy of its socket. The link is pinned as links/ID/steer_lookup and outlives this process.
 * -EBUSY or -EEXIST: the netns has a sk_lookup program that does not share, or the id is taken.
 */
int steer_program_attach(const struct steer_program *p, const struct steer_spec *spec,
	struct fault *f, struct steer_netns **ret);

/* From now on connections reach the sockets. */
int steer_program_activate(struct steer_netns *s, struct fault *f);

/* Back to the state before: what would be ours is dropped. -errno: it stays active. */
int steer_program_deactivate(struct steer_netns *s);

/* Replaces the addresses of the uplink, n ≤ CAPTURE_LOCALS (IPv4 v4-mapped), which pass like the
 * own ones. */
int steer_program_set_locals(
	struct steer_netns *s, const uint8_t (*locals)[16], size_t n, struct fault *f);

/* Whether the program is still attached to the netns of that inode; -ENOENT: it is not. */
int steer_program_verify(const struct steer_netns *s, uint64_t netns_inode, struct fault *f);

/* How many lookups ended in a drop so far. */
int steer_program_dropped(const struct steer_netns *s, uint64_t *ret);

/* Detaches and frees. Takes NULL. */
void steer_program_detach(struct steer_netns *s);

#endif
