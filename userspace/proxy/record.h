/* SPDX-License-Identifier: Apache-2.0 */
/* record.h – the audit events of the data path: filled here, handed over by the worker's journal. */
#ifndef SALLYPORT_PROXY_RECORD_H
#define SALLYPORT_PROXY_RECORD_H

#include "audit/event.h"

struct capture_client;
struct connection;
struct exchange;
struct host;
struct seat;

/* Who, by the kernel's record. */
void record_client(struct audit_client *to, const struct capture_client *from);

/* The connection is over. Loopback housekeeping that never said anything is recorded like everything else. */
void record_connection(const struct connection *c);

/* The request's event, filled as far as it is known when the head has been judged; record_request() completes it. */
/* The target that the client named in a form for proxies. */
void record_target(struct audit_event *e, const struct host *host, uint16_t port);

void record_request_start(struct exchange *x);
void record_request(struct exchange *x);

/*
 * An accepted descriptor is not served, since there are too many: "limit". One event a second for each sandbox and
 * worker; all are counted.
 */
void record_limit(struct seat *seat, int fd, const char *what);
/* The same for a request of HTTP/2, one more than there may be at once. */
void record_limit_request(const struct connection *c);
/* The same for a name that gets no synthetic address, since the sandbox has all that it may have. */
void record_limit_name(struct seat *seat, const struct host *host, bool tcp);

#endif
