/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hook_ask.h – what the hook asks of helper and daemon. Each call is a connection of its own and waits for at most
 * HOOK_ASK_SECONDS. All: 0, or -errno with the reason for a person; -ECOMM when nobody answers. */
#ifndef SALLYPORT_HOOK_ASK_H
#define SALLYPORT_HOOK_ASK_H

#include <stdint.h>

#include "netns-helper/proto.h"

#include "base/fault.h"

enum { HOOK_ASK_SECONDS = 30 }; /* the daemon alone has PROTO_REPLY_MS */

/* fds: network namespace, cgroup directory, policy. */
int hook_ask_attach(const char *state, const struct proto_attach *request, const int fds[3],
	struct fault *fault);
int hook_ask_release(const char *state, uint64_t owner, struct fault *fault);
int hook_ask_degraded(const char *state, const struct proto_note *note, struct fault *fault);
/* The daemon makes the handout of a sandbox that will be attached. */
int hook_ask_prepare(const char *state, const char *id, struct fault *fault);

#endif
