/* SPDX-License-Identifier: Apache-2.0 */
/* check.h – `policy check`: reads a policy as the daemon would and answers for one host. */
#ifndef SALLYPORT_CTL_CHECK_H
#define SALLYPORT_CTL_CHECK_H

#include <stdbool.h>

struct check_request {
	const char *file; /* "-" = standard input */
	const char *host; /* HOST[:PORT], or NULL */
	const char *method; /* or NULL: the connection */
	bool json;
};

/* Prints the answer; faults and warnings go to standard error. Returns the exit status: 0, 1, 2, or
 * 3 for a denial. */
int check_policy(const struct check_request *request);

#endif
