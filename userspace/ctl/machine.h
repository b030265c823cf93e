/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h – what the product needs of a machine besides its kernel: users, files, limits, mounts;
 * and what on it is a way around the product. */
#ifndef SALLYPORT_CTL_MACHINE_H
#define SALLYPORT_CTL_MACHINE_H

#include <stddef.h>

struct finding;

extern const size_t machine_count;

/* Answers the question of that number. `state` is the state directory. */
void machine_look(size_t number, const char *state, struct finding *ret);

#endif
