/* SPDX-License-Identifier: Apache-2.0 */
/* refuse.h – how a client is told that something was refused: 403 and its kin, with a JSON body and the reason for people. */
#ifndef SALLYPORT_PROXY_REFUSE_H
#define SALLYPORT_PROXY_REFUSE_H

#include <stdbool.h>

#include "base/slice.h"
#include "model/category.h"

struct buf;

struct refusal {
	enum category category;
	const char *why; /* a sentence, never upstream text or a value; may be "" */
	const char *host; /* canonical, "" when there is none */
	const char *rule; /* "" when no rule spoke */
	const char *policy; /* the policy's name */
	const char *name; /* the credential's, or NULL */
	bool head; /* answers HEAD: no body */
	bool plain; /* the client shows text bodies to people (git): the body is the sentence */
};

/* The whole response, which ends the connection. 0 or -errno. */
int refuse_write(const struct refusal *r, struct buf *out);

/* Whether the User-Agent is of a client that prints text/plain bodies of errors. */
bool refuse_wants_plain(struct slice user_agent);

#endif
