/* SPDX-License-Identifier: Apache-2.0 */
/* relay.h – moves one exchange's heads and bodies between its two legs. Judges framing, nothing else. */
#ifndef SALLYPORT_PROXY_RELAY_H
#define SALLYPORT_PROXY_RELAY_H

#include <stdbool.h>

#include "model/category.h"

struct exchange;

enum relay_result {
	RELAY_WAIT, /* all that could move has moved */
	RELAY_DONE, /* the response is written to its last byte */
	RELAY_REPEAT, /* the upstream ended it without having acted on the request, which may be sent again */
	RELAY_RESET, /* the upstream broke it off (x->up.code, if it is of HTTP/2): detail */
	RELAY_FAILED, /* the upstream's fault: outcome->category, detail */
	RELAY_BAD_BODY, /* the client's request body is malformed: detail */
	RELAY_GONE, /* the client is gone */
};

struct relay_outcome {
	enum category category;
	const char *detail; /* constant */
	bool moved; /* bytes went in some direction */
};

enum relay_result relay_step(struct exchange *x, struct relay_outcome *ret);

#endif
