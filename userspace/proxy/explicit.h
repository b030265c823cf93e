/* SPDX-License-Identifier: Apache-2.0 */
/* explicit.h – clients that believe in a proxy: CONNECT and absolute-form in plain text. See explicit.c. */
#ifndef SALLYPORT_PROXY_EXPLICIT_H
#define SALLYPORT_PROXY_EXPLICIT_H

#include <stdbool.h>
#include <stddef.h>

#include "proxy/decide.h"

struct connection;
struct exchange;

/* What is known of the connection, for the judgement of its next head. Borrowed from it. */
struct decide_facts explicit_facts(const struct connection *c);

/*
 * A head of `used` bytes has come. True when it was a CONNECT that may be: it is answered and consumed, and the
 * connection begins anew at its target, perhaps with bytes that came behind the head. False for every other head.
 */
bool explicit_connect(struct connection *c, const struct msg *m, size_t used);

/* The head of an exchange has been judged: what that says of the client, and the target for the record. */
void explicit_judged(struct exchange *x, const struct decision *d);

#endif
