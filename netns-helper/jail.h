/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jail.h – the seccomp filter of a program in a sandbox: against what neither the netns nor the BPF
 * hooks confine. */
#ifndef SALLYPORT_JAIL_H
#define SALLYPORT_JAIL_H

#include <stdbool.h>

/* Whether this machine has a vsock transport, so that io_uring, which walks past a filter on
 * socket(2), is refused. */
bool jail_vsock(void);

/* Loads the filter for the calling thread and its descendants, and sets no_new_privs. 0 or -errno.
 */
int jail_load(bool refuse_io_uring);

#endif
