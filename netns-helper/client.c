/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * client.c – see client.h. Exit statuses: 0 done, 1 refused or failed, 2 no helper answers.
 * Requests are those of proto.h; `client_` here mirrors `answer_` in serve.c.
 *
 * `attach --hold` prints one line, "active DIGEST", when the sandbox is active, and then stays: the
 * connection is what the sandbox lives by. It ends with its parent.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netns-helper/arguments.h"
#include "netns-helper/ask.h"
#include "netns-helper/bounding.h"
#include "netns-helper/client.h"
#include "netns-helper/document.h"
#include "netns-helper/lane.h"
#include "netns-helper/enter.h"
#include "netns-helper/netns.h"
#include "netns-helper/proto.h"
#include "netns-helper/sandboxes.h"
#include "netns-helper/unix_paths.h"

#include "base/cleanup.h"
#include "base/log.h"

enum { CLIENT_OK = 0, CLIENT_FAILED = 1, CLIENT_NO_HELPER = 2 };

static const char client_policy[] =
	"version: 1\nname: default\ndefault: allow\ndefault_tls: terminate\n";

static int client_connect(const struct arguments *a, int *ret)
{
	struct fault fault = {""};
	int fd = ask_connect(a->state, &fault);

	if (fd < 0) {
		log_error("%s", fault.text);
		return fd == -ECOMM ? CLIENT_NO_HELPER : CLIENT_FAILED;
	}
	*ret = fd;
	return CLIENT_OK;
}

/* The daemon knows a policy by its text alone, and calls it "policy"; here it has a path. */
static void client_refused(const struct arguments *a, const char *text)
{
	static const char unnamed[] = "policy:";

	if (a->policy && strncmp(text, unnamed, sizeof(unnamed) - 1) == 0)
		log_error("%s:%s", a->policy, text + sizeof(unnamed) - 1);
	else
		log_error("%s", text);
}

/* As ask(); what went wrong is reported. */
static int client_ask(const struct arguments *a, int sock, const void *request, size_t size,
	const int *fds, size_t nfds, struct proto_reply *reply, size_t n, int *got, size_t *ngot)
{
	struct fault fault = {""};
	int r = ask(sock, request, size, fds, nfds, reply, n, got, ngot, &fault);

	if (r == 0)
		return CLIENT_OK;
	if (r != -ECOMM) {
		client_refused(a, fault.text);
		return CLIENT_FAILED;
	}
	log_error("%s", fault.text);
	return CLIENT_NO_HELPER;
}

static int client_named(const char *id, uint32_t op, struct proto_name *ret)
{
	*ret = (struct proto_name){.head = {op, PROTO_VERSION}};
	if (snprintf(ret->id, sizeof(ret->id), "%s", id) >= (int)sizeof(ret->id)) {
		log_error("--id: is longer than %zu characters", sizeof(ret->id) - 1);
		return CLIENT_FAILED;
	}
	return CLIENT_OK;
}

static int client_unix_paths(const struct arguments *a, struct proto_attach *ret)
{
	if (a->unix_paths.n > PROTO_UNIX_PATHS) {
		log_error("--unix: there can be %d", PROTO_UNIX_PATHS);
		return CLIENT_FAILED;
	}
	for (size_t i = 0; i < a->unix_paths.n; i++) {
		if (!unix_paths_valid(a->unix_paths.items[i])) {
			log_error("--unix: %s: wants an absolute path of at most %d bytes, without "
				  "empty, . or .. parts",
				a->unix_paths.items[i], PROTO_UNIX_PATH - 2);
			return CLIENT_FAILED;
		}
		memcpy(ret->unix_paths[i], a->unix_paths.items[i],
			strlen(a->unix_paths.items[i]) + 1); /* was measured */
	}
	return CLIENT_OK;
}

static int client_attach_request(const struct arguments *a, struct proto_attach *ret)
{
	*ret = (struct proto_attach){
		.head = {PROTO_ATTACH, PROTO_VERSION},
		.mode = a->mode && strcmp(a->mode, "uplink") == 0 ? PROTO_UPLINK : PROTO_SEALED,
		.bounding_said = a->bounding != NULL,
		.strict = a->strict,
		.hold = a->hold,
		.own_cgroup = a->own_cgroup,
		.lane = (uint8_t)lane_of(a->lane),
	};
	if (snprintf(ret->id, sizeof(ret->id), "%s", a->id) >= (int)sizeof(ret->id)) {
		log_error("--id: is longer than %zu characters", sizeof(ret->id) - 1);
		return CLIENT_FAILED;
	}
	if (a->bounding && bounding_parse(a->bounding, &ret->bounding) < 0) {
		log_error("--bounding: %s is neither none, nor names of capabilities, nor the "
			  "number of CapBnd in /proc/PID/status",
			a->bounding);
		return CLIENT_FAILED;
	}
	if (a->search.n > PROTO_SEARCH) {
		log_error("--search: there can be %d", PROTO_SEARCH);
		return CLIENT_FAILED;
	}
	for (size_t i = 0; i < a->search.n; i++)
		if (snprintf(ret->search[i], PROTO_NAME, "%s", a->search.items[i]) >= PROTO_NAME ||
			strpbrk(a->search.items[i], " \t\r\n")) {
			log_error("--search: %s is not a domain name", a->search.items[i]);
			return CLIENT_FAILED;
		}
	return client_unix_paths(a, ret);
}

/* The three descriptors of an attach, owned by the caller. */
static int client_attach_open(const struct arguments *a, int fds[3])
{
	fds[0] = strcmp(a->netns, "new") == 0 ? netns_new() : netns_open(a->netns);
	if (fds[0] < 0) {
		log_error("--netns: %s: %s%s", a->netns, strerror(-fds[0]),
			fds[0] == -ENOENT ? ": ip netns add NAME makes one" : "");
		return CLIENT_FAILED;
	}
	fds[1] = open(a->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fds[1] < 0) {
		log_error("--cgroup: %s: %s%s", a->cgroup, strerror(errno),
			errno == ENOENT ? ": mkdir it" : "");
		return CLIENT_FAILED;
	}
	fds[2] = a->policy ? document_read("policy", a->policy)
			   : document_new("policy", client_policy, sizeof(client_policy) - 1);
	if (fds[2] < 0) {
		(void)log_errno(fds[2], "--policy: %s", a->policy ? a->policy : "the built-in one");
		return CLIENT_FAILED;
	}
	return CLIENT_OK;
}

/* Until the helper ends the connection or a signal ends us. */
static int client_hold(int sock)
{
	struct pollfd helper = {.fd = sock, .events = POLLRDHUP};

	while (poll(&helper, 1, -1) < 0 && errno == EINTR)
		;
	return CLIENT_OK;
}

int client_attach(const struct arguments *a)
{
	_cleanup_close_ int sock = -1;
	int fds[3] = {-1, -1, -1}, status;
	struct proto_attach request;
	struct proto_reply reply;

	if (a->hold && prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) < 0)
		return CLIENT_FAILED;
	status = client_attach_request(a, &request);
	if (status == CLIENT_OK)
		status = client_connect(a, &sock);
	if (status == CLIENT_OK)
		status = client_attach_open(a, fds);
	if (status == CLIENT_OK)
		status = client_ask(a, sock, &request, sizeof(request), fds, ARRAY_SIZE(fds),
			&reply, sizeof(reply), NULL, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		cleanup_close(&fds[i]);
	if (status != CLIENT_OK)
		return status;
	(void)printf("active %s\n", reply.text); /* who closed the pipe does not want to know */
	(void)fflush(stdout);
	return a->hold ? client_hold(sock) : CLIENT_OK;
}

int client_detach(const struct arguments *a)
{
	_cleanup_close_ int sock = -1;
	struct proto_name request;
	struct proto_reply reply;
	int status = client_named(a->id, PROTO_DETACH, &request);

	if (status == CLIENT_OK)
		status = client_connect(a, &sock);
	if (status == CLIENT_OK)
		status = client_ask(a, sock, &request, sizeof(request), NULL, 0, &reply,
			sizeof(reply), NULL, NULL);
	return status;
}

/* One request a sandbox, each naming the last one seen: no answer is longer than a message. */
int client_list(const struct arguments *a)
{
	struct proto_name request = {.head = {PROTO_LIST, PROTO_VERSION}};
	_cleanup_close_ int sock = -1;
	struct proto_reply reply;
	int status = client_connect(a, &sock);

	while (status == CLIENT_OK) {
		status = client_ask(a, sock, &request, sizeof(request), NULL, 0, &reply,
			sizeof(reply), NULL, NULL);
		if (status != CLIENT_OK || !reply.text[0])
			break;
		if (!a->daemon)
			(void)printf("%s\n", reply.text); /* a closed pipe is the reader's wish */
		(void)snprintf(request.id, sizeof(request.id), "%.*s",
			(int)strcspn(reply.text, " "), reply.text);
	}
	if (status == CLIENT_OK && a->daemon && !reply.pid) {
		log_error("%s", sandboxes_no_daemon);
		return CLIENT_FAILED;
	}
	return status;
}

int client_enter(const struct arguments *a)
{
	_cleanup_close_ int sock = -1;
	int fds[2] = {-1, -1};
	size_t nfds = ARRAY_SIZE(fds);
	struct proto_entered entered;
	struct proto_name request;
	char state[PATH_MAX];
	struct enter_spec spec = {
		.state = state,
		.search = (const char(*)[PROTO_NAME])entered.search,
		.user = a->user,
		.trust = a->trust,
		.id = a->id,
		.hide = a->hide.items,
		.nhide = a->hide.n,
		.share = a->share.items,
		.nshare = a->share.n,
		.env = a->env.items,
		.nenv = a->env.n,
		.command = a->rest,
	};
	int status = client_named(a->id, PROTO_ENTER, &request);

	if (status == CLIENT_OK)
		status = client_connect(a, &sock);
	if (status == CLIENT_OK)
		status = client_ask(a, sock, &request, sizeof(request), NULL, 0, &entered.reply,
			sizeof(entered), fds, &nfds);
	if (status != CLIENT_OK || nfds != ARRAY_SIZE(fds))
		return ENTER_FAILED;
	if (!realpath(a->state, state)) {
		(void)log_errno(-errno, "--state: %s", a->state);
		return ENTER_FAILED;
	}
	cleanup_close(&sock);
	sock = -1;
	spec.netns_fd = fds[0];
	spec.cgroup_fd = fds[1];
	status = enter(&spec);
	cleanup_close(&fds[0]);
	cleanup_close(&fds[1]);
	return status;
}
