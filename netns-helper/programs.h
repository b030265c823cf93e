/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * programs.h – the cgroup programs and the maps they share: one set for all sandboxes, keyed by
 * netns cookie. Life: open once; for each sandbox attach → set_policy → activate → detach; close.
 *
 * Functions return 0 or -errno and then say in *f which step failed. Nothing here logs.
 */
#ifndef SALLYPORT_NETNS_HELPER_PROGRAMS_H
#define SALLYPORT_NETNS_HELPER_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_opening;
struct capture_verdicts;
struct fault;
struct pins;
struct programs;
struct programs_sandbox;

/* ---- the set */

/*
 * Loads the programs, fills the address classes and pins the readable maps in `pins`, an existing
 * directory on a bpffs of this instance alone: what a helper that was killed left there, and on the
 * cgroups of its sandboxes, is detached and replaced. Until somebody writes the map `outage`, it
 * says `wait`.
 */
int programs_open(const char *pins, struct fault *f, struct programs **ret);
/* What HELLO carries, in this order: the maps events, executables, cgroups, uses, verdicts, closed; borrowed. */
enum { PROGRAMS_SHARED = 6 };
void programs_shared_fds(const struct programs *p, int ret[PROGRAMS_SHARED]);
/* What sk_lookup's programs share with these: the maps sandboxes, verdicts, ranges, hosts, openings, heartbeat, outage, in
 * this order; borrowed. */
enum { PROGRAMS_JUDGE = 7 };
void programs_judge_fds(const struct programs *p, int ret[PROGRAMS_JUDGE]);
/* The maps of bpf/outage.bpf.h; borrowed. */
struct programs_outage_fds {
	int heartbeat, outage;
};
void programs_outage_fds(const struct programs *p, struct programs_outage_fds *ret);
/* The pins, where steer_program_attach() puts its link; borrowed. */
const struct pins *programs_pins(const struct programs *p);
/* Removes the pins and the programs. Every sandbox must be detached. Takes NULL. */
void programs_close(struct programs *p);

/* What this kernel does not take, found by trying; texts for a person. */
struct programs_lack {
	const char *feature, *reason, *remedy;
};
/* The i-th of them from 0 on, borrowed; NULL behind the last. */
const struct programs_lack *programs_missing(const struct programs *p, size_t i);

/*
 * Replaces the host's own addresses (IPv4 v4-mapped), which are refused to every sandbox, by these
 * n ≤ CAPTURE_HOSTS. The new ones come before the old ones go. On failure the old ones hold, and
 * perhaps some of the new.
 */
int programs_set_hosts(struct programs *p, const uint8_t (*hosts)[16], size_t n, struct fault *f);

/*
 * Attaches every program to that cgroup v2 directory, in which nobody is, so that their hooks stay in use. The links in
 * ret, room for that many: the caller's to close, which detaches. How many, or -errno with none.
 */
int programs_hold(const struct programs *p, int cgroup_fd, int *ret, int room, struct fault *f);

/* ---- a sandbox */

struct programs_spec {
	const char *id; /* [A-Za-z0-9_.-], shorter than CAPTURE_ID; copied */
	uint64_t netns_cookie; /* not 0 */
	int cgroup_fd; /* a cgroup v2 directory; borrowed until programs_detach() */
	uint64_t cgroup_id; /* the inode number of that */
	uint8_t own4[16]; /* the sandbox's own addresses, IPv4 v4-mapped */
	uint8_t own6[16]; /* all zero = no IPv6 */
	unsigned mode; /* enum capture_mode */
	bool resolver; /* the container runtime has its resolver at 127.0.0.11 */
	/*
	 * What its unix sockets may connect to: "/a/b/" everything below, "/a/b" this socket alone. At
	 * most CAPTURE_UNIX_PATHS; none: the list of programs_default_unix_paths(). Copied.
	 */
	const char *const *unix_paths;
	size_t nunix_paths;
};

/* The prefixes that hold where none are given, and in namespaces that are not attached. */
const char *const *programs_default_unix_paths(size_t *ret_n);

/*
 * Makes the sandbox's entries and attaches the programs to its cgroup, in this order, so that from
 * the first moment everything but loopback is refused with ENETUNREACH. -EEXIST: the cookie or the
 * id is attached already. -EPERM: a cgroup above has a program that allows no others. -EINVAL: a
 * unix path that is not absolute or has an empty, `.` or `..` part. On failure nothing stays behind.
 */
int programs_attach(struct programs *p, const struct programs_spec *spec, struct fault *f,
	struct programs_sandbox **ret);
/* A new descriptor of the sandbox's flow map (struct capture_flow_key → struct capture_client), to
 * be handed to the daemon; the caller's to close. Or -errno. */
int programs_open_flows(const struct programs_sandbox *s);

/*
 * Notes the policy's digest and replaces the openings by these n ≤ CAPTURE_OPENINGS. Before
 * activation or later. The old openings go before the new ones come: a change never opens more than
 * either says. -EINVAL: a prefix over 128, an upside-down port range, a metadata opening of more
 * than one address.
 */
int programs_set_policy(struct programs_sandbox *s, const uint8_t digest[32],
	const struct capture_opening *openings, size_t n, struct fault *f);

/* Replaces the addresses of the uplink, n ≤ CAPTURE_LOCALS, which pass like the own ones. */
int programs_set_locals(
	struct programs_sandbox *s, const uint8_t (*locals)[16], size_t n, struct fault *f);

/* From now on the address classes decide. */
int programs_activate(struct programs_sandbox *s, struct fault *f);
/* Back to the state before: everything but loopback is refused. -errno: it stays active. */
int programs_deactivate(struct programs_sandbox *s);

/*
 * Whether every program is still attached to the cgroup. -ENOENT names one that is not: somebody has detached it, or the
 * cgroup was removed.
 */
int programs_verify(const struct programs_sandbox *s, struct fault *f);
/* Attaches again what programs_verify() finds missing. 0 or -errno. */
int programs_repair(struct programs_sandbox *s);

/* The sandbox's counters as they are now. */
int programs_counters(const struct programs_sandbox *s, struct capture_verdicts *ret);

/*
 * Before programs_detach(): the sandbox's counters stay until programs_forget_account(), for who reads them when it is
 * gone. What to give that; NULL, which it takes, where there are none.
 */
struct programs *programs_leave_account(struct programs_sandbox *s);
void programs_forget_account(struct programs *p, uint64_t netns);

/*
 * Makes the sandbox's entry inactive (from then on the programs refuse everything but loopback), removes the
 * programs, the entries and the pins. Frees s. Takes NULL.
 */
void programs_detach(struct programs_sandbox *s);

#endif
