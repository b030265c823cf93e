/* SPDX-License-Identifier: Apache-2.0 */
/* opening.h – what a new connection is: TLS or HTTP to be judged, raw bytes, or refused. See opening.c. */
#ifndef SALLYPORT_PROXY_OPENING_H
#define SALLYPORT_PROXY_OPENING_H

#include "model/verdict.h"

struct connection;
struct host;

/* Its destination is known and no byte is: a tunnel at once, or a deadline for its first bytes. */
void opening_route(struct connection *c);
/* Looks at what has come; may move the connection on from CONNECTION_NEW. */
void opening_step(struct connection *c);
/* The deadline of CONNECTION_NEW has passed. */
void opening_expired(struct connection *c);

/* What policy and credentials now say of a connection to that host, at the port that was asked for. */
struct verdict opening_judge(const struct connection *c, const struct host *h);

#endif
