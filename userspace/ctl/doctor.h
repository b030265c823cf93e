/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.h – `doctor`: tries what the product needs of this machine, and says what is missing. */
#ifndef SALLYPORT_CTL_DOCTOR_H
#define SALLYPORT_CTL_DOCTOR_H

#include <stdbool.h>

struct doctor_request {
	const char *state; /* the state directory */
	const char *lane; /* "auto", "bpf", "nft"; NULL = "auto" */
	const char *mode; /* "sealed", "uplink"; NULL = "sealed" */
	const char *probes; /* directory; NULL = where they belong */
	bool json;
};

/*
 * Prints a line for each finding and what follows from them. Returns the exit status: 0, 1 when
 * something required is missing, 2 for a wrong request, 3 when nothing is known to be missing and
 * something required could not be tried.
 */
int doctor_run(const struct doctor_request *request);

#endif
