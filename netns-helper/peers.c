/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peers.c – helper.sock: root's requests, one table of what may be asked in which phase.
 *
 *   IDLE ──ATTACH, DETACH, RELEASE──▶ WAITING ──answered──▶ IDLE, or HOLDING after an attach that holds
 *
 * A peer is freed by peers_reap() after the turn of the loop in which its connection ended. Why each
 * request is tolerable is said in serve.c.
 *
 * #syscalls: accept4 getsockopt recvmsg sendmsg close
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netns-helper/containers.h"
#include "netns-helper/lane.h"
#include "netns-helper/peers.h"
#include "netns-helper/proto.h"
#include "netns-helper/sandboxes.h"

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/limits.h"
#include "base/log.h"

enum {
	PEER_FDS = 3, /* an ATTACH has the most */
	PEERS_MAX = LIMIT_SANDBOXES + 64, /* a held sandbox takes one for its life */
};

/* The phases of a connection to helper.sock, as bits of the table's permission. */
enum peer_phase {
	PEER_IDLE = 1,
	PEER_WAITING = 2, /* for an attach or a detach; says nothing */
	PEER_HOLDING = 4, /* its sandbox lives as long as it */
};

struct peer {
	struct peer *next;
	struct peers *peers;
	struct loop_source source; /* fd -1: to be freed after the turn */
	enum peer_phase phase;
	uint32_t done; /* ops that come once and came, as bits */
	uint32_t op; /* the request that waits */
	bool hold; /* asked for by the attach that waits */
	pid_t pid;
	struct sandbox *sandbox; /* attached by it and held, or to be; borrowed */
};

union peer_message {
	struct proto_head head;
	struct proto_attach attach;
	struct proto_name name;
	struct proto_release release;
	struct proto_note note;
};

static void peer_drop(struct peer *peer);

static struct proto_reply peer_reply(uint32_t op, int error, const char *text)
{
	struct proto_reply reply = {.head = {op, PROTO_VERSION}, .error = error};

	(void)snprintf(reply.text, sizeof(reply.text), "%s", text);
	return reply;
}

static int peer_answer(struct peer *peer, uint32_t op, int error, const char *text)
{
	const struct proto_reply reply = peer_reply(op, error, text);

	return fdpass_send(peer->source.fd, &reply, sizeof(reply), NULL, 0);
}

/* The sandbox that the peer held was ended by somebody else. */
static void peer_lost(void *who, int error, const char *text)
{
	struct peer *peer = who;

	(void)error; /* the end of the connection says it */
	(void)text;
	peer->sandbox = NULL;
	peer_drop(peer);
}

/* The outcome of what the peer waited for. */
static void peer_told(void *who, int error, const char *text)
{
	struct peer *peer = who;
	bool holds = peer->op == PROTO_ATTACH && error == 0 && peer->hold;

	if (peer->op == PROTO_ATTACH && !holds)
		peer->sandbox = NULL;
	if (holds) {
		peer->peers->held = true;
		peer->sandbox->holder = (struct sandbox_listener){peer_lost, peer};
	}
	peer->phase = peer->sandbox ? PEER_HOLDING : PEER_IDLE;
	if (error)
		log_warn("pid %d: request %u failed: %s", (int)peer->pid, peer->op, text);
	if (peer->source.fd >= 0 && peer_answer(peer, peer->op, error, text) < 0)
		peer_drop(peer);
}

static int peer_refused(struct peer *peer, uint32_t op, int error, const struct fault *fault)
{
	log_warn("pid %d: request %u refused: %s", (int)peer->pid, op, fault->text);
	return peer_answer(peer, op, error, fault->text);
}

static bool peer_texts_valid(const struct proto_attach *request)
{
	for (size_t i = 0; i < PROTO_SEARCH; i++)
		if (strnlen(request->search[i], PROTO_NAME) == PROTO_NAME)
			return false;
	for (size_t i = 0; i < PROTO_UNIX_PATHS; i++)
		if (strnlen(request->unix_paths[i], PROTO_UNIX_PATH) == PROTO_UNIX_PATH)
			return false;
	return true;
}

static int answer_attach(struct peer *peer, const union peer_message *m, const int *fds)
{
	const struct proto_attach *request = &m->attach;
	struct attach_spec spec = {
		.request = request, .netns_fd = fds[0], .cgroup_fd = fds[1], .policy_fd = fds[2]};
	struct sandbox_listener asked = {peer_told, peer};
	struct fault fault = {""};
	int r;

	if ((request->mode != PROTO_SEALED && request->mode != PROTO_UPLINK) || request->hold > 1 ||
		request->own_cgroup > 1 || request->strict > 1 || request->lane > PROTO_LANE_NFT ||
		request->bounding_said > 1 || !peer_texts_valid(request))
		return -EPROTO;
	r = sandboxes_attach(peer->peers->sandboxes, &spec, asked, &fault, &peer->sandbox);
	if (r < 0)
		return peer_refused(peer, PROTO_ATTACH, r, &fault);
	peer->op = PROTO_ATTACH;
	peer->hold = request->hold;
	peer->phase = PEER_WAITING;
	return 0;
}

/* The sandbox that the request names, or NULL with the reason. */
static struct sandbox *peer_named(const struct peer *peer, const char *id, struct fault *fault)
{
	struct sandbox *sandbox =
		attach_id_valid(id) ? sandboxes_find(peer->peers->sandboxes, id) : NULL;

	if (!sandbox)
		(void)fault_set(fault, -ENOENT,
			"--id %.*s: no such sandbox is attached: see sallyport-netns list",
			PROTO_ID - 1, id);
	return sandbox;
}

/* Takes the sandbox down; answered when that is complete. */
static int peer_detaches(struct peer *peer, uint32_t op, struct sandbox *sandbox)
{
	struct sandbox_listener ended = {peer_told, peer};
	struct fault fault = {""};

	if (sandbox->asked_end.tell) {
		(void)fault_set(&fault, -EBUSY, "--id: is being detached");
		return peer_refused(peer, op, -EBUSY, &fault);
	}
	peer->op = op;
	peer->phase = PEER_WAITING;
	sandboxes_end(peer->peers->sandboxes, sandbox, -ECANCELED, "it was detached", ended);
	return 0;
}

static int answer_detach(struct peer *peer, const union peer_message *m, const int *fds)
{
	struct fault fault = {""};
	struct sandbox *sandbox = peer_named(peer, m->name.id, &fault);

	(void)fds; /* none travel with it */
	if (!sandbox)
		return peer_refused(peer, PROTO_DETACH, -ENOENT, &fault);
	return peer_detaches(peer, PROTO_DETACH, sandbox);
}

static int answer_release(struct peer *peer, const union peer_message *m, const int *fds)
{
	struct sandbox *sandbox = containers_find(peer->peers->sandboxes, m->release.owner);

	(void)fds; /* none travel with it */
	if (!sandbox)
		return peer_answer(peer, PROTO_RELEASE, 0, "");
	return peer_detaches(peer, PROTO_RELEASE, sandbox);
}

static int answer_degraded(struct peer *peer, const union peer_message *m, const int *fds)
{
	const struct proto_note *note = &m->note;
	struct fault fault = {""};
	const struct sandbox *sandbox = peer_named(peer, note->id, &fault);

	(void)fds; /* none travel with it */
	if (strnlen(note->feature, PROTO_FEATURE) == PROTO_FEATURE ||
		strnlen(note->reason, PROTO_TEXT) == PROTO_TEXT ||
		strnlen(note->remedy, PROTO_TEXT) == PROTO_TEXT || !note->feature[0])
		return -EPROTO;
	if (!sandbox)
		return peer_refused(peer, PROTO_DEGRADED, -ENOENT, &fault);
	sandboxes_note(peer->peers->sandboxes, note->id, note->feature, note->reason, note->remedy);
	return peer_answer(peer, PROTO_DEGRADED, 0, "");
}

static int answer_list(struct peer *peer, const union peer_message *m, const int *fds)
{
	struct proto_reply reply = peer_reply(PROTO_LIST, 0, "");
	const struct sandbox *sandbox;
	const struct attachment *a;

	(void)fds; /* none travel with it */
	if (strnlen(m->name.id, PROTO_ID) == PROTO_ID)
		return -EPROTO;
	sandbox = sandboxes_after(peer->peers->sandboxes, m->name.id);
	if (sandbox) {
		a = sandbox->attachment;
		(void)snprintf(reply.text, sizeof(reply.text),
			"%s %s mode=%s lane=%s netns=%llu slots=%u ipv6=%s%s cgroup=%.300s", a->id,
			sandbox->state == SANDBOX_ACTIVE && sandbox->closed
				? "closed"
				: sandboxes_state_name(sandbox->state),
			a->mode == PROTO_UPLINK ? "uplink" : "sealed", lane_name(a->lane),
			(unsigned long long)a->cookie, a->listeners.nslots,
			a->routes.v6 ? "yes" : "no",
			sandbox->daemon_failed ? " refused-by-daemon" : "", a->cgroup);
	}
	if (!sandbox)
		reply.pid = (uint32_t)peer->peers->sandboxes->settled;
	return fdpass_send(peer->source.fd, &reply, sizeof(reply), NULL, 0);
}

static int answer_enter(struct peer *peer, const union peer_message *m, const int *fds)
{
	struct proto_entered entered = {.reply = peer_reply(PROTO_ENTER, 0, "")};
	struct fault fault = {""};
	const struct sandbox *sandbox = peer_named(peer, m->name.id, &fault);
	int out[2];

	(void)fds; /* none travel with it */
	if (sandbox && sandbox->state != SANDBOX_ACTIVE) {
		(void)fault_set(&fault, -EAGAIN, "--id: is not active");
		sandbox = NULL;
	}
	if (!sandbox)
		return peer_refused(peer, PROTO_ENTER, -ENOENT, &fault);
	attach_put_search(sandbox->attachment, entered.search);
	out[0] = sandbox->attachment->netns_fd;
	out[1] = sandbox->attachment->cgroup_fd;
	return fdpass_send(peer->source.fd, &entered, sizeof(entered), out, ARRAY_SIZE(out));
}

/* Everything that may be asked. A message that is no row, or not in its row's phase, ends the
 * connection. */
static const struct {
	uint32_t op;
	unsigned int phases;
	bool once;
	size_t size;
	size_t nfds;
	int (*answer)(struct peer *peer, const union peer_message *m, const int *fds);
} peer_table[] = {
	{PROTO_ATTACH, PEER_IDLE, true, sizeof(struct proto_attach), 3, answer_attach},
	{PROTO_DETACH, PEER_IDLE, false, sizeof(struct proto_name), 0, answer_detach},
	{PROTO_LIST, PEER_IDLE | PEER_HOLDING, false, sizeof(struct proto_name), 0, answer_list},
	{PROTO_ENTER, PEER_IDLE | PEER_HOLDING, false, sizeof(struct proto_name), 0, answer_enter},
	{PROTO_RELEASE, PEER_IDLE, false, sizeof(struct proto_release), 0, answer_release},
	{PROTO_DEGRADED, PEER_IDLE, false, sizeof(struct proto_note), 0, answer_degraded},
};

static int peer_dispatch(
	struct peer *peer, const union peer_message *m, size_t n, const int *fds, size_t nfds)
{
	if (n < sizeof(m->head) || m->head.version != PROTO_VERSION)
		return -EPROTO;
	for (size_t i = 0; i < ARRAY_SIZE(peer_table); i++) {
		if (peer_table[i].op != m->head.op)
			continue;
		if (peer_table[i].size != n || peer_table[i].nfds != nfds ||
			!(peer_table[i].phases & peer->phase) || (peer->done & 1U << m->head.op))
			return -EPROTO;
		if (peer_table[i].once)
			peer->done |= 1U << m->head.op;
		return peer_table[i].answer(peer, m, fds);
	}
	return -EPROTO;
}

static int peer_receive(struct peer *peer)
{
	union peer_message m;
	int fds[PEER_FDS];
	size_t nfds = PEER_FDS;
	long n = fdpass_recv(peer->source.fd, &m, sizeof(m), fds, &nfds);
	int r;

	if (n <= 0)
		return n < 0 ? (int)n : -EPIPE;
	r = peer_dispatch(peer, &m, (size_t)n, fds, nfds);
	while (nfds)
		(void)close(fds[--nfds]); /* handlers copy what they keep */
	return r;
}

/* A held sandbox, and one whose attach nobody waits for any more, end with the connection. */
static void peer_drop(struct peer *peer)
{
	struct sandbox *sandbox = peer->sandbox;

	if (peer->source.fd < 0)
		return;
	loop_forget(peer->peers->loop, &peer->source);
	(void)close(peer->source.fd); /* nothing is pending */
	peer->source.fd = -1;
	peer->sandbox = NULL;
	sandboxes_forget_listener(peer->peers->sandboxes, peer);
	if (sandbox)
		sandboxes_end(peer->peers->sandboxes, sandbox, -ECANCELED, "",
			(struct sandbox_listener){NULL, NULL});
}

static void peer_ready(struct loop_source *source, uint32_t events)
{
	struct peer *peer = container_of(source, struct peer, source);
	int r = peer_receive(peer);

	(void)events; /* reading tells as much */
	if (r == 0 || r == -EAGAIN)
		return;
	if (r != -EPIPE && r != -ECONNRESET)
		(void)log_errno(r,
			"helper.sock: a message of pid %d was not acceptable; its connection is "
			"closed",
			(int)peer->pid);
	peer_drop(peer);
}

void peers_reap(struct peers *peers)
{
	struct peer **link = &peers->first;

	while (*link) {
		struct peer *one = *link;

		if (one->source.fd >= 0) {
			link = &one->next;
			continue;
		}
		*link = one->next;
		peers->n--;
		free(one);
	}
}

static int peers_admit(const struct peers *peers, int fd, struct ucred *ret)
{
	socklen_t n = sizeof(*ret);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &n) < 0)
		return -errno;
	if (ret->uid != 0 || sandboxes_hold(peers->sandboxes, fd, ret->pid))
		return -EPERM;
	return peers->n >= PEERS_MAX ? -EBUSY : 0;
}

static void peers_accept(struct loop_source *source, uint32_t events)
{
	struct peers *peers = container_of(source, struct peers, listener);
	_cleanup_close_ int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred cred = {0};
	struct peer *peer;
	int r;

	(void)events; /* only readiness is watched */
	if (fd < 0)
		return;
	r = peers_admit(peers, fd, &cred);
	if (r < 0) {
		(void)log_errno(r, "helper.sock: pid %d of uid %u was not accepted", (int)cred.pid,
			(unsigned int)cred.uid);
		return;
	}
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return;
	*peer = (struct peer){
		.peers = peers, .source = {fd, peer_ready}, .phase = PEER_IDLE, .pid = cred.pid};
	if (loop_watch(peers->loop, &peer->source, EPOLLIN) < 0) {
		free(peer);
		return;
	}
	fd = -1; /* is peer->source.fd */
	peer->next = peers->first;
	peers->first = peer;
	peers->n++;
}

int peers_open(struct peers *peers, struct loop *loop, struct sandboxes *sandboxes, int listener)
{
	*peers = (struct peers){
		.loop = loop, .sandboxes = sandboxes, .listener = {listener, peers_accept}};
	return loop_watch(loop, &peers->listener, EPOLLIN);
}

void peers_stop(struct peers *peers)
{
	if (peers->listener.fd < 0)
		return;
	loop_forget(peers->loop, &peers->listener);
	(void)close(peers->listener.fd); /* who is in its queue is told by the end */
	peers->listener.fd = -1;
}

void peers_close(struct peers *peers)
{
	peers_stop(peers);
	for (struct peer *one = peers->first; one; one = one->next)
		peer_drop(one);
	peers_reap(peers);
}
