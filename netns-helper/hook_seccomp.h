/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hook_seccomp.h – whether a container's seccomp filter (runtime-spec, linux.seccomp) closes the ways around its network
 * namespace: those that jail.c closes for the launcher. */
#ifndef SALLYPORT_HOOK_SECCOMP_H
#define SALLYPORT_HOOK_SECCOMP_H

#include <stdbool.h>
#include <stddef.h>

struct json_t;

/*
 * Writes into ret what gets through, as words for a person, "" for nothing. NULL is no filter. Whatever is not understood
 * counts as letting through. vsock: the machine has a way out that io_uring leads to (jail.h).
 */
void hook_seccomp_open(struct json_t *seccomp, bool vsock, char *ret, size_t size);

#endif
