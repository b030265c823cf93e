/* SPDX-License-Identifier: Apache-2.0 */
/* listener.h – from an accepted descriptor to who connected and where to. */
#ifndef SALLYPORT_CAPTURE_LISTENER_H
#define SALLYPORT_CAPTURE_LISTENER_H

#include <stdbool.h>

#include "bpf/capture.h"
#include "model/addr.h"

struct flows;

struct captured {
	struct addr asked; /* the destination that the program asked for */
	struct addr peer; /* the program's own end */
	bool attributed;
	struct capture_client client; /* if attributed */
};

/*
 * Reads both ends of the socket and the flow record (flow_map -1: there are none). 0; -ELOOP when the program connected to a listener of ours itself
 * (a loopback destination: nothing asked for can be one), with *ret filled for the record; -errno when the socket is gone
 * already.
 * #syscalls: getsockname getsockopt
 */
int listener_captured(int fd, const struct flows *flows, struct captured *ret);

#endif
