/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h – the name server that a sandbox sees, whatever address it asks: UDP on one worker, TCP as a kind of captured
 * connection. What is answered is decided in dns/answers.h by the sandbox's policy.
 */
#ifndef SALLYPORT_PROXY_NAMES_H
#define SALLYPORT_PROXY_NAMES_H

#include <stdint.h>

#include "ring/loop.h"

struct connection;
struct names;
struct seat;

enum {
	NAMES_PORT = 53,
	NAMES_QUERY = 1536, /* bytes of a waiting question's slot */
};

/* Starts to serve the sandbox's UDP sockets in this worker. NULL when memory is out. */
struct names *names_start(struct seat *seat);
/* Asks for the end; seat->names becomes NULL when nothing is in flight any more (worker_seat_check() is called). */
void names_stop(struct names *n);

/* Reads questions of a TCP connection and answers in order. */
void names_stream_step(struct connection *c);
/* The connection is dead: answers that are still looked up are dropped. */
void names_stream_forget(struct connection *c);

/* ---- for the worker */
void names_received(void *worker, union ring_ref ref, int res, uint32_t flags);

#endif
