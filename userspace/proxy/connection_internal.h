/* SPDX-License-Identifier: Apache-2.0 */
/* connection_internal.h – only for connection.c, and for opening.c, which is its first state. */
#ifndef SALLYPORT_PROXY_CONNECTION_INTERNAL_H
#define SALLYPORT_PROXY_CONNECTION_INTERNAL_H

#include "proxy/connection.h"
#include "tls/engine.h"

/* The only way from state to state; starts the deadline of the new one. */
void connection_to(struct connection *c, enum connection_state state);
/* A ClientHello for c->host is there: goes on with the handshake, or tells a denial by an alert. */
void connection_terminate(struct connection *c, const struct verdict *v);
/* Refused: sends one alert in the clear and ends. */
void connection_alert(struct connection *c, enum tls_alert alert, enum category category,
	const char *rule, const char *reason);

#endif
