/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_internal.h – only for exchange.c and exchange_start.c, which takes a request from its head to the upstream. */
#ifndef SALLYPORT_PROXY_EXCHANGE_INTERNAL_H
#define SALLYPORT_PROXY_EXCHANGE_INTERNAL_H

#include "proxy/exchange.h"

struct exchange_refusal {
	enum category category;
	const char *why; /* for the client */
	const char *rule; /* NULL = none spoke */
	const char *credential; /* NULL = not about one */
	const char *reason; /* for the record, NULL = none */
};

/* Tells the client, and ends the exchange once that is written. */
void exchange_refuse(struct exchange *x, const struct exchange_refusal *why);
void exchange_refuse_plain(struct exchange *x, enum category category, const char *why);
/* The upstream's fault, or a limit of ours: refuses, or breaks off a response that the client has a part of. */
void exchange_fail(struct exchange *x, enum category category, const char *detail);
void exchange_deadline(struct exchange *x, uint64_t ms);

/* Judges the head, puts the credentials in, asks for a connection; or refuses. */
void exchange_start(struct exchange *x, const struct msg *m);
/* Asks for a connection; fresh = not one from the pool. Fails when there is none to be had. */
void exchange_connect(struct exchange *x, bool fresh);

#endif
