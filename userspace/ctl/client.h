/* SPDX-License-Identifier: Apache-2.0 */
/* client.h – one GET over the daemon's control socket. */
#ifndef SALLYPORT_CTL_CLIENT_H
#define SALLYPORT_CTL_CLIENT_H

#include "base/fault.h"

struct buf;

enum { CLIENT_ANSWER = 16 << 20 }; /* bytes of an answer, at most */

/*
 * Asks STATE/control.sock for the path. The whole answer's body is put into ret (empty, with room
 * for CLIENT_ANSWER). Returns the HTTP status, or -errno with the fault set, which also says what
 * to do.
 */
int client_get(const char *state, const char *path, struct fault *fault, struct buf *ret);

#endif
