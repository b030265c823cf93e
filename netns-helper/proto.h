/* SPDX-License-Identifier: GPL-2.0-or-later OR Apache-2.0 */
/*
 * proto.h – what is said to the helper. Two SOCK_SEQPACKET sockets under STATE, one message = one
 * struct of exactly the stated size; integers in host order; texts NUL-terminated; what is unused
 * is zero. Descriptors travel in the order of the comments. A message of another size, version or
 * descriptor count ends the connection.
 *
 *   helper.sock  CLI → helper    every request is answered with one proto_reply
 *   link.sock    helper → daemon PROTO_HELLO first, then an OFFER for each sandbox, also after a
 *                reconnect; a NOTE for each feature that is, or is no longer, degraded
 *                daemon → helper PROTO_DIALLER first, then PROTO_ACTIVE for each OFFER, PROTO_GONE
 *                for each WITHDRAW
 *
 * A daemon whose DIALLER says take_over serves nothing until it is told SERVE. When it has said ACTIVE
 * for every sandbox, the one that serves is told DRAIN, and answers DRAINING as soon as it accepts
 * nothing any more and reads no event; then SERVE is said, and the old one ends when it is empty. DRAINING says how long
 * that may take; PROTO_DRAIN_LATE_MS after that it is killed. The bare word, of an older release, is PROTO_DRAIN_MOST.
 */
#ifndef SALLYPORT_PROTO_H
#define SALLYPORT_PROTO_H

#include <assert.h>
#include <stdint.h>

enum {
	PROTO_VERSION = 3,
	PROTO_ID = 64, /* a sandbox's id and NUL: [a-z0-9][a-z0-9_.-]{0,62} */
	PROTO_TEXT = 512, /* an explanation for a person and NUL */
	PROTO_NAME = 254, /* a DNS name and NUL */
	PROTO_SEARCH = 8, /* search domains of one sandbox */
	PROTO_OPENINGS = 64, /* ranges that a policy lifts from the address refusal */
	PROTO_SLOTS = 16, /* listeners of one series */
	PROTO_OFFER_FDS = 4 + 2 * PROTO_SLOTS,
	PROTO_UNIX_PATH = 109, /* a prefix of a unix socket's path and NUL */
	PROTO_UNIX_PATHS = 16, /* of one sandbox */
	PROTO_RESOLVERS = 16, /* exceptions of the dialler */
	PROTO_FEATURE = 64, /* what is degraded and NUL */
	PROTO_REPLY_MS = 10000, /* the daemon's time for an OFFER; then the attach fails */
	PROTO_DAEMONS = 2, /* at once: one serves, one takes over or drains */
	PROTO_DRAIN_MS = 5000, /* the daemon's time for DRAINING; then it is killed */
	PROTO_DRAIN_MOST = 86400, /* seconds that one may drain */
	PROTO_DRAIN_LATE_MS = 15000, /* behind its time: its end takes a moment as well */
};

#define PROTO_OWN4 "192.0.2.1" /* the sandbox's own addresses, on its lo; also its name server */
#define PROTO_OWN6 "2001:db8:53::1"

/* Where a daemon that takes over listens for control.sock; the helper renames it before SERVE. */
#define PROTO_CONTROL      "control.sock"
#define PROTO_CONTROL_NEXT "control.sock.next"

enum proto_op {
	PROTO_ATTACH =
		1, /* fds: netns, cgroup directory, policy; answered when the daemon says ACTIVE */
	PROTO_DETACH,
	PROTO_LIST, /* answered with the first sandbox behind the id, in the order of ids */
	PROTO_ENTER, /* answered with proto_entered, fds: netns, cgroup directory */
	PROTO_RELEASE, /* a DETACH of whatever has that owner; of nothing it is done at once */
	PROTO_DEGRADED, /* a proto_note about a sandbox, for the status */
	PROTO_HELLO =
		16, /* fds: the heartbeat's memory; with bpf also the maps events, executables,
			cgroups, uses, verdicts, closed */
	PROTO_OFFER, /* fds: policy memfd, [flow map in the bpf lane,] dns[families],
			listeners[families][nslots]; see proto_families() */
	PROTO_WITHDRAW,
	PROTO_ACTIVE,
	PROTO_GONE,
	PROTO_NOTE,
	PROTO_DIALLER,
	PROTO_SERVE,
	PROTO_DRAIN,
	PROTO_DRAINING,
};

enum proto_mode { PROTO_SEALED = 1, PROTO_UPLINK };
enum proto_lane { PROTO_LANE_AUTO = 0, PROTO_LANE_BPF, PROTO_LANE_NFT };

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
	uint8_t lane; /* enum proto_lane */
	uint8_t bounding_said; /* bounding is what the sandbox's processes will have at most */
	uint8_t pad[2];
	uint64_t bounding; /* capability bounding set, 1 << CAP_… */
	uint64_t owner; /* not 0: a container's, which RELEASE names; the sandbox ends with the last
			   process in its cgroup */
	char search[PROTO_SEARCH][PROTO_NAME];
	char unix_paths[PROTO_UNIX_PATHS]
		       [PROTO_UNIX_PATH]; /* empty from the first unused on; none: the default */
};

/* DETACH, ENTER, LIST ("" = from the beginning), WITHDRAW, GONE. */
struct proto_name {
	struct proto_head head;
	char id[PROTO_ID];
};

/* RELEASE */
struct proto_release {
	struct proto_head head;
	uint64_t owner; /* not 0 */
};

struct proto_reply {
	struct proto_head head; /* op of the request */
	int32_t error; /* 0 or -errno */
	uint32_t pid; /* end of a LIST: of the daemon that serves, 0 = none */
	char text[PROTO_TEXT]; /* why not, and what to do; LIST: one line about a sandbox, or empty
				  = that was all */
};

struct proto_entered {
	struct proto_reply reply;
	char search[PROTO_SEARCH][PROTO_NAME];
};

struct proto_hello {
	struct proto_head head;
	uint32_t abi; /* CAPTURE_ABI of the maps */
	uint32_t bpf; /* 1: the maps are there; 0: every sandbox is in the nft lane */
	uint32_t slot; /* below PROTO_DAEMONS: where it puts its beats, struct capture_heartbeat */
	uint32_t wait; /* 1: in an outage connections wait; 0: they are refused */
	uint32_t occupied; /* 1: another daemon serves, only a take-over is heard */
	uint32_t pad;
};

/* SERVE, DRAIN: nothing but the word. */
struct proto_word {
	struct proto_head head;
};

struct proto_draining {
	struct proto_head head;
	uint32_t seconds; /* until it ends, at most PROTO_DRAIN_MOST */
	uint32_t pad;
};

struct proto_offer {
	struct proto_head head;
	char id[PROTO_ID];
	uint64_t netns; /* cookie, SO_NETNS_COOKIE: the key of the BPF maps */
	uint64_t cgroup; /* inode of the sandbox's cgroup directory */
	uint32_t nslots; /* 1…PROTO_SLOTS listeners; slot i is served by worker i mod n */
	uint8_t has_v6;
	uint8_t mode;
	uint8_t own4[4];
	uint8_t own6[16];
	uint8_t lane; /* PROTO_LANE_BPF or PROTO_LANE_NFT */
	uint8_t pad[5];
	char search[PROTO_SEARCH][PROTO_NAME]; /* empty from the first unused on */
};

/*
 * How many series of sockets come with an offer. In the bpf lane one, which serves both families
 * (AF_INET6 sockets that are not IPV6_V6ONLY, or AF_INET without IPv6); in the nft lane IPv4's, and
 * then IPv6's if there is IPv6, since tproxy takes sockets by the address that they are bound to.
 */
static inline unsigned int proto_families(const struct proto_offer *offer)
{
	return offer->has_v6 && offer->lane == PROTO_LANE_NFT ? 2 : 1;
}

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

/* A feature that is degraded, of a sandbox or ("" = all) of the machine; reason "" = it is whole again. */
struct proto_note {
	struct proto_head head;
	char id[PROTO_ID];
	char feature[PROTO_FEATURE];
	char reason[PROTO_TEXT];
	char remedy[PROTO_TEXT];
};

/*
 * What the daemon's own sockets may reach although its class is refused: its resolvers. Once a
 * connection, before any ACTIVE; a later one may only change entries of port 53.
 */
struct proto_resolver {
	uint8_t ip[16]; /* IPv4 as v4-mapped */
	uint16_t port; /* host order; UDP and TCP */
	uint8_t pad[6];
};

struct proto_dialler {
	struct proto_head head;
	uint32_t n;
	uint32_t
		take_over; /* 1, in the first of a connection: it wants what another daemon serves */
	struct proto_resolver resolvers[PROTO_RESOLVERS];
};

static_assert(sizeof(struct proto_attach) == 8 + 64 + 8 + 8 + 8 + 8 * 254 + 16 * 109, "no padding");
static_assert(sizeof(struct proto_release) == 16, "no padding");
static_assert(sizeof(struct proto_name) == 72, "no padding");
static_assert(sizeof(struct proto_reply) == 528, "no padding");
static_assert(sizeof(struct proto_entered) == 528 + 8 * 254, "no padding");
static_assert(sizeof(struct proto_offer) == 8 + 64 + 16 + 4 + 28 + 8 * 254, "no padding");
static_assert(sizeof(struct proto_opening) == 22, "no padding");
static_assert(sizeof(struct proto_hello) == 32, "no padding");
static_assert(sizeof(struct proto_word) == 8, "no padding");
static_assert(sizeof(struct proto_draining) == 16, "no padding");
static_assert(sizeof(struct proto_note) == 8 + 64 + 64 + 2 * 512, "no padding");
static_assert(sizeof(struct proto_dialler) == 16 + 16 * 24, "no padding");
static_assert(sizeof(struct proto_active) == 8 + 64 + 8 + 32 + 512 + 64 * 22, "no padding");

#endif
