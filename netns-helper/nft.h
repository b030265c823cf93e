/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nft.h – the nf_tables table `inet sallyport` in a sandbox's network namespace: what refuses
 * sockets that the cgroup programs do not see. Called inside the namespace (netns_within).
 */
#ifndef SALLYPORT_NFT_H
#define SALLYPORT_NFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netns-helper/proto.h"

struct capture_opening;
struct fault;

/* What is pointed to is borrowed during the call. Addresses of 16 bytes: IPv4 as v4-mapped. */
struct nft_spec {
	enum proto_mode mode;
	enum proto_lane lane; /* PROTO_LANE_BPF or PROTO_LANE_NFT */
	bool closed; /* refuses all but loopback and own addresses, whatever the rest says */
	bool outage; /* nft lane: no daemon serves, what is for it is refused */
	bool resolver; /* the container runtime's own resolver is at 127.0.0.11 */
	uint8_t own4[4];
	uint8_t own6[16];
	const uint8_t (*locals)[16]; /* further addresses of the sandbox, of its uplink */
	size_t nlocals;
	uint32_t inbound; /* uplink: the conntrack mark of what came in, nobody's guess */
	const uint8_t (*hosts)[16]; /* nft lane: the host's own addresses, which are refused */
	size_t nhosts;
	const struct capture_opening *openings; /* nft lane */
	size_t nopenings;
	unsigned int nslots; /* in the nft lane: the transparent listeners' ports */
	uint16_t ports4[PROTO_SLOTS];
	uint16_t ports6[PROTO_SLOTS]; /* all zero = no IPv6 */
	struct fault *fault; /* told which option the kernel lacks; NULL = nobody asks */
};

/* Loads the table in one transaction, in place of one that a dead helper left. 0 or -errno with
 * nothing changed. */
int nft_load(const struct nft_spec *spec);

/* Replaces the host's addresses (nft lane), or the sandbox's further ones, in a table that is loaded. 0 or
 * -errno with nothing changed. */
int nft_set_hosts(const uint8_t (*hosts)[16], size_t n);
int nft_set_locals(const uint8_t (*locals)[16], size_t n);

/* Whether what is for the daemon is refused, in a table of the nft lane that is loaded. 0 or -errno with nothing changed. */
int nft_set_outage(bool refuses);

/* How many packets of the self-test (nft_probe.c) the table has counted. 0 or -errno, -ENOENT: the table is gone. */
int nft_probe_count(uint64_t *ret);

/* Whether tables of somebody else are there is not looked at. Removes ours; 0 also when it is gone
 * already. */
int nft_unload(void);

#endif
