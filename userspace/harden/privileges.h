/* SPDX-License-Identifier: Apache-2.0 */
/* privileges.h – from root to a user who can do nothing, for good. Before the first thread is made. */
#ifndef SALLYPORT_HARDEN_PRIVILEGES_H
#define SALLYPORT_HARDEN_PRIVILEGES_H

#include <sys/types.h>

/* No core file, and as many descriptors as the hard limit lets us have. 0 or -errno. */
int privileges_limits(void);

/*
 * Takes the uid and gid, with no other groups, empties all capability sets, sets no_new_privs and forbids dumps and
 * ptrace (a SAN=1 build stays dumpable, or the leak checker cannot run). Verified afterwards. 0 or -errno.
 */
int privileges_drop(uid_t uid, gid_t gid);

#endif
