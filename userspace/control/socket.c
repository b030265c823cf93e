/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket.c – the control socket, see socket.h.
 *
 * Owns: the listener and a fixed number of connections, which live in an array: nothing is
 * allocated for a connection but its two buffers. A connection moves IDLE → READING → WRITING →
 * IDLE; every way out goes through control_close().
 *
 * Steps: accept; ask who the peer is, before a byte of it is read; read one head; find the route;
 * let it write JSON; send; close. A body is not taken, since no call of this version has one. While
 * all connections are in use, or the process is out of descriptors, the listener is not watched and
 * peers wait in the backlog.
 *
 * Who may connect is decided by the socket's mode and group, and what changes anything is root's alone. The check of the peer's cgroup and
 * network namespace comes on top of it, and holds for root as well: a process in a sandbox never
 * talks to the daemon.
 * SO_PEERCRED has the pid of the process that called connect(2); if that one is gone, its cgroup
 * cannot be read and the peer is refused. What remains is a pid that was given to a new process in
 * between; SO_PEERPIDFD closes that from Linux 6.5 on, Debian 12 has 6.1.
 *
 * #syscalls: accept4 getsockopt openat read close recvfrom sendto
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "control/socket.h"
#include "http/h1_head.h"
#include "http/h1_write.h"
#include "model/msg.h"
#include "ring/loop.h"

enum {
	CONTROL_BACKLOG = 64,
	CONTROL_PAUSE = 1000, /* milliseconds without accepting when descriptors are out */
	CONTROL_HEAD_OUT = 512, /* the head of an answer */
};

enum control_state { CONTROL_IDLE, CONTROL_READING, CONTROL_WRITING };

struct control_peer {
	struct control *control;
	enum control_state state;
	int fd;
	bool root; /* the peer is */
	struct watch watch;
	struct timer deadline;
	struct buf in, out;
	size_t scan; /* of the head parser */
};

struct control {
	struct control_setup setup;
	struct watch listener;
	struct timer resume; /* accepts again */
	unsigned used;
	struct control_peer peers[CONTROL_CONNECTIONS];
};

static const struct {
	unsigned status;
	const char *reason; /* of the status line */
	const char *error; /* for the client, where nothing better is known */
} control_statuses[] = {
	{200, "OK", ""},
	{400, "Bad Request", "the request is malformed"},
	{403, "Forbidden", "only root may do this"},
	{404, "Not Found", "there is no such thing"},
	{405, "Method Not Allowed", "this cannot be done here"},
	{409, "Conflict", "it is attached already"},
	{422, "Unprocessable Content", "it cannot be made: sallyportd's log says why"},
	{431, "Request Header Fields Too Large", "the head of the request is too long"},
	{503, "Service Unavailable", "there are too many already"},
	{500, "Internal Server Error", "the answer could not be made"},
};

/* ---- the listener */

static int control_bind(int fd, const struct sockaddr_un *sun)
{
	return bind(fd, (const struct sockaddr *)sun, sizeof(*sun)) < 0 ? -errno : 0;
}

/* Removes a socket that nobody listens on. 0, -EADDRINUSE, or -EEXIST for what is no socket. */
static int control_unlink_stale(const struct sockaddr_un *sun)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct stat st;

	if (fd < 0 || lstat(sun->sun_path, &st) < 0)
		return -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	if (connect(fd, (const struct sockaddr *)sun, sizeof(*sun)) == 0 || errno != ECONNREFUSED)
		return -EADDRINUSE;
	return unlink(sun->sun_path) < 0 ? -errno : 0;
}

int control_listen(const char *path, gid_t group)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int r;

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(sun.sun_path))
		return -ENAMETOOLONG;
	strcpy(sun.sun_path, path);
	/* bind(2) gives the file the mode of the socket: nobody else gets in before the group is
	 * right */
	if (fchmod(fd, 0600) < 0)
		return -errno;
	r = control_bind(fd, &sun);
	if (r == -EADDRINUSE) {
		r = control_unlink_stale(&sun);
		if (r == 0)
			r = control_bind(fd, &sun);
	}
	if (r < 0)
		return r;
	if (lchown(path, (uid_t)-1, group) < 0 || chmod(path, 0660) < 0 ||
		listen(fd, CONTROL_BACKLOG) < 0) {
		r = -errno;
		(void)unlink(path); /* the first failure is the one to tell */
		return r;
	}
	return TAKE_FD(fd);
}

/* ---- peers */

/* The path behind "0::" in /proc/PID/cgroup (cgroups(7)). 0 or -errno. */
static int control_cgroup(pid_t pid, char ret[CONTROL_CGROUP])
{
	char path[64], text[2 * CONTROL_CGROUP], *line, *end;
	_cleanup_close_ int fd = -1;
	size_t n = 0;
	ssize_t got;

	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (n < sizeof(text) - 1 && (got = read(fd, text + n, sizeof(text) - 1 - n)) != 0) {
		if (got < 0)
			return -errno;
		n += (size_t)got;
	}
	text[n] = 0;
	line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
	if (!line)
		return -ENOENT;
	line = strchr(line, '/');
	end = line ? strchr(line, '\n') : NULL;
	if (!end || end - line >= CONTROL_CGROUP) /* cut off, or longer than a path can be */
		return -EMSGSIZE;
	*end = 0;
	strcpy(ret, line);
	return 0;
}

static bool control_welcome(const struct control *c, int fd, bool *ret_root)
{
	char cgroup[CONTROL_CGROUP];
	struct ucred cred;
	uint64_t netns;
	socklen_t n = sizeof(cred), size = sizeof(netns);

	/* a pid of 0 is one outside our pid namespace */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0 || cred.pid <= 0)
		return false;
	*ret_root = cred.uid == 0;
	if (!c->setup.refuse_peer)
		return true;
	/* an accepted unix socket lies in the namespace of the one that connected */
	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &netns, &size) < 0)
		return false;
	if (control_cgroup(cred.pid, cgroup) < 0)
		return false;
	return !c->setup.refuse_peer(c->setup.refuse_arg, cred.pid, cred.uid, netns, cgroup);
}

static void control_listen_again(struct control *c)
{
	if (c->used < CONTROL_CONNECTIONS)
		watch_change(c->setup.loop, &c->listener, POLLIN);
}

static void control_close(struct control_peer *p)
{
	struct control *c = p->control;

	p->state = CONTROL_IDLE;
	watch_stop(c->setup.loop, &p->watch);
	timer_stop(c->setup.loop, &p->deadline);
	cleanup_close(&p->fd);
	p->fd = -1;
	buf_done(&p->in);
	buf_done(&p->out);
	c->used--;
	if (!c->resume.next)
		control_listen_again(c);
}

static void control_expired(struct timer *t)
{
	control_close(container_of(t, struct control_peer, deadline));
}

/* ---- answers */

static void control_send(struct control_peer *p)
{
	while (buf_used(&p->out)) {
		struct slice s = buf_slice(&p->out);
		ssize_t n = send(p->fd, s.p, s.n, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			watch_change(p->control->setup.loop, &p->watch, POLLOUT);
			return;
		}
		if (n <= 0)
			break;
		buf_consume(&p->out, (size_t)n);
	}
	control_close(p);
}

/* Writes head and body into p->out. 0 or -errno. */
static int control_write(struct control_peer *p, unsigned status, const char *reason,
	struct slice allow, struct slice body)
{
	int r = h1_write_status_line(&p->out, status, slice_str(reason), 1);

	if (r == 0)
		r = h1_write_field(&p->out, SLICE("content-type"), SLICE("application/json"));
	if (r == 0)
		r = h1_write_number_field(&p->out, SLICE("content-length"), body.n);
	if (r == 0 && allow.n)
		r = h1_write_field(&p->out, SLICE("allow"), allow);
	if (r == 0)
		r = h1_write_field(&p->out, SLICE("connection"), SLICE("close"));
	if (r == 0)
		r = h1_write_head_end(&p->out);
	return r == 0 ? buf_append(&p->out, body) : r;
}

/* Takes over from reading: `body` for a status below 400, otherwise {"error": why}, why may be
 * NULL. */
static void control_answer(struct control_peer *p, unsigned status, const char *why,
	struct slice allow, struct slice body)
{
	size_t at = ARRAY_SIZE(control_statuses) - 1;
	struct buf error;
	struct json j;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(control_statuses); i++)
		if (control_statuses[i].status == status)
			at = i;
	status = control_statuses[at].status;
	buf_init(&error, 1024);
	if (status >= 400) {
		json_start(&j, &error);
		json_open(&j, NULL, '{');
		json_text(&j, "error", why ? why : control_statuses[at].error);
		json_close(&j, '}');
		body = buf_slice(&error);
	}
	p->state = CONTROL_WRITING;
	r = control_write(p, status, control_statuses[at].reason, allow, body);
	buf_done(&error);
	if (r < 0)
		control_close(p);
	else
		control_send(p);
}

static void control_fail(struct control_peer *p, unsigned status, const char *why)
{
	control_answer(p, status, why, SLICE(""), SLICE(""));
}

/* ---- requests */

/* The pattern stands for the path; *ret_item is what its braces stand for. */
static bool control_matches(const char *pattern, struct slice path, struct slice *ret_item)
{
	struct slice p = slice_str(pattern);
	size_t brace = slice_find(p, '{');
	struct slice item = slice_skip(path, brace);

	if (!slice_eq(slice_first(path, brace), slice_first(p, brace)))
		return false;
	if (brace == p.n ? item.n != 0 : item.n == 0 || slice_find(item, '/') != item.n)
		return false;
	*ret_item = item;
	return true;
}

/* Calls the route and answers with what it wrote. */
static void control_call(struct control_peer *p, const struct control_route *route,
	const struct control_request *request)
{
	struct buf body;
	struct json j;
	unsigned status;

	buf_init(&body, CONTROL_ANSWER);
	json_start(&j, &body);
	status = route->handler(p->control->setup.source, request, &j);
	if (status < 400 && (json_end(&j) < 0 || buf_append(&body, SLICE("\n")) < 0))
		status = 500;
	control_answer(p, status, NULL, SLICE(""), buf_slice(&body));
	buf_done(&body);
}

static void control_request(struct control_peer *p, const struct msg *m)
{
	const struct control_setup *s = &p->control->setup;
	size_t query = slice_find(m->target, '?');
	struct control_request request = {
		.path = slice_first(m->target, query),
		.query = slice_skip(m->target, query + 1),
	};
	char allow[64] = "";

	for (unsigned i = 0; i < s->nroutes; i++) {
		const struct control_route *route = &s->routes[i];
		size_t n = strlen(allow);

		if (!control_matches(route->pattern, request.path, &request.item))
			continue;
		if (slice_eq(m->method, slice_str(route->method))) {
			if (route->root && !p->root)
				control_fail(p, 403, NULL);
			else if (m->framing != FRAMING_NONE &&
				 (m->framing != FRAMING_LENGTH || m->length > 0))
				control_fail(p, 400, "this call takes no body");
			else
				control_call(p, route, &request);
			return;
		}
		(void)snprintf(allow + n, sizeof(allow) - n, "%s%s", n ? ", " : "", route->method);
	}
	control_answer(p, allow[0] ? 405 : 404, NULL, slice_str(allow), SLICE(""));
}

static void control_read(struct control_peer *p)
{
	uint8_t *to = buf_reserve(&p->in, buf_room(&p->in));
	const char *why = NULL;
	struct msg m;
	size_t used;
	ssize_t n;
	int r;

	n = to ? recv(p->fd, to, buf_room(&p->in), MSG_DONTWAIT) : 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		control_close(p);
		return;
	}
	buf_commit(&p->in, (size_t)n);
	r = h1_request_parse(buf_slice(&p->in), &p->scan, &m, &used, &why);
	if (r > 0)
		control_request(p, &m);
	else if (r == -EMSGSIZE || (r == 0 && buf_room(&p->in) == 0))
		control_fail(p, 431, NULL);
	else if (r < 0)
		control_fail(p, 400, why);
}

static void control_ready(struct watch *w, uint32_t revents)
{
	struct control_peer *p = w->arg;

	(void)revents; /* errors and hang-ups come out of recv() and send() */
	if (p->state == CONTROL_READING)
		control_read(p);
	else if (p->state == CONTROL_WRITING)
		control_send(p);
}

/* ---- accepting */

static void control_admit(struct control *c, int fd)
{
	struct control_peer *p = c->peers;
	bool root;

	if (!control_welcome(c, fd, &root)) {
		(void)close(fd);
		return;
	}
	while (p->state != CONTROL_IDLE)
		p++;
	p->state = CONTROL_READING;
	p->fd = fd;
	p->root = root;
	p->scan = 0;
	buf_init(&p->in, LIMIT_CONTROL_HEAD);
	buf_init(&p->out, CONTROL_ANSWER + CONTROL_HEAD_OUT);
	c->used++;
	timer_start(c->setup.loop, &p->deadline, CONTROL_DEADLINE);
	if (watch_start(c->setup.loop, &p->watch, fd, POLLIN) < 0)
		control_close(p);
}

static void control_accept(struct watch *w, uint32_t revents)
{
	struct control *c = w->arg;

	(void)revents;
	while (c->used < CONTROL_CONNECTIONS) {
		int fd = accept4(c->setup.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			control_admit(c, fd);
		} else if (errno == EAGAIN) {
			return;
		} else if (errno != EINTR &&
			   errno != ECONNABORTED) { /* out of descriptors or memory */
			watch_change(c->setup.loop, &c->listener, 0);
			timer_start(c->setup.loop, &c->resume, CONTROL_PAUSE);
			return;
		}
	}
	watch_change(c->setup.loop, &c->listener, 0); /* control_close() turns it on again */
}

static void control_resume(struct timer *t)
{
	control_listen_again(container_of(t, struct control, resume));
}

int control_new(const struct control_setup *setup, struct control **ret)
{
	struct control *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->setup = *setup;
	c->resume.fire = control_resume;
	c->listener.ready = control_accept;
	c->listener.arg = c;
	for (size_t i = 0; i < CONTROL_CONNECTIONS; i++) {
		struct control_peer *p = &c->peers[i];

		p->control = c;
		p->fd = -1;
		p->watch.ready = control_ready;
		p->watch.arg = p;
		p->deadline.fire = control_expired;
	}
	r = watch_start(setup->loop, &c->listener, setup->listener, POLLIN);
	if (r < 0) {
		free(c);
		return r;
	}
	*ret = c;
	return 0;
}

void control_free(struct control *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < CONTROL_CONNECTIONS; i++)
		if (c->peers[i].state != CONTROL_IDLE)
			control_close(&c->peers[i]);
	timer_stop(c->setup.loop, &c->resume);
	watch_stop(c->setup.loop, &c->listener);
	cleanup_close(&c->setup.listener);
	free(c);
}
