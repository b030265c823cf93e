/* SPDX-License-Identifier: Apache-2.0 */
/* fault.h – why a document or a request was not accepted, in words for a person, with the place. */
#ifndef SALLYPORT_FAULT_H
#define SALLYPORT_FAULT_H

struct fault {
	char text[512]; /* "FILE:LINE:COLUMN: what is wrong (what to do)"; empty = nothing wrong */
};

/* Writes the text, control bytes escaped, and returns r (a negative errno). The first fault wins: a second is dropped.
 * Without a fault (NULL) there are no words, only r. */
int fault_set(struct fault *f, int r, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
