/* SPDX-License-Identifier: Apache-2.0 */
/* refuse.h – how a client is told that something was refused: 403 and its kin, with a JSON body and the reason for people. */
#ifndef SALLYPORT_PROXY_REFUSE_H
#define SALLYPORT_PROXY_REFUSE_H

#include <stdbool.h>

#include "base/buf.h"
#include "model/category.h"
#include "model/msg.h"

struct refusal {
	enum category category;
	const char *why; /* a sentence, never upstream text or a value; may be "" */
	const char *host; /* canonical, "" when there is none */
	const char *rule; /* "" when no rule spoke */
	const char *policy; /* the policy's name */
	const char *name; /* the credential's, or NULL */
	bool head; /* answers HEAD: no body */
	bool plain; /* the client shows text bodies to people (git): the body is the sentence */
	bool grpc; /* the client reads a gRPC status and nothing else */
	bool h2; /* there a host that is not the connection's is 421 (RFC 9113 section 9.1.2) */
};

enum { REFUSE_MESSAGE = 768 };

/* A response. The slices of msg are borrowed from this struct; body is empty where there is none. */
struct refused {
	struct msg msg;
	struct buf body;
	char message[REFUSE_MESSAGE], encoded[3 * REFUSE_MESSAGE];
	char length[12];
};

/* 0, or -ENOMEM. refuse_done() in any case. */
int refuse_make(const struct refusal *r, struct refused *ret);
void refuse_done(struct refused *r);

/* The whole response in HTTP/1, which ends the connection. 0 or -errno. */
int refuse_write(const struct refusal *r, struct buf *out);

/* Whether the User-Agent is of a client that prints text/plain bodies of errors. */
bool refuse_wants_plain(struct slice user_agent);

#endif
