/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture.h – what the kernel programs, the helper and the daemon say to each other: keys, values
 * and events of the maps. ABI only. Compiled by clang for BPF and by gcc for userspace; the sizes
 * are asserted by both.
 *
 * Everywhere: addresses are 16 bytes in network order, IPv4 in its v4-mapped form; ports are in
 * host order; a netns is named by its cookie (SO_NETNS_COOKIE); pids are those of the helper's pid
 * namespace, or of the initial one for a process that is not in it. Times: `ns` is CLOCK_MONOTONIC, `start_ns` is CLOCK_BOOTTIME (field 22 of
 * /proc/PID/stat in nanoseconds).
 *
 * Pinned under STATE/bpf, for `bpftool map dump pinned …`; every map has BTF:
 *   about        0 → struct capture_about: which version of this file the rest follows
 *   sandboxes    netns cookie → struct capture_sandbox
 *   verdicts     netns cookie → struct capture_verdicts (cookie 0: not attached namespaces;
 *                CAPTURE_DIALLER: the daemon's own sockets)
 *   refusals     struct capture_refusal_key → struct capture_refusal, the latest destinations
 *   flows/ID     struct capture_flow_key → struct capture_client, one sandbox's live connections
 *   uses         struct capture_use_key → struct capture_use, written by the daemon
 *   executables  struct capture_exe_key → struct capture_path, paths of programs that were seen
 *   cgroups      cgroup id → struct capture_path
 *   hosts        16-byte address → 1: the host's own addresses, which are refused
 *   heartbeat    slot → struct capture_heartbeat: the daemons' signs of life, written by them
 *   outage       0 → struct capture_outage: what becomes of connections while no daemon serves
 *   dial_exceptions, dial_openings  what the daemon's own sockets may reach beyond public addresses:
 *                struct capture_dial_key → 1; struct capture_range_key → struct capture_opened
 *
 *   links/ID     sk_lookup's attachment to a sandbox's netns (bpftool link show pinned …)
 *
 * Not pinned: events, a ring buffer of struct capture_refusal; closed, struct capture_closed_key →
 * struct capture_closed.
 *
 * Versions: a field or a reason that is appended where a reader of the old size still reads right
 * keeps CAPTURE_ABI; everything else raises it. Readers compare `about` first.
 */
#ifndef SALLYPORT_BPF_CAPTURE_H
#define SALLYPORT_BPF_CAPTURE_H

#ifdef __VMLINUX_H__
#define static_assert _Static_assert
#else
#include <assert.h>
#include <linux/types.h>
#endif

/* In the place of a netns cookie: what the daemon's own sockets may not reach (bpf/dialler.bpf.c). */
#define CAPTURE_DIALLER 0xffffffffffffffffULL

enum {
	CAPTURE_ABI = 3,
	CAPTURE_ID = 64, /* a sandbox's id and its NUL */
	CAPTURE_COMM = 16, /* TASK_COMM_LEN */
	CAPTURE_DIGEST_TEXT = 72, /* SHA-256 as lower-case hex, NUL, padding */
	CAPTURE_SANDBOXES = 1024, /* attached at once */
	CAPTURE_FLOWS = 8192, /* live connections of one sandbox; the rest is unattributed */
	CAPTURE_DIAL_EXCEPTIONS = 32, /* the resolvers of two daemons */
	CAPTURE_DIAL_OPENINGS = 1024, /* different ones of all policies */
	CAPTURE_CLOSED = 2048, /* remembered ends of connections, all sandboxes */
	CAPTURE_FLOW_PREFIX = 8 * 36, /* prefixlen of every flow key: the whole of it */
	CAPTURE_REFUSALS = 4096, /* remembered destinations, all sandboxes */
	CAPTURE_EVENTS_BYTES = 262144, /* the ring buffer */
	CAPTURE_EVENTS_PER_SECOND = 100, /* of one sandbox; the rest is counted as suppressed */
	CAPTURE_OPENINGS = 64, /* of one sandbox */
	CAPTURE_SLOTS = 16, /* listeners of one sandbox */
	CAPTURE_LOCALS = 8, /* further addresses of one sandbox: those of its uplink */
	CAPTURE_HOSTS = 1024, /* addresses of the host */
	CAPTURE_PATH = 256, /* a path and its NUL; a longer one is left empty */
	CAPTURE_UNIX_PATH = 108, /* sun_path */
	CAPTURE_UNIX_PATHS = 16, /* prefixes that one sandbox's unix sockets may be under */
	CAPTURE_USES = 8192, /* pairs of credential and host, all sandboxes */
	CAPTURE_CREDENTIAL = 64, /* a credential's name, cut, and its NUL */
	CAPTURE_HOST = 128, /* a host name, cut, and its NUL */
	CAPTURE_BEATS = 2, /* daemons at once: one serves, one takes over or drains */
	CAPTURE_BEAT_LATE_MS = 2000, /* a daemon that gave no sign of life for longer hangs */
};

/* Entry 0 of `about`. */
struct capture_about {
	__u32 abi; /* CAPTURE_ABI */
	__u32 sandboxes; /* CAPTURE_SANDBOXES */
	__u32 events_per_second; /* CAPTURE_EVENTS_PER_SECOND */
	__u32 pad; /* 0 */
};
static_assert(sizeof(struct capture_about) == 16, "ABI");

/*
 * The client's own view of its connection: src is its address, dst what it asked for. The map is an
 * LPM trie, for what it does not cost (flows.bpf.c); there are whole keys only.
 */
struct capture_flow_key {
	__u32 prefixlen; /* CAPTURE_FLOW_PREFIX */
	__u8 src[16];
	__u8 dst[16];
	__u16 sport;
	__u16 dport;
};
static_assert(sizeof(struct capture_flow_key) == 40, "ABI");

/* Who called connect() or sendmsg(). */
struct capture_client {
	__u32 pid; /* the thread */
	__u32 tgid; /* the process */
	__u64 start_ns;
	__u32 uid;
	__u32 exe_dev; /* kernel form: major << 20 | minor; 0 with exe_ino 0 = a kernel thread */
	__u64 exe_ino;
	__u64 cgroup; /* id of the cgroup v2 directory */
	char comm[CAPTURE_COMM];
};
static_assert(sizeof(struct capture_client) == 56, "ABI");

/*
 * A connection whose client was gone before anything was said to it: whoever accepts it may still
 * look for the flow. Removed when it is found, or when the same addresses and ports are used again.
 */
struct capture_closed_key {
	__u64 netns;
	struct capture_flow_key flow;
};
static_assert(sizeof(struct capture_closed_key) == 48, "ABI");

struct capture_closed {
	__u64 ns; /* when */
	struct capture_client client;
};
static_assert(sizeof(struct capture_closed) == 64, "ABI");

/*
 * What became of an attempt: enum name, field of struct capture_verdicts, errno that the caller
 * sees (0 = passed). The numbers are ABI: append only. A refusal of UDP is always ECONNREFUSED,
 * whatever the row says: clients of UDP take every other errno for a fault of their own and try
 * again.
 */
#define CAPTURE_REASONS(X)                                                                         \
	X(PASSED, passed, 0)                                                                       \
	X(DNS, dns, 0)                                                                             \
	X(LOCAL, local, 0)                                                                         \
	X(OPENED, opened, 0)                                                                       \
	X(METADATA, metadata, ECONNREFUSED)                                                        \
	X(PRIVATE, private, EACCES)                                                                \
	X(LOOPBACK, loopback, EACCES)                                                              \
	X(LINK_LOCAL, link_local, EACCES)                                                          \
	X(CGNAT, cgnat, EACCES)                                                                    \
	X(MULTICAST, multicast, EACCES)                                                            \
	X(RESERVED, reserved, EACCES)                                                              \
	X(BENCHMARK, benchmark, EACCES)                                                            \
	X(UDP, udp, ECONNREFUSED)                                                                  \
	X(DOT, dns_over_tls, ECONNREFUSED)                                                         \
	X(NOT_ATTACHED, not_attached, ENETUNREACH)                                                 \
	X(INACTIVE, inactive, ENETUNREACH)                                                         \
	X(HOST_ADDRESS, host_address, EACCES)                                                      \
	X(FAMILY, family, EAFNOSUPPORT)                                                            \
	X(PROTOCOL, protocol, EPROTONOSUPPORT)                                                     \
	X(UNIX, unix_path, EACCES)                                                                 \
	X(EGRESS, egress, EPERM)                                                                   \
	X(RESOLVER, resolver, EACCES)                                                              \
	X(PROBE, probe, ECONNREFUSED)                                                              \
	X(OUTAGE, outage, ECONNREFUSED)

/*
 * PASSED: to a public address. DNS: port 53. LOCAL: loopback and own addresses. OPENED: lifted by
 * the policy. METADATA … BENCHMARK: the address class (LOOPBACK: a loopback address inside another
 * form). UDP: neither DNS nor local. DOT: port 853. NOT_ATTACHED: a netns that is not ours.
 * INACTIVE: attached, the policy not active yet, or the self-test failed. HOST_ADDRESS: one of the
 * host. FAMILY, PROTOCOL: socket() of a kind that no rule can allow. UNIX: a unix socket whose path
 * is under no allowed prefix. EGRESS: a packet that would leave a sealed sandbox. RESOLVER: the
 * container runtime's own resolver at 127.0.0.11, at another port than 53. PROBE: the helper's self-test
 * (bpf/probe.h), without an event. OUTAGE: would have passed to the daemon, and none serves.
 */
enum capture_reason {
#define X(name, field, error) CAPTURE_##name,
	CAPTURE_REASONS(X)
#undef X
		CAPTURE_REASON_COUNT
};

struct capture_verdicts {
#define X(name, field, error) __u64 field;
	CAPTURE_REASONS(X)
#undef X
	__u64 suppressed; /* refusals without an event, since the sandbox was over its budget */
	__u64 lost; /* … since the ring buffer was full */
	__u64 dropped; /* by sk_lookup: sockets that no cgroup program has judged, and connected UDP */
};
enum { CAPTURE_VERDICTS = CAPTURE_REASON_COUNT + 3 }; /* counters */
static_assert(sizeof(struct capture_verdicts) == CAPTURE_VERDICTS * 8, "one for each reason");

/*
 * A refusal that has no address has instead:
 *   PROTOCOL, FAMILY   dst zero; dport the protocol or family that socket() asked for (262 is
 *                      MPTCP), proto the same if it is below 256, else 0
 *   UNIX               dst the last 16 bytes of the path, zeroes behind a shorter one; dport 0,
 *                      proto 0. Its event is a struct capture_unix_refusal.
 * EGRESS is counted only: a packet has no caller.
 */
struct capture_refusal_key {
	__u64 netns;
	__u8 dst[16];
	__u16 dport;
	__u8 proto; /* IPPROTO_TCP, IPPROTO_UDP */
	__u8 pad[5]; /* 0 */
};
static_assert(sizeof(struct capture_refusal_key) == 32, "ABI");

/* In the ring buffer: one refusal. In `refusals`: the latest to that destination, and how many. */
struct capture_refusal {
	__u64 ns;
	__u64 netns;
	__u8 dst[16];
	__u16 dport;
	__u8 proto;
	__u8 reason; /* enum capture_reason */
	__s32 error; /* positive errno */
	__u64 count;
	struct capture_client client;
};
static_assert(sizeof(struct capture_refusal) == 104, "ABI");

/* The event of a refused unix socket: readers of the shorter struct read it right. */
struct capture_unix_refusal {
	struct capture_refusal refusal;
	char path[CAPTURE_UNIX_PATH + 4]; /* ends in NUL */
};
static_assert(sizeof(struct capture_unix_refusal) == 104 + 112, "ABI");

/*
 * The time until which every thread of the daemon is known to have been alive, CLOCK_MONOTONIC. The
 * map's memory is mapped by the daemons: each has a slot of its own. 0: has not begun.
 */
struct capture_heartbeat {
	__u64 ns;
};
static_assert(sizeof(struct capture_heartbeat) == 8, "ABI");

/*
 * Written by the helper alone. No daemon serves while `down` is set, or while the beat of `slot` is
 * older than CAPTURE_BEAT_LATE_MS.
 */
struct capture_outage {
	__u32 down; /* 1: the daemon's connection to the helper is closed */
	__u32 wait; /* 1: connections wait for the next daemon, nothing is refused */
	__u32 slot; /* whose beat counts */
	__u32 pad; /* 0 */
	__u64 ns; /* since when it is as it is, CLOCK_MONOTONIC */
};
static_assert(sizeof(struct capture_outage) == 24, "ABI");

enum capture_mode { CAPTURE_SEALED = 0, CAPTURE_UPLINK = 1 };

struct capture_sandbox {
	char id[CAPTURE_ID];
	char policy[CAPTURE_DIGEST_TEXT]; /* digest of the policy; empty until there is one */
	__u8 own4[16]; /* v4-mapped */
	__u8 own6[16]; /* all zero = no IPv6 */
	__u8 locals[CAPTURE_LOCALS][16]; /* addresses of the uplink; all zero behind the last */
	__u32 mode; /* enum capture_mode */
	__u32 active; /* 0: everything but loopback is refused */
	__u32 resolver; /* 1: the container runtime has its resolver at 127.0.0.11 */
	__u32 unix_paths; /* 1: it has its own in the map of that name; 0: those of netns 0 hold */
	__u64 cgroup; /* id of the cgroup that the programs are on */
};
static_assert(sizeof(struct capture_sandbox) == 192 + 16 * CAPTURE_LOCALS, "ABI");

/* What the daemon has put into requests; the texts are cut to size and end in NUL. */
struct capture_use_key {
	__u64 netns;
	char credential[CAPTURE_CREDENTIAL];
	char host[CAPTURE_HOST];
};
static_assert(sizeof(struct capture_use_key) == 200, "ABI");

struct capture_use {
	__u64 count; /* swaps and injections */
	__u64 ns; /* the latest */
};
static_assert(sizeof(struct capture_use) == 16, "ABI");

struct capture_exe_key {
	__u64 ino;
	__u32 dev; /* as in struct capture_client */
	__u32 pad; /* 0 */
};
static_assert(sizeof(struct capture_exe_key) == 16, "ABI");

/*
 * Of an executable: as the process that was seen first had it, in its own root; " (deleted)" behind it
 * if the file had no name any more. Of a cgroup: below the v2 root. Empty: too long.
 */
struct capture_path {
	char text[CAPTURE_PATH];
	__u64 stamp; /* of the file, from its ctime and generation: another one of the same inode number */
};
static_assert(sizeof(struct capture_path) == 264, "ABI");

/*
 * Key of the `unix_paths` LPM map: a prefix of sun_path that is allowed; of a path that is allowed
 * alone, its NUL belongs to the prefix. netns 0: for the namespaces that are not attached, and the
 * sandboxes without a list of their own.
 */
struct capture_unix_key {
	__u32 prefixlen; /* 64 + 8 bits for each byte */
	__u8 netns[8]; /* the cookie's bytes */
	char path[CAPTURE_UNIX_PATH];
};
static_assert(sizeof(struct capture_unix_key) == 120, "ABI");

/* A range that the policy lifts from the refusal by address; the daemon's words to the helper. */
struct capture_opening {
	__u8 ip[16];
	__u8 prefix; /* of 128: an IPv4 /16 is 112 */
	__u8 metadata; /* 1: this very address (prefix 128) may be a metadata address */
	__u16 port_lo;
	__u16 port_hi; /* inclusive */
};
static_assert(sizeof(struct capture_opening) == 22, "ABI");

/* Key and value of the `openings` LPM map: what is open at the most specific prefix. */
struct capture_opening_key {
	__u32 prefixlen; /* 64 + prefix */
	__u8 netns[8]; /* the cookie's bytes */
	__u8 ip[16];
};
static_assert(sizeof(struct capture_opening_key) == 28, "ABI");

struct capture_ports {
	__u16 lo, hi;
	__u32 metadata;
};

struct capture_opened {
	__u32 n;
	struct capture_ports ports[CAPTURE_OPENINGS];
};
static_assert(sizeof(struct capture_opened) == 4 + 8 * CAPTURE_OPENINGS, "ABI");

/* Key and value of the `ranges` LPM map, filled from bpf/ranges.h. */
struct capture_range_key {
	__u32 prefixlen;
	__u8 ip[16];
};
static_assert(sizeof(struct capture_range_key) == 20, "ABI");

struct capture_range {
	__u8 sandbox; /* enum range_class */
	__u8 dialler;
};
static_assert(sizeof(struct capture_range) == 2, "ABI");

/* Key of the `dial_exceptions` map: what the daemon's own sockets may reach whatever its class. */
struct capture_dial_key {
	__u8 ip[16];
	__u16 port;
	__u16 pad; /* 0 */
};
static_assert(sizeof(struct capture_dial_key) == 20, "ABI");

/* The slots of a netns's SOCKMAP, from which sk_lookup takes. */
enum {
	CAPTURE_SLOT_UDP = 0,
	CAPTURE_SLOT_TCP = 1, /* and the CAPTURE_SLOTS - 1 behind it */
	CAPTURE_SLOT_COUNT = CAPTURE_SLOT_TCP + CAPTURE_SLOTS,
};

#endif
