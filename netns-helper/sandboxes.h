/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandboxes.h – all sandboxes of this helper and where each is in its life. What is owed to the
 * daemon (an offer, a withdrawal) is noted here; daemon_link.c sends it. Who waits for an outcome
 * leaves a function to be told by.
 */
#ifndef SALLYPORT_SANDBOXES_H
#define SALLYPORT_SANDBOXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netns-helper/attach.h"
#include "netns-helper/lane.h"
#include "netns-helper/loop.h"
#include "netns-helper/notes.h"
#include "netns-helper/proto.h"

struct loop;
struct prober;
struct selftest;

enum sandbox_state {
	SANDBOX_OFFERED, /* in the kernel, inactive; the daemon's answer is awaited until the
			    deadline */
	SANDBOX_ACTIVE, /* lets through */
	SANDBOX_LEAVING, /* out of the kernel; the daemon's copies and its processes are awaited
			    until the deadline */
	SANDBOX_GONE, /* freed by the next sandboxes_tick() */
};

/* Told once: that an attach succeeded or failed, or that a detach is complete. error is 0 or
 * -errno. */
struct sandbox_listener {
	void (*tell)(void *who, int error, const char *text);
	void *who;
};

/* What one daemon has been told of a sandbox, and owes an answer to. */
struct sandbox_word {
	bool offer_due; /* to be sent */
	bool withdraw_due; /* to be sent */
	bool answer_owed; /* it has an OFFER that it has not answered */
	bool known; /* it has had an OFFER and no GONE came: a detach withdraws it */
};

struct sandbox {
	struct sandbox *next;
	struct attachment *attachment; /* owned */
	enum sandbox_state state;
	uint64_t deadline_ms; /* of OFFERED and LEAVING, monotonic */
	struct sandbox_listener asked; /* who waits for the attach */
	struct sandbox_listener asked_end; /* who waits for the detach */
	struct sandbox_listener holder; /* whose connection it lives by: told when it is gone */
	struct sandbox_word words[PROTO_DAEMONS]; /* by the daemon's slot */
	bool kill; /* its processes end with it */
	bool own_cgroup; /* its cgroup is removed with it */
	uint64_t owner; /* not 0: a container's (containers.h) */
	bool strict; /* what would be degraded fails its attach */
	bool proving; /* the attach waits for the first self-test */
	bool closed; /* the last self-test was bad: all but loopback is refused */
	struct selftest *selftest; /* owned: one that runs; NULL = none */
	uint64_t proof_ms; /* when the next begins, monotonic */
	bool hosts_due; /* its table has the host's addresses of before */
	uint64_t outage_ms; /* not before is its table told again whether a daemon serves */
	bool daemon_failed; /* the daemon refused it on a later offer */
	uint8_t digest[32];
	struct capture_opening *openings; /* owned: what its policy opens */
	size_t nopenings;
	struct sandboxes *all; /* borrowed: those that it is one of */
	struct loop_source addresses; /* of its uplink; fd -1 = has none */
	struct notes notes; /* told to the daemon once it has the OFFER */
};

struct sandboxes {
	struct sandbox *first;
	size_t count;
	struct loop *loop; /* borrowed, like the next four */
	const struct lane_bpf *bpf;
	struct dialler *dialler; /* NULL without BPF */
	const struct hosts_list *hosts; /* the host's own addresses */
	struct prober *prober;
	uint64_t hosts_ms; /* not before this is a table that refused the addresses asked again */
	uint64_t proof_ms; /* no self-test begins before */
	uint64_t containers_ms; /* nor is any container looked at */
	bool linked[PROTO_DAEMONS]; /* a daemon is connected that is offered sandboxes */
	unsigned int overdue[PROTO_DAEMONS]; /* sandboxes that ended before it had let go of them */
	bool unheard
		[PROTO_DAEMONS]; /* … before it could even be told: it must be offered all anew */
	int serving; /* the slot of the one that serves; -1 = none */
	pid_t daemon; /* … its pid, or 0 */
	pid_t settled; /* the same, once it has taken all that is active */
	struct notes notes; /* about the machine */
};

/* What to do when sallyportd is not connected, for a person. */
extern const char sandboxes_no_daemon[];

void sandboxes_init(struct sandboxes *s, struct loop *loop, const struct lane_bpf *bpf,
	struct dialler *dialler, const struct hosts_list *hosts, struct prober *prober);

/* The sandbox of that id that is not GONE, or NULL. */
struct sandbox *sandboxes_find(const struct sandboxes *s, const char *id);

/* The one with the least id above `after` ("" = the least of all), or NULL: for listing. */
struct sandbox *sandboxes_after(const struct sandboxes *s, const char *after);

const char *sandboxes_state_name(enum sandbox_state state);

/*
 * Makes one, which is then OFFERED; `asked` will be told the outcome. Refused at once, with *fault:
 * an id or a namespace that is attached, overlapping cgroups, no daemon, LIMIT_SANDBOXES, and what
 * attach_begin() refuses.
 */
int sandboxes_attach(struct sandboxes *s, const struct attach_spec *spec,
	struct sandbox_listener asked, struct fault *fault, struct sandbox **ret);

/*
 * Takes it out of the kernel and begins to wait for the rest; who waited for an attach is told
 * error and text. Of one that is LEAVING already only the listener, if there is one,
 * is replaced.
 */
void sandboxes_end(struct sandboxes *s, struct sandbox *sandbox, int error, const char *text,
	struct sandbox_listener ended);

/* Who is gone is not told. */
void sandboxes_forget_listener(struct sandboxes *s, const void *who);

/*
 * A daemon came, in that slot. It is offered what is attached (not yet what waits for another's answer: that
 * follows); new attaches are for the one that serves.
 */
void sandboxes_link_up(struct sandboxes *s, unsigned int slot);
/* From now on it is the one that serves. */
void sandboxes_serve(struct sandboxes *s, unsigned int slot, pid_t daemon);
/* It is offered nothing more, and still told withdrawals. */
void sandboxes_link_drains(struct sandboxes *s, unsigned int slot);
/* It went. */
void sandboxes_link_down(struct sandboxes *s, unsigned int slot);
/* Whether there is one that is offered sandboxes; whether one has an offer of this one that it has not given back. */
bool sandboxes_linked(const struct sandboxes *s);
bool sandboxes_known(const struct sandbox *sandbox);
/* The daemon that serves has taken it: if it was closed since one had not, its next self-test, which is due, opens it. */
void sandboxes_served(struct sandbox *sandbox);
/* Whether it owes an answer about a sandbox that is active, or has not been offered one. */
bool sandboxes_owed(const struct sandboxes *s, unsigned int slot);

/* A sandbox ends, whatever the daemons still hold of it: what they say of it later is no surprise. */
void sandboxes_wait_no_more(struct sandboxes *s, const struct sandbox *sandbox);

/* What the daemon said. -EPROTO when that was not its turn to say. */
int sandboxes_active(struct sandboxes *s, unsigned int slot, const struct proto_active *active);
int sandboxes_gone(struct sandboxes *s, unsigned int slot, const char *id);

/*
 * Notes a feature that is degraded, of the sandbox of that id or ("") of the machine; with reason "" it is
 * whole again. Told to the daemon by the next daemon_link_pump(), and to each that follows it. An id
 * that is not attached is passed over.
 */
void sandboxes_note(struct sandboxes *s, const char *id, const char *feature, const char *reason,
	const char *remedy);
/* The outcome of the first self-test: told to who asked for the attach; an error ends the sandbox. */
void sandboxes_attached(struct sandboxes *s, struct sandbox *sandbox, int error, const char *text);
/* Frees what the machine's notes hold. Every sandbox must be GONE. */
void sandboxes_done(struct sandboxes *s);

/* Deadlines, ends. Returns the milliseconds until it wants to be called again, -1 = no limit. */
int sandboxes_tick(struct sandboxes *s);

/*
 * Whether the peer of an accepted unix socket, a process of that pid, belongs to a sandbox: it lies
 * in its cgroup, or the socket was made in its network namespace (an accepted socket is in that of
 * the one who connected), as by a process that a runtime put there without the cgroup.
 */
bool sandboxes_hold(const struct sandboxes *s, int sock, pid_t pid);

#endif
