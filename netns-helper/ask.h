/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ask.h – one request to helper.sock and its answer (proto.h), for whoever asks. */
#ifndef SALLYPORT_ASK_H
#define SALLYPORT_ASK_H

#include <stddef.h>

#include "netns-helper/proto.h"

#include "base/fault.h"

/* A connection, or -errno with what to do: -ECOMM when no helper answers, -EACCES when only root may. */
int ask_connect(const char *state, struct fault *fault);

/*
 * Sends size bytes and nfds descriptors; the answer has n bytes, of which the first are a proto_reply, and the
 * descriptors that got (room for *ngot; may be NULL) takes. 0; -ECOMM with the reason when there was no proper answer;
 * what the helper refused it with, in its words.
 */
int ask(int sock, const void *request, size_t size, const int *fds, size_t nfds,
	struct proto_reply *reply, size_t n, int *got, size_t *ngot, struct fault *fault);

#endif
