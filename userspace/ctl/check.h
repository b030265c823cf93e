/* SPDX-License-Identifier: Apache-2.0 */
/* check.h – `policy check` and `credentials check`: read a document as the daemon would, say what is
 * wrong with it or unusual in it, and what a policy says about one host. */
#ifndef SALLYPORT_CTL_CHECK_H
#define SALLYPORT_CTL_CHECK_H

#include <stdbool.h>

struct check_request {
	const char *file; /* "-" = standard input */
	const char *host; /* HOST[:PORT], or NULL */
	const char *method, *path; /* or NULL: any; both: the connection */
	const char *policy; /* file of a policy that must open the bindings, or NULL */
	bool json;
};

/* Prints the answer; faults and warnings go to standard error. Returns the exit status: 0, 1, 2, or
 * 3 for a denial. */
int check_policy(const struct check_request *request);

/* Reads the document and its sources, as root. Returns the exit status: 0 or 1. */
int check_credentials(const struct check_request *request);

#endif
