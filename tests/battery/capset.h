/* SPDX-License-Identifier: Apache-2.0 */
/* capset.h – the capabilities that a runtime leaves to its containers, by the battery's names. */
#ifndef SALLYPORT_CAPSET_H
#define SALLYPORT_CAPSET_H

/*
 * full      all that there are, uid 0
 * default   the fourteen of Docker, uid 0
 * noraw     the fourteen without NET_RAW, uid 0
 * none      none, uid 65534, no_new_privs
 * kept      what it is started with
 */
/* Becomes that: user, bounding set, capabilities. 0 or -errno. */
int capset_become(const char *name);

#endif
