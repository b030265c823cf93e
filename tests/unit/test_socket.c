/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_socket.c – the control socket on a real loop in the test's thread, against a client in
 * another thread that speaks raw bytes. The table and the shape of the answers (commands.c) are
 * tested with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "control/commands.h"
#include "control/socket.h"
#include "ring/loop.h"

enum { BIG = 3 << 20 };

struct fixture {
	char folder[32], path[64];
	struct loop *loop;
	struct control *control;
	int stop[2]; /* the client has ended */
	struct watch stopped;
	bool refuse;
	unsigned refusals_asked;
	char cgroup[CONTROL_CGROUP];
	pid_t pid;
	uid_t uid;
	uint64_t netns;
	/* the client's failure: cmocka's asserts belong to the first thread */
	char failed[256];
	char *got;
};

/* ---- what the daemon would tell */

static void source_status(void *arg, struct control_status *ret)
{
	(void)arg;
	*ret = (struct control_status){
		.version = "1.2.3",
		.pid = 42,
		.workers = 2,
		.sandboxes = 1,
		.uptime_ms = 99,
		.outage = "refuse",
		.audit_written = 7,
		.audit_lost = 1,
	};
}

static void source_degraded(void *arg, struct json *j)
{
	(void)arg;
	control_degraded_write(j, "ipv6", "no IPv6 here", "load the module");
}

static unsigned source_sandboxes(void *arg, struct slice id, struct json *j)
{
	static const struct control_credential credentials[] = {
		{.name = "GH_TOKEN", .state = "available", .env = "GH_TOKEN"},
		{.name = "KEY", .state = "unavailable", .cause = "no file"},
	};
	struct control_sandbox box = {
		.id = "box",
		.policy = "agent",
		.mode = "enforce",
		.network = "sealed",
		.lane = "bpf",
		.degraded = source_degraded,
		.digest = {0xab, [31] = 0x01},
		.connections = 5,
		.refusals = 2,
		.tunnels = 3,
		.tunnels_open = 1,
		.credentials = credentials,
		.ncredentials = 2,
	};

	(void)arg;
	if (id.n && !slice_eq(id, SLICE("box")))
		return 0;
	control_sandbox_write(j, &box);
	return 1;
}

static const struct control_source source = {
	.status = source_status,
	.degraded = source_degraded,
	.sandboxes = source_sandboxes,
};

static unsigned big(const void *arg, const struct control_request *request, struct json *j)
{
	char line[1001];
	unsigned lines =
		slice_eq(request->item, SLICE("too")) ? CONTROL_ANSWER / 1000 + 1 : BIG / 1000;

	(void)arg;
	memset(line, 'x', 1000);
	line[1000] = 0;
	json_open(j, NULL, '[');
	for (unsigned i = 0; i < lines; i++)
		json_text(j, NULL, line);
	json_close(j, ']');
	return 200;
}

static const struct control_route big_routes[] = {{"GET", "/big/{how}", big, "", false}};

static bool refuse_peer(void *arg, pid_t pid, uid_t uid, uint64_t netns, const char *cgroup)
{
	struct fixture *f = arg;

	f->refusals_asked++;
	f->pid = pid;
	f->uid = uid;
	f->netns = netns;
	strcpy(f->cgroup, cgroup);
	return f->refuse;
}

/* ---- the fixture */

static void client_ended(struct watch *w, uint32_t revents)
{
	(void)revents;
	loop_stop(((struct fixture *)w->arg)->loop);
}

static int setup(void **state)
{
	const struct loop_setup loop = {.entries = 64};
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	strcpy(f->folder, "/tmp/sallyport-ctl-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	(void)snprintf(f->path, sizeof(f->path), "%s/control.sock", f->folder);
	assert_int_equal(loop_new(&loop, &f->loop), 0);
	assert_int_equal(loop_enable(f->loop), 0);
	assert_int_equal(pipe(f->stop), 0);
	f->stopped = (struct watch){.ready = client_ended, .arg = f};
	assert_int_equal(watch_start(f->loop, &f->stopped, f->stop[0], POLLIN), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	control_free(f->control);
	watch_stop(f->loop, &f->stopped);
	loop_free(f->loop);
	(void)close(f->stop[0]);
	(void)close(f->stop[1]);
	(void)unlink(f->path);
	assert_int_equal(rmdir(f->folder), 0);
	free(f->got);
	free(f);
	return 0;
}

static void serve(struct fixture *f, const struct control_route *routes, unsigned nroutes)
{
	struct control_setup s = {
		.loop = f->loop,
		.listener = control_listen(f->path, (gid_t)-1),
		.routes = routes,
		.nroutes = nroutes,
		.source = &source,
		.refuse_peer = refuse_peer,
		.refuse_arg = f,
	};

	assert_true(s.listener >= 0);
	assert_int_equal(control_new(&s, &f->control), 0);
}

/* ---- the client's side */

#define FAIL(f, ...)                                                                               \
	do {                                                                                       \
		if (!(f)->failed[0])                                                               \
			(void)snprintf((f)->failed, sizeof((f)->failed), __VA_ARGS__);             \
	} while (0)

static int dial(struct fixture *f)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(sun.sun_path, f->path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sun, sizeof(sun)) < 0)
		FAIL(f, "connect: %s", strerror(errno));
	return fd;
}

/* Everything until the end, NUL-ended, in f->got. */
static const char *hear(struct fixture *f, int fd)
{
	size_t n = 0, cap = CONTROL_ANSWER + 4096;
	ssize_t r;

	free(f->got);
	f->got = calloc(1, cap);
	while ((r = recv(fd, f->got + n, cap - 1 - n, 0)) > 0)
		n += (size_t)r;
	f->got[n] = 0;
	return f->got;
}

static const char *ask(struct fixture *f, struct slice request)
{
	int fd = dial(f);
	const char *answer;

	(void)send(fd, request.p, request.n, MSG_NOSIGNAL);
	answer = hear(f, fd);
	(void)close(fd);
	return answer;
}

struct run {
	struct fixture *f;
	void (*client)(struct fixture *f);
};

static void *run_client(void *arg)
{
	struct run *r = arg;

	r->client(r->f);
	if (write(r->f->stop[1], "", 1) != 1)
		abort();
	return NULL;
}

static void run(struct fixture *f, void (*client)(struct fixture *f))
{
	struct run r = {f, client};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, run_client, &r), 0);
	assert_int_equal(loop_run(f->loop), 0);
	pthread_join(thread, NULL);
	if (f->failed[0])
		fail_msg("%s", f->failed);
}

/* ---- tests */

#define STATUS_BODY                                                                                \
	"{\"version\":\"1.2.3\",\"pid\":42,\"workers\":2,\"sandboxes\":1,\"uptime_ms\":99,"        \
	"\"outage\":\"refuse\","                                                                   \
	"\"sanitizer\":false,"                                                                     \
	"\"audit\":{\"written\":7,\"lost\":1},\"degraded\":[{\"feature\":\"ipv6\",\"reason\":"     \
	"\"no IPv6 "                                                                               \
	"here\",\"remedy\":\"load the module\"}]}\n"
#define BOX                                                                                        \
	"{\"id\":\"box\",\"policy\":\"agent\",\"digest\":"                                         \
	"\"ab00000000000000000000000000000000000000000000000000000000000001\",\"mode\":"           \
	"\"enforce\",\"state\":\"active\",\"network\":\"sealed\",\"lane\":\"bpf\","                \
	"\"counters\":{\"connections\":5,\"open\":0,\"requests\":0,\"denied\":0,\"swaps\":0,"      \
	"\"misdirected\":0,\"refusals\":2,\"tunnels\":3,"                                          \
	"\"tunnels_open\":1},\"degraded\":[{\"feature\":\"ipv6\",\"reason\":"                      \
	"\"no IPv6 here\",\"remedy\":\"load the "                                                  \
	"module\"}],\"credentials\":[{\"name\":\"GH_TOKEN\",\"state\":"                            \
	"\"available\",\"env\":\"GH_TOKEN\"},{\"name\":\"KEY\",\"state\":\"unavailable\","         \
	"\"cause\":\"no "                                                                          \
	"file\"}]}"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

static const struct {
	struct slice request;
	const char *line;
	const char *holds;
} asked[] = {
#define ROW(request, line, holds)                                                                  \
	{                                                                                          \
		{(const uint8_t *)(request), sizeof(request) - 1}, line, holds                     \
	}
	ROW(GET("/v1/status"), "HTTP/1.1 200 OK\r\n", "\r\n\r\n" STATUS_BODY),
	ROW(GET("/v1/status?x=/"), "HTTP/1.1 200 OK\r\n", STATUS_BODY),
	ROW("GET /v1/status HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n", STATUS_BODY),
	ROW(GET("/v1/sandboxes"), "HTTP/1.1 200 OK\r\n", "\r\n\r\n{\"sandboxes\":[" BOX "]}\n"),
	ROW(GET("/v1/sandboxes/box"), "HTTP/1.1 200 OK\r\n", "\r\n\r\n" BOX "\n"),
	ROW(GET("/v1/sandboxes/other"), "HTTP/1.1 404 Not Found\r\n",
		"{\"error\":\"there is no such thing\"}"),
	ROW(GET("/v1/sandboxes/"), "HTTP/1.1 404 Not Found\r\n", "\"error\""),
	ROW(GET("/v1/sandboxes/box/"), "HTTP/1.1 404 Not Found\r\n", "\"error\""),
	ROW(GET("/v1/sandboxes/box/x"), "HTTP/1.1 404 Not Found\r\n", "\"error\""),
	ROW(GET("/v1/statusx"), "HTTP/1.1 404 Not Found\r\n", "\"error\""),
	ROW(GET("/"), "HTTP/1.1 404 Not Found\r\n", "\"error\""),
	ROW("PUT /v1/status HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 405 Method Not Allowed\r\n",
		"\r\nallow: GET\r\n"),
	ROW("GET /v1/status HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 400 Bad Request\r\n", "\"this call takes no body\""),
	ROW("GET /v1/status HTTP/1.1\nHost: x\n\n", "HTTP/1.1 400 Bad Request\r\n", "\"error\""),
	ROW("GET /v1/status HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n",
		"\"error\""),
	ROW("\x16\x03\x01 hello\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n", "\"error\""),
#undef ROW
};

static void client_rows(struct fixture *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		const char *got = ask(f, asked[i].request);
		const char *body = strstr(got, "\r\n\r\n");
		char length[64];

		if (strncmp(got, asked[i].line, strlen(asked[i].line)) != 0 ||
			!strstr(got, asked[i].holds))
			FAIL(f, "%.*s: %.180s", 40, (const char *)asked[i].request.p, got);
		(void)snprintf(length, sizeof(length), "\r\ncontent-length: %zu\r\n",
			body ? strlen(body + 4) : 0);
		if (!strstr(got, length) || !strstr(got, "\r\ncontent-type: application/json\r\n"))
			FAIL(f, "row %zu: head %.180s", i, got);
	}
}

static uint64_t own_netns(void)
{
	int sock = socket(AF_UNIX, SOCK_STREAM, 0);
	uint64_t cookie = 0;
	socklen_t n = sizeof(cookie);

	assert_return_code(getsockopt(sock, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &n), errno);
	(void)close(sock);
	return cookie;
}

static void test_rows(void **state)
{
	struct fixture *f = *state;

	serve(f, control_routes, control_nroutes);
	run(f, client_rows);
	assert_int_equal(f->refusals_asked, ARRAY_SIZE(asked));
	assert_int_equal(f->pid, getpid());
	assert_int_equal(f->uid, getuid());
	assert_int_equal(f->netns, own_netns());
	assert_int_equal(f->cgroup[0], '/');
}

/* Every prefix and then the end: no answer, and the next request is served. A request in single
 * bytes is. */
static void client_prefixes(struct fixture *f)
{
	const struct slice request = SLICE(GET("/v1/status"));
	int fd;

	for (size_t n = 0; n < request.n; n++) {
		fd = dial(f);
		(void)send(fd, request.p, n, MSG_NOSIGNAL);
		(void)shutdown(fd, SHUT_WR);
		if (hear(f, fd)[0])
			FAIL(f, "%zu bytes were answered: %.100s", n, f->got);
		(void)close(fd);
	}
	fd = dial(f);
	for (size_t i = 0; i < request.n; i++)
		(void)send(fd, request.p + i, 1, MSG_NOSIGNAL);
	if (!strstr(hear(f, fd), STATUS_BODY))
		FAIL(f, "single bytes: %.100s", f->got);
	(void)close(fd);
}

static void test_prefixes(void **state)
{
	struct fixture *f = *state;

	serve(f, control_routes, control_nroutes);
	run(f, client_prefixes);
}

static void client_long_head(struct fixture *f)
{
	char request[LIMIT_CONTROL_HEAD + 1];

	memset(request, 'a', sizeof(request));
	memcpy(request, "GET /", 5);
	if (strncmp(ask(f, slice_of(request, sizeof(request))), "HTTP/1.1 431 ", 13) != 0)
		FAIL(f, "%.100s", f->got);
}

static void test_long_head(void **state)
{
	struct fixture *f = *state;

	serve(f, control_routes, control_nroutes);
	run(f, client_long_head);
}

/* A refused peer: the connection ends, and nothing of it was read. */
static void client_refused(struct fixture *f)
{
	int fd = dial(f);

	/* sent first: unread bytes make the end a reset */
	(void)send(fd, "GET", 3, MSG_NOSIGNAL);
	if (hear(f, fd)[0])
		FAIL(f, "answered: %.100s", f->got);
	(void)close(fd);
}

static void test_refused(void **state)
{
	struct fixture *f = *state;

	f->refuse = true;
	serve(f, control_routes, control_nroutes);
	run(f, client_refused);
	assert_int_equal(f->refusals_asked, 1);
}

/* An answer larger than the socket's buffer, read late; one larger than the bound. */
static void client_big(struct fixture *f)
{
	int fd = dial(f);
	struct pollfd p = {fd, POLLIN, 0};
	const char *body;

	(void)send(fd, GET("/big/ok"), sizeof(GET("/big/ok")) - 1, MSG_NOSIGNAL);
	(void)poll(&p, 1, 5000); /* the answer has begun and fills the buffer */
	body = strstr(hear(f, fd), "\r\n\r\n");
	(void)close(fd);
	if (!body || strlen(body + 4) != BIG / 1000 * 1003 + 2)
		FAIL(f, "big: %zu bytes", body ? strlen(body + 4) : 0);
	if (strncmp(ask(f, SLICE(GET("/big/too"))), "HTTP/1.1 500 ", 13) != 0 ||
		!strstr(f->got, "\"error\""))
		FAIL(f, "too big: %.100s", f->got);
	/* goes away in the middle of the answer */
	fd = dial(f);
	(void)send(fd, GET("/big/ok"), sizeof(GET("/big/ok")) - 1, MSG_NOSIGNAL);
	p.fd = fd;
	(void)poll(&p, 1, 5000);
	(void)close(fd);
	/* the handler would answer any item */
	if (!strstr(ask(f, SLICE(GET("/big/ok/x"))), "404") ||
		!strstr(ask(f, SLICE(GET("/big/"))), "404"))
		FAIL(f, "after: %.100s", f->got);
}

static void test_big(void **state)
{
	struct fixture *f = *state;

	serve(f, big_routes, 1);
	run(f, client_big);
}

/* All connections taken by silent peers: the next waits, and is served when their deadline has
 * passed. */
static void client_full(struct fixture *f)
{
	uint64_t began = clock_monotonic_ms();
	int silent[CONTROL_CONNECTIONS];

	for (unsigned i = 0; i < CONTROL_CONNECTIONS; i++)
		silent[i] = dial(f);
	if (!strstr(ask(f, SLICE(GET("/v1/status"))), STATUS_BODY))
		FAIL(f, "not served: %.100s", f->got);
	began = clock_monotonic_ms() - began;
	if (began < CONTROL_DEADLINE - 100 || began > CONTROL_DEADLINE + 5000)
		FAIL(f, "served after %llu ms", (unsigned long long)began);
	for (unsigned i = 0; i < CONTROL_CONNECTIONS; i++) {
		if (hear(f, silent[i])[0])
			FAIL(f, "silence was answered: %.100s", f->got);
		(void)close(silent[i]);
	}
}

static void test_full(void **state)
{
	struct fixture *f = *state;

	serve(f, control_routes, control_nroutes);
	run(f, client_full);
}

/* Connections in use when the server goes. */
static void client_leaves_open(struct fixture *f)
{
	(void)dial(f); /* closed with the process */
	if (!strstr(ask(f, SLICE(GET("/v1/status"))), STATUS_BODY))
		FAIL(f, "not served: %.100s", f->got);
}

static void test_ends_open(void **state)
{
	struct fixture *f = *state;

	serve(f, control_routes, control_nroutes);
	run(f, client_leaves_open);
}

static void test_listen(void **state)
{
	struct fixture *f = *state;
	char path[200];
	struct stat st;
	int fd, second;

	fd = control_listen(f->path, getgid());
	assert_true(fd >= 0);
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	assert_int_equal(st.st_gid, getgid());
	assert_int_equal(control_listen(f->path, (gid_t)-1), -EADDRINUSE);
	(void)close(fd);
	second = control_listen(f->path, (gid_t)-1); /* stale now */
	assert_true(second >= 0);
	(void)close(second);
	assert_int_equal(unlink(f->path), 0);
	fd = open(f->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(control_listen(f->path, (gid_t)-1), -EEXIST);
	assert_int_equal(stat(f->path, &st), 0); /* not ours to remove */
	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	assert_int_equal(control_listen(path, (gid_t)-1), -ENAMETOOLONG);
	assert_int_equal(control_listen("/nonexistent/x", (gid_t)-1), -ENOENT);
}

#define TEST(what) cmocka_unit_test_setup_teardown(what, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_listen),
		TEST(test_rows),
		TEST(test_prefixes),
		TEST(test_long_head),
		TEST(test_refused),
		TEST(test_big),
		TEST(test_ends_open),
		TEST(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
