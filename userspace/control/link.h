/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.h – the daemon's end of link.sock (netns-helper/proto.h): what the helper offers and withdraws. Connects, and connects
 * again when the helper comes back. On the control thread.
 */
#ifndef SALLYPORT_CONTROL_LINK_H
#define SALLYPORT_CONTROL_LINK_H

#include <stddef.h>

#include "netns-helper/proto.h"

struct link;
struct loop;

enum {
	LINK_RETRY = 250, /* milliseconds between attempts to connect */
	LINK_MAPS = 6,
	LINK_HELLO_FDS = 1 + LINK_MAPS,
};
enum link_map {
	LINK_EVENTS,
	LINK_EXECUTABLES,
	LINK_CGROUPS,
	LINK_USES,
	LINK_VERDICTS,
	LINK_CLOSED
};

struct link_events {
	/*
	 * The helper is there: to be answered by link_dialler(). The descriptor of the heartbeat's memory changes owner, and
	 * with maps those: in the order of proto.h; NULL = the helper has no BPF.
	 */
	void (*hello)(void *arg, const struct proto_hello *hello, int heartbeat,
		const int maps[LINK_MAPS]);
	/* The descriptors, in the order of proto.h, change owner. To be answered by link_active(). */
	void (*offer)(void *arg, const struct proto_offer *offer, const int *fds, size_t nfds);
	/* To be answered by link_gone() when nothing of the sandbox is left. */
	void (*withdraw)(void *arg, const char *id);
	/* A feature of the sandbox (id "": of the machine) is degraded; reason "": is whole again. */
	void (*note)(void *arg, const struct proto_note *note);
	/* What was offered is ours now: another daemon has handed it over. */
	void (*serve)(void *arg);
	/* Another daemon takes over. To be answered by link_draining() when nothing is accepted any more. */
	void (*drain)(void *arg);
	/* The helper is gone. Attempts to connect have begun. */
	void (*lost)(void *arg);
};

/* Tries to connect at once and goes on trying. 0 or -errno. The path is borrowed. */
int link_new(struct loop *loop, const char *path, const struct link_events *events, void *arg,
	struct link **ret);
/* Hangs up, and tries no more. NULL is allowed. */
void link_close(struct link *l);
void link_free(struct link *l);

/* Sends; the text of a failed send goes to the log, since then the link is lost anyway. */
void link_dialler(struct link *l, const struct proto_dialler *dialler);
void link_active(struct link *l, const struct proto_active *active);
void link_gone(struct link *l, const char *id);
/* With the seconds that its end may take, at most PROTO_DRAIN_MOST. */
void link_draining(struct link *l, uint32_t seconds);

#endif
