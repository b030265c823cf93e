/* SPDX-License-Identifier: Apache-2.0 */
/* show.h – a JSON answer for a person: members as lines, a list of maps as a table. */
#ifndef SALLYPORT_CTL_SHOW_H
#define SALLYPORT_CTL_SHOW_H

#include <stdio.h>

#include "base/fault.h"
#include "base/slice.h"

/* Prints the answer. 0, or -EBADMSG with the fault set when it is not JSON. */
int show_answer(struct slice json, FILE *to, struct fault *fault);

/* error.message and error.hint of a refusal, or "" each; at most n bytes. */
void show_error(struct slice json, char *ret, unsigned n);

#endif
