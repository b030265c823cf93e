/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * steer.h – the numbers that stand in sk_lookup's instructions in place of those of a netns, until the helper
 * (netns-helper/steer_program.c) has put these there. Each a load of 64 bits, and nobody's cookie.
 */
#ifndef SALLYPORT_BPF_STEER_H
#define SALLYPORT_BPF_STEER_H

#define STEER_NETNS  0x73616c6c79000001 /* the netns cookie */
#define STEER_NSLOTS 0x73616c6c79000002 /* listeners, 1 … CAPTURE_SLOTS */

#endif
