/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket.h – HTTP/1.1 with JSON answers over a unix socket, on the control thread's loop. One
 * request a connection. What can be asked is a table (commands.h); here are connections, peers,
 * heads and errors.
 */
#ifndef SALLYPORT_CONTROL_SOCKET_H
#define SALLYPORT_CONTROL_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/slice.h"

struct control;
struct json;
struct loop;

enum {
	CONTROL_CONNECTIONS = 32, /* more wait in the backlog */
	CONTROL_DEADLINE = 10000, /* milliseconds, from accept to the last byte of the answer */
	CONTROL_ANSWER = 4 << 20, /* bytes of one answer */
	CONTROL_CGROUP = 4096, /* a cgroup's path, with NUL */
};

struct control_request {
	struct slice path; /* without the query */
	struct slice query; /* behind '?', empty if there is none */
	struct slice item; /* what {…} of the pattern stands for */
};

/*
 * Writes one JSON value and returns the HTTP status. For a status of 400 and more it writes
 * nothing, and the client gets {"error": …} in the words of the status.
 */
typedef unsigned (*control_handler)(
	const void *source, const struct control_request *request, struct json *answer);

struct control_route {
	const char *method;
	const char *pattern; /* "/v1/sandboxes/{id}": a last segment in braces stands for any one
				segment */
	control_handler handler;
	const char *help;
	bool root; /* root alone may call it, whoever may connect; the others get 403 */
};

struct control_setup {
	struct loop *loop;
	int listener; /* by control_listen(); taken over, closed by control_free() */
	const struct control_route *routes;
	unsigned nroutes;
	const void *source; /* given to the handlers */
	/*
	 * Asked before a byte of the peer is read. netns is the cookie of the network namespace in
	 * which the peer's socket was made, cgroup the peer's path in the cgroup v2 hierarchy as
	 * /proc/PID/cgroup has it ("/a/b"). true closes the connection. A peer of whom one of them
	 * cannot be had is refused without asking. May be NULL.
	 */
	bool (*refuse_peer)(void *arg, pid_t pid, uid_t uid, uint64_t netns, const char *cgroup);
	void *refuse_arg;
};

/*
 * Binds and listens at the path with mode 0660 and that group ((gid_t)-1 leaves it). A socket that
 * nobody listens on is replaced. A descriptor, -EADDRINUSE when somebody listens there, or another
 * -errno.
 */
int control_listen(const char *path, gid_t group);

/* Starts to accept. 0 or -errno; on failure the listener stays the caller's. */
int control_new(const struct control_setup *setup, struct control **ret);
/* Ends all connections. Not from inside a handler. NULL is allowed. */
void control_free(struct control *c);

#endif
