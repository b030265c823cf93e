/* SPDX-License-Identifier: GPL-2.0-or-later OR Apache-2.0 */
/*
 * proto.h – what is said to the helper. Two SOCK_SEQPACKET sockets under STATE, one message = one
 * struct of exactly the stated size; integers in host order; texts NUL-terminated; what is unused
 * is zero. Descriptors travel in the order of the comments. A message of another size, version or
 * descriptor count ends the connection.
 *
 *   helper.sock  CLI → helper    every request is answered with one proto_reply
 *   link.sock    helper → daemon PROTO_HELLO first, then an OFFER for each sandbox, also after a
 * reconnect; daemon → helper PROTO_ACTIVE for each OFFER, PROTO_GONE for each WITHDRAW
 */
#ifndef SALLYPORT_PROTO_H
#define SALLYPORT_PROTO_H

#include <assert.h>
#include <stdint.h>

enum {
	PROTO_VERSION = 1,
	PROTO_ID = 64, /* a sandbox's id and NUL: [a-z0-9][a-z0-9_.-]{0,62} */
	PROTO_TEXT = 512, /* an explanation for a person and NUL */
	PROTO_NAME = 254, /* a DNS name and NUL */
	PROTO_SEARCH = 8, /* search domains of one sandbox */
	PROTO_OPENINGS = 64, /* ranges that a policy lifts from the address refusal */
	PROTO_SLOTS = 16, /* listeners a family */
	PROTO_OFFER_FDS = 4 + 2 * PROTO_SLOTS,
	PROTO_REPLY_MS = 10000, /* the daemon's time for an OFFER; then the attach fails */
};

#define PROTO_OWN4 "192.0.2.1" /* the sandbox's own addresses, on its lo; also its name server */
#define PROTO_OWN6 "2001:db8:53::1"

enum proto_op {
	PROTO_ATTACH =
		1, /* fds: netns, cgroup directory, policy; answered when the daemon says ACTIVE */
	PROTO_DETACH,
	PROTO_LIST, /* answered with the first sandbox behind the id, in the order of ids */
	PROTO_ENTER, /* answered with proto_entered, fds: netns, cgroup directory */
	PROTO_HELLO = 16, /* a bare proto_head; fds: refusal ring buffer map */
	PROTO_OFFER, /* fds: policy memfd, flow map, udp4, [udp6,] listeners4[nslots],
			[listeners6[nslots]] */
	PROTO_WITHDRAW,
	PROTO_ACTIVE,
	PROTO_GONE,
};

enum proto_mode { PROTO_SEALED = 1 };

struct proto_head {
	uint32_t op; /* enum proto_op */
	uint32_t version;
};

struct proto_attach {
	struct proto_head head;
	char id[PROTO_ID];
	uint8_t mode; /* enum proto_mode */
	uint8_t strict; /* what would be degraded is a failure */
	uint8_t hold; /* the sandbox lives as long as this connection; its cgroup is killed at the
			 end */
	uint8_t own_cgroup; /* the cgroup directory is removed at the end */
	char search[PROTO_SEARCH][PROTO_NAME];
};

/* DETACH, ENTER, LIST ("" = from the beginning), WITHDRAW, GONE. */
struct proto_name {
	struct proto_head head;
	char id[PROTO_ID];
};

struct proto_reply {
	struct proto_head head; /* op of the request */
	int32_t error; /* 0 or -errno */
	uint32_t pid; /* end of a LIST: of the daemon, 0 = not connected */
	char text[PROTO_TEXT]; /* why not, and what to do; LIST: one line about a sandbox, or empty
				  = that was all */
};

struct proto_entered {
	struct proto_reply reply;
	char search[PROTO_SEARCH][PROTO_NAME];
};

struct proto_offer {
	struct proto_head head;
	char id[PROTO_ID];
	uint64_t netns; /* cookie, SO_NETNS_COOKIE: the key of the BPF maps */
	uint64_t cgroup; /* inode of the sandbox's cgroup directory */
	uint32_t nslots; /* 1…PROTO_SLOTS listeners a family; slot i is served by worker i mod n */
	uint8_t has_v6;
	uint8_t mode;
	uint8_t own4[4];
	uint8_t own6[16];
	uint8_t pad[6];
	char search[PROTO_SEARCH][PROTO_NAME]; /* empty from the first unused on */
};

/* Addresses ip/prefix at ports port_lo…port_hi stop being refused by their class. */
struct proto_opening {
	uint8_t ip[16]; /* IPv4 as v4-mapped */
	uint8_t prefix; /* of 128 */
	uint8_t metadata; /* 1 = also where the class is metadata */
	uint16_t port_lo; /* host order */
	uint16_t port_hi;
};

struct proto_active {
	struct proto_head head;
	char id[PROTO_ID];
	int32_t error; /* not 0: the attach fails with the text */
	uint32_t nopenings;
	uint8_t digest[32]; /* SHA-256 of the policy that is active */
	char text[PROTO_TEXT];
	struct proto_opening openings[PROTO_OPENINGS];
};

static_assert(sizeof(struct proto_attach) == 8 + 64 + 4 + 8 * 254, "no padding");
static_assert(sizeof(struct proto_name) == 72, "no padding");
static_assert(sizeof(struct proto_reply) == 528, "no padding");
static_assert(sizeof(struct proto_entered) == 528 + 8 * 254, "no padding");
static_assert(sizeof(struct proto_offer) == 8 + 64 + 16 + 4 + 28 + 8 * 254, "no padding");
static_assert(sizeof(struct proto_opening) == 22, "no padding");
static_assert(sizeof(struct proto_active) == 8 + 64 + 8 + 32 + 512 + 64 * 22, "no padding");

#endif
