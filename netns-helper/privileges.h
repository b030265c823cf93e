/* SPDX-License-Identifier: GPL-2.0-or-later */
/* privileges.h – what the two kinds of process of this program let go of, in named stages. */
#ifndef SALLYPORT_PRIVILEGES_H
#define SALLYPORT_PRIVILEGES_H

#include <sys/types.h>

/*
 * The helper, once its sockets are bound: keeps the few capabilities that attaching needs (of those
 * that it has), loses the others for good, also for what it might execute. 0 or -errno.
 */
int privileges_serve(void);

/*
 * The program in a sandbox: the user and its groups, no capability (for uid 0 neither, also not by
 * executing), and no_new_privs. 0 or -errno.
 */
int privileges_sandbox(const char *user, uid_t uid, gid_t gid);

#endif
