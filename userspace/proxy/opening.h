/* SPDX-License-Identifier: Apache-2.0 */
/* opening.h – what a new connection is: TLS or HTTP to be judged, raw bytes, or refused. See opening.c. */
#ifndef SALLYPORT_PROXY_OPENING_H
#define SALLYPORT_PROXY_OPENING_H

#include <stdint.h>

#include "model/verdict.h"

struct connection;
struct host;

/* Where it was made to is known and no byte is: a tunnel at once, or a deadline for its first bytes. */
void opening_begin(struct connection *c);
/* The same again, once, as if it had been made to that host and port: its CONNECT has been answered. */
void opening_again(struct connection *c, const struct host *host, uint16_t port);
/* Looks at what has come; may move the connection on from CONNECTION_NEW. */
void opening_step(struct connection *c);
/* The deadline of CONNECTION_NEW has passed. */
void opening_expired(struct connection *c);

/* What policy and credentials now say of a connection to that host, at the port where the client wants to be. */
struct verdict opening_judge(const struct connection *c, const struct host *h);

#endif
