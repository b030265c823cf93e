/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * programs.h – the cgroup programs (connect, sendmsg, sockops) and the maps they share: one set for
 * all sandboxes, keyed by netns cookie. Life: open once; for each sandbox attach → set_policy →
 * activate → detach; close.
 *
 * Functions return 0 or -errno and then say in *f which step failed. Nothing here logs.
 */
#ifndef SALLYPORT_NETNS_HELPER_PROGRAMS_H
#define SALLYPORT_NETNS_HELPER_PROGRAMS_H

#include <stddef.h>
#include <stdint.h>

struct capture_opening;
struct fault;
struct programs;
struct programs_sandbox;

/*
 * Loads the programs, fills the address classes and pins the readable maps in `pins`, an existing
 * directory on a bpffs of this instance alone: what a helper that was killed left there is
 * replaced.
 */
int programs_open(const char *pins, struct fault *f, struct programs **ret);
/* What HELLO carries, in this order: the maps events, executables, cgroups, uses, verdicts; borrowed. */
enum { PROGRAMS_SHARED = 5 };
void programs_shared_fds(const struct programs *p, int ret[PROGRAMS_SHARED]);
/* Removes the pins and the programs. Every sandbox must be detached. Takes NULL. */
void programs_close(struct programs *p);

struct programs_spec {
	const char *id; /* [A-Za-z0-9_.-], shorter than CAPTURE_ID; copied */
	uint64_t netns_cookie; /* not 0 */
	int cgroup_fd; /* a cgroup v2 directory; borrowed, and only during the call */
	uint8_t own4[16]; /* the sandbox's own addresses, IPv4 v4-mapped */
	uint8_t own6[16]; /* all zero = no IPv6 */
	unsigned mode; /* enum capture_mode */
};

/*
 * Makes the sandbox's entries and attaches the programs to its cgroup, in this order, so that from
 * the first moment everything but loopback is refused with ENETUNREACH. -EEXIST: the cookie or the
 * id is attached already. -EPERM: a cgroup above has a program that allows no others. On failure
 * nothing stays behind.
 */
int programs_attach(struct programs *p, const struct programs_spec *spec, struct fault *f,
	struct programs_sandbox **ret);
/* The sandbox's flow map (struct capture_flow_key → struct capture_client); borrowed, to be handed
 * to the daemon. */
int programs_flows_fd(const struct programs_sandbox *s);

/*
 * Notes the policy's digest and replaces the openings by these n ≤ CAPTURE_OPENINGS. Before
 * activation or later. The old openings go before the new ones come: a change never opens more than
 * either says. -EINVAL: a prefix over 128, an upside-down port range, a metadata opening of more
 * than one address.
 */
int programs_set_policy(struct programs_sandbox *s, const uint8_t digest[32],
	const struct capture_opening *openings, size_t n, struct fault *f);

/* From now on the address classes decide. */
int programs_activate(struct programs_sandbox *s, struct fault *f);

/*
 * Removes the sandbox's entry (from then on the programs refuse everything but loopback), the
 * programs, the other entries and the pin. Frees s. Takes NULL.
 */
void programs_detach(struct programs_sandbox *s);

#endif
