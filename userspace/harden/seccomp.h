/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp.h – what each kind of thread may ask of the kernel from now on. Anything else ends the process: it can only be an
 * attacker or a mistake. What a ring does is restricted by the ring itself (ring/loop.c), since a filter cannot see it.
 * In a SAN=1 build these do nothing, for the sanitizers need more.
 */
#ifndef SALLYPORT_HARDEN_SECCOMP_H
#define SALLYPORT_HARDEN_SECCOMP_H

/* For the calling thread. 0 or -errno. */
int seccomp_worker(void);
int seccomp_control(void);

#endif
