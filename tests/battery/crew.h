/* SPDX-License-Identifier: Apache-2.0 */
/* crew.h – the program's other ways to be started, beside running the attempts. */
#ifndef SALLYPORT_CREW_H
#define SALLYPORT_CREW_H

#include <stddef.h>

#include "tests/battery/attempt.h"

/* outsider.c: serves descriptors and relays on unix sockets, outside; its exit status */
int outsider(int argc, char **argv);

/* methods.c: a fresh program image that dials ADDRESS PORT TOKEN; 0 or the errno as status */
int methods_dial(int argc, char **argv);

/* scene.c: KEY=VALUE words into the scene; 0 or -EINVAL, said on stderr */
int scene_parse(int argc, char **argv, struct scene *ret);

#endif
