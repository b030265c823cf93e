/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_link.c – see daemon_link.h. The daemon is the exposed half and is believed nothing that
 * was not its turn to say: a message of another size, an opcode that is no row of the table, a
 * descriptor, an answer that nobody asked for end the connection. The sandboxes stay; the next
 * daemon is offered all of them.
 *
 *   GREETED ──DIALLER──▶ SERVING ──hand_over.c──▶ DRAINING
 *      └──DIALLER that takes over──▶ CANDIDATE ──hand_over.c──▶ SERVING
 *
 * At most one peer is in each phase, and two at all. A second one is let in only if it is another process, of the
 * same user, while the first is connected and no third is guarded; it is heard only if it takes over. One that has handed
 * over is not let in again while it lives: it could take back what it was replaced for, or stand in its successor's way.
 *
 * What is granted to it: to say that a policy is active, and which ranges that policy lifts from
 * the address refusal; and to take over. See serve.c for why that is tolerable.
 *
 * #syscalls: accept4 getsockopt recvmsg poll pidfd_open pidfd_send_signal close
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netns-helper/daemon_link.h"
#include "netns-helper/daemon_tell.h"
#include "netns-helper/dialler.h"
#include "netns-helper/hand_over.h"
#include "netns-helper/outage.h"
#include "netns-helper/sandboxes.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/fdpass.h"
#include "base/log.h"

enum { DAEMON_LINK_END_MS = 3000 };

/* Which phases may follow, as bits. */
static const unsigned int daemon_phase_next[] = {
	[DAEMON_GREETED] = 1U << DAEMON_SERVING | 1U << DAEMON_CANDIDATE,
	[DAEMON_SERVING] = 1U << DAEMON_DRAINING,
	[DAEMON_CANDIDATE] = 1U << DAEMON_SERVING,
	[DAEMON_DRAINING] = 0,
};
static_assert(ARRAY_SIZE(daemon_phase_next) == DAEMON_PHASES, "successors of every phase");

union daemon_link_message {
	struct proto_head head;
	struct proto_name name;
	struct proto_active active;
	struct proto_dialler dialler;
	struct proto_word word;
	struct proto_draining draining;
};

struct daemon_peer *daemon_link_in(struct daemon_link *link, enum daemon_phase phase)
{
	for (size_t i = 0; i < PROTO_DAEMONS; i++)
		if (link->peers[i].source.fd >= 0 && link->peers[i].phase == phase)
			return &link->peers[i];
	return NULL;
}

void daemon_peer_to(struct daemon_peer *peer, enum daemon_phase phase)
{
	assert(daemon_phase_next[peer->phase] & 1U << phase);
	peer->phase = phase;
}

/* ---- what it says */

/* Its first word, and perhaps again when its resolvers have changed. */
static int daemon_link_said_dialler(struct daemon_peer *peer, const union daemon_link_message *m)
{
	struct daemon_link *link = peer->link;
	bool occupied =
		daemon_link_in(link, DAEMON_SERVING) || daemon_link_in(link, DAEMON_CANDIDATE);
	int r;

	if (m->dialler.take_over > 1 || (peer->phase != DAEMON_GREETED && m->dialler.take_over))
		return -EPROTO;
	r = dialler_resolvers(link->dialler, peer->pid, &m->dialler);
	if (r < 0 || peer->phase != DAEMON_GREETED)
		return r;
	peer->taking = m->dialler.take_over;
	if (occupied && !peer->taking)
		return -EBUSY;
	if (peer->taking)
		hand_over_begins(peer);
	sandboxes_link_up(link->sandboxes, daemon_peer_slot(peer));
	daemon_peer_to(peer, peer->taking ? DAEMON_CANDIDATE : DAEMON_SERVING);
	if (!peer->taking)
		sandboxes_serve(link->sandboxes, daemon_peer_slot(peer), peer->pid);
	return 0;
}

static int daemon_link_said_active(struct daemon_peer *peer, const union daemon_link_message *m)
{
	if (peer->phase == DAEMON_GREETED)
		return -EPROTO;
	if (peer->phase == DAEMON_CANDIDATE && m->active.error)
		return -ECANCELED; /* it has said why, to whoever started it */
	return sandboxes_active(peer->link->sandboxes, daemon_peer_slot(peer), &m->active);
}

static int daemon_link_said_gone(struct daemon_peer *peer, const union daemon_link_message *m)
{
	if (strnlen(m->name.id, sizeof(m->name.id)) == sizeof(m->name.id))
		return -EPROTO;
	return sandboxes_gone(peer->link->sandboxes, daemon_peer_slot(peer), m->name.id);
}

static int daemon_link_said_draining(struct daemon_peer *peer, const union daemon_link_message *m)
{
	return hand_over_draining(peer, m->draining.seconds);
}

/* An older release says no time. */
static int daemon_link_said_word(struct daemon_peer *peer, const union daemon_link_message *m)
{
	(void)m; /* nothing but the word */
	return hand_over_draining(peer, PROTO_DRAIN_MOST);
}

/* What a daemon may say; whether it is its turn is the sandboxes' question. */
static const struct {
	uint32_t op;
	size_t size;
	int (*said)(struct daemon_peer *peer, const union daemon_link_message *m);
} daemon_link_table[] = {
	{PROTO_ACTIVE, sizeof(struct proto_active), daemon_link_said_active},
	{PROTO_GONE, sizeof(struct proto_name), daemon_link_said_gone},
	{PROTO_DIALLER, sizeof(struct proto_dialler), daemon_link_said_dialler},
	{PROTO_DRAINING, sizeof(struct proto_draining), daemon_link_said_draining},
	{PROTO_DRAINING, sizeof(struct proto_word), daemon_link_said_word},
};

static int daemon_link_receive(struct daemon_peer *peer)
{
	union daemon_link_message m;
	size_t nfds = 0;
	long n = fdpass_recv(peer->source.fd, &m, sizeof(m), NULL, &nfds);

	if (n < 0)
		return (int)n;
	if (n == 0)
		return -EPIPE;
	if ((size_t)n < sizeof(m.head) || m.head.version != PROTO_VERSION)
		return -EPROTO;
	for (size_t i = 0; i < ARRAY_SIZE(daemon_link_table); i++)
		if (daemon_link_table[i].op == m.head.op && daemon_link_table[i].size == (size_t)n)
			return daemon_link_table[i].said(peer, &m);
	return -EPROTO;
}

/* ---- connections */

/* The rest of its end, once the slot is free. */
static void daemon_link_dropped(struct daemon_link *link, enum daemon_phase was)
{
	if (link->listener.fd < 0)
		return; /* the helper ends */
	if (!link->outage->down && !daemon_link_in(link, DAEMON_SERVING) &&
		(was == DAEMON_SERVING || was == DAEMON_CANDIDATE))
		outage_begins(link->outage);
	hand_over_look(link);
}

void daemon_link_drop(struct daemon_peer *peer)
{
	struct daemon_link *link = peer->link;
	enum daemon_phase was = peer->phase;

	if (peer->source.fd < 0)
		return;
	if (was == DAEMON_CANDIDATE)
		hand_over_failed(peer);
	loop_forget(link->loop, &peer->source);
	(void)close(peer->source.fd); /* nothing is pending that matters */
	if (was == DAEMON_DRAINING) {
		cleanup_close(&link->handed);
		link->handed = TAKE_FD(peer->pidfd);
		link->handed_pid = peer->pid;
		link->handed_ms = peer->drain_ms;
	}
	cleanup_close(&peer->pidfd);
	*peer = (struct daemon_peer){.link = link, .source = {-1, peer->source.ready}, .pidfd = -1};
	sandboxes_link_down(link->sandboxes, daemon_peer_slot(peer));
	daemon_link_dropped(link, was);
}

static void daemon_link_ended(struct daemon_peer *peer, int r)
{
	bool closed = r == -EPIPE || r == -ECONNRESET;

	if (closed && peer->phase == DAEMON_DRAINING)
		log_info("the daemon of pid %d, which handed over, is gone", (int)peer->pid);
	else if (closed)
		log_warn("the daemon of pid %d is gone; %zu sandboxes stay", (int)peer->pid,
			peer->link->sandboxes->count);
	else if (r == -ECANCELED)
		log_warn("the daemon of pid %d does not take over: it refused a sandbox",
			(int)peer->pid);
	else if (r == -EBUSY)
		log_warn("the daemon of pid %d is not heard: another serves, and it does not take "
			 "over (--take-over)",
			(int)peer->pid);
	else
		(void)log_errno(
			r, "the daemon's message was not acceptable; its connection is closed");
	daemon_link_drop(peer);
}

static void daemon_link_pump_one(struct daemon_peer *peer)
{
	int r;

	if (peer->source.fd < 0 || peer->phase == DAEMON_GREETED)
		return;
	r = daemon_tell_due(peer);
	if (peer->link->sandboxes->unheard[daemon_peer_slot(peer)]) {
		log_warn("the daemon of pid %d has not read for 5 seconds what ended; its "
			 "connection is closed, the next is offered what there is",
			(int)peer->pid);
		daemon_link_drop(peer);
	} else if (r < 0 && r != -EAGAIN) {
		(void)log_errno(r, "cannot send to the daemon; its connection is closed");
		daemon_link_drop(peer);
	}
}

void daemon_link_pump(struct daemon_link *link)
{
	for (size_t i = 0; i < PROTO_DAEMONS; i++)
		daemon_link_pump_one(&link->peers[i]);
	hand_over_look(link);
}

int daemon_link_tick(struct daemon_link *link)
{
	return hand_over_tick(link);
}

static void daemon_link_ready(struct loop_source *source, uint32_t events)
{
	struct daemon_peer *peer = container_of(source, struct daemon_peer, source);
	int r = 0;

	if (events & EPOLLOUT)
		daemon_link_pump_one(peer);
	if (peer->source.fd >= 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		r = daemon_link_receive(peer);
	if (r == -EAGAIN)
		return;
	if (r < 0)
		daemon_link_ended(peer, r);
	else
		hand_over_look(peer->link);
}

/* Daemons that died may not have been noticed yet when their successor is at the door. */
static void daemon_link_drop_dead(struct daemon_link *link)
{
	for (size_t i = 0; i < PROTO_DAEMONS; i++) {
		struct pollfd dead = {.fd = link->peers[i].source.fd, .events = POLLRDHUP};

		if (dead.fd >= 0 && poll(&dead, 1, 0) > 0 &&
			(dead.revents & (POLLRDHUP | POLLHUP | POLLERR)))
			daemon_link_ended(&link->peers[i], -EPIPE);
	}
}

/* A daemon that cannot be guarded serves all the same, and its status says so. */
static void daemon_link_guard(struct daemon_link *link, const struct ucred *peer)
{
	static const char feature[] = "dialler";
	struct fault fault = {""};
	int r = 0;

	if (peer->uid != link->uid)
		r = fault_set(&fault, -EPERM, "the daemon runs as root");
	r = r ? r : dialler_guard(link->dialler, peer->pid, &fault);
	sandboxes_note(link->sandboxes, "", feature, r < 0 ? fault.text : "",
		"start sallyportd as scripts/sallyport does, in a cgroup of its own");
}

/* Takes the descriptor over, also when it fails. */
static int daemon_link_greet(struct daemon_peer *peer, int fd, const struct ucred *cred)
{
	struct daemon_link *link = peer->link;
	int r;

	peer->source.fd = fd;
	peer->phase = DAEMON_GREETED;
	peer->pid = cred->pid;
	r = loop_watch(link->loop, &peer->source, EPOLLIN);
	if (r < 0) {
		(void)close(fd); /* nothing was sent */
		peer->source.fd = -1;
		return r;
	}
	peer->pidfd = pidfd_open(cred->pid, 0); /* only to end it */
	daemon_link_guard(link, cred);
	r = daemon_tell_hello(peer);
	if (r < 0)
		daemon_link_drop(peer);
	return r;
}

static bool daemon_link_handed_over(const struct daemon_link *link, pid_t pid)
{
	struct pollfd ended = {.fd = link->handed, .events = POLLIN};

	return link->handed >= 0 && link->handed_pid == pid && poll(&ended, 1, 0) == 0;
}

/* The peer for a process that may connect. 0 or -errno. */
static int daemon_link_place(struct daemon_link *link, pid_t pid, struct daemon_peer **ret)
{
	struct daemon_peer *free = NULL;
	pid_t other = 0;

	for (size_t i = 0; i < PROTO_DAEMONS; i++) {
		struct daemon_peer *peer = &link->peers[i];

		if (peer->source.fd < 0)
			free = free ? free : peer;
		else if (peer->pid == pid || peer->phase == DAEMON_GREETED)
			return -EBUSY; /* nobody takes over from itself; one at a time */
		else
			other = peer->pid;
	}
	if (!free || dialler_busy(link->dialler, pid, other))
		return -EBUSY;
	*ret = free;
	return 0;
}

static int daemon_link_admit(
	struct daemon_link *link, int fd, struct ucred *ret, struct daemon_peer **ret_peer)
{
	socklen_t n = sizeof(*ret);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &n) < 0)
		return -errno;
	if (ret->uid != link->uid && ret->uid != 0)
		return -EPERM;
	if (sandboxes_hold(link->sandboxes, fd, ret->pid))
		return -EPERM;
	daemon_link_drop_dead(link);
	if (daemon_link_handed_over(link, ret->pid))
		return -EPERM;
	return daemon_link_place(link, ret->pid, ret_peer);
}

static void daemon_link_accept(struct loop_source *source, uint32_t events)
{
	struct daemon_link *link = container_of(source, struct daemon_link, listener);
	_cleanup_close_ int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct daemon_peer *peer = NULL;
	struct ucred cred = {0};
	int r;

	(void)events; /* only readiness is watched */
	if (fd < 0)
		return;
	r = daemon_link_admit(link, fd, &cred, &peer);
	if (r == 0)
		r = daemon_link_greet(peer, TAKE_FD(fd), &cred);
	if (r < 0) {
		(void)log_errno(r, "link.sock: pid %d of uid %u was not accepted", (int)cred.pid,
			(unsigned int)cred.uid);
		return;
	}
	log_info("the daemon is connected, pid %d", (int)cred.pid);
}

/* ---- life */

int daemon_link_init(struct daemon_link *link, const struct daemon_link_setup *setup, int listener)
{
	*link = (struct daemon_link){
		.loop = setup->loop,
		.sandboxes = setup->sandboxes,
		.programs = setup->programs,
		.dialler = setup->dialler,
		.outage = setup->outage,
		.state = setup->state,
		.uid = setup->uid,
		.listener = {listener, daemon_link_accept},
		.handed = -1,
	};
	for (size_t i = 0; i < PROTO_DAEMONS; i++)
		link->peers[i] = (struct daemon_peer){
			.link = link, .source = {-1, daemon_link_ready}, .pidfd = -1};
	return loop_watch(link->loop, &link->listener, EPOLLIN);
}

static void daemon_link_terminate(int pidfd)
{
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};

	if (pidfd_send_signal(pidfd, SIGTERM, NULL, 0) < 0)
		return;
	if (poll(&ended, 1, DAEMON_LINK_END_MS) == 0)
		(void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0); /* it has had its time */
}

void daemon_link_done(struct daemon_link *link, bool end)
{
	loop_forget(link->loop, &link->listener);
	cleanup_close(&link->listener.fd);
	link->listener.fd = -1;
	for (size_t i = 0; i < PROTO_DAEMONS; i++) {
		_cleanup_close_ int pidfd = TAKE_FD(link->peers[i].pidfd);

		daemon_link_drop(&link->peers[i]);
		if (end && pidfd >= 0)
			daemon_link_terminate(pidfd);
	}
	cleanup_close(&link->handed);
}
