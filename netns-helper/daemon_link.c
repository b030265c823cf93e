/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_link.c – see daemon_link.h. The daemon is the exposed half and is believed nothing that
 * was not its turn to say: a message of another size, an opcode that is no row of the table, a
 * descriptor, an answer that nobody asked for end the connection. The sandboxes stay; the next
 * daemon is offered all of them.
 *
 * What is granted to it: to say that a policy is active, and which ranges that policy lifts from
 * the address refusal. See serve.c for why that is tolerable.
 *
 * #syscalls: accept4 getsockopt recvmsg sendmsg poll pidfd_open pidfd_send_signal close
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bpf/capture.h"
#include "netns-helper/daemon_link.h"
#include "netns-helper/dialler.h"
#include "netns-helper/document.h"
#include "netns-helper/proto.h"
#include "netns-helper/programs.h"
#include "netns-helper/sandboxes.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/fdpass.h"
#include "base/log.h"

enum { DAEMON_LINK_END_MS = 3000 };

union daemon_link_message {
	struct proto_head head;
	struct proto_name name;
	struct proto_active active;
	struct proto_dialler dialler;
};

/* Its first word, and perhaps again when its resolvers have changed. */
static int daemon_link_said_dialler(struct daemon_link *link, const union daemon_link_message *m)
{
	int r = dialler_resolvers(link->dialler, &m->dialler);

	link->dialler_said = r == 0;
	return r;
}

static int daemon_link_said_active(struct daemon_link *link, const union daemon_link_message *m)
{
	if (!link->dialler_said)
		return -EPROTO;
	return sandboxes_active(link->sandboxes, &m->active);
}

static int daemon_link_said_gone(struct daemon_link *link, const union daemon_link_message *m)
{
	if (strnlen(m->name.id, sizeof(m->name.id)) == sizeof(m->name.id))
		return -EPROTO;
	return sandboxes_gone(link->sandboxes, m->name.id);
}

/* What a daemon may say; whether it is its turn is the sandboxes' question. */
static const struct {
	uint32_t op;
	size_t size;
	int (*said)(struct daemon_link *link, const union daemon_link_message *m);
} daemon_link_table[] = {
	{PROTO_ACTIVE, sizeof(struct proto_active), daemon_link_said_active},
	{PROTO_GONE, sizeof(struct proto_name), daemon_link_said_gone},
	{PROTO_DIALLER, sizeof(struct proto_dialler), daemon_link_said_dialler},
};

static void daemon_link_drop(struct daemon_link *link)
{
	if (link->peer.fd < 0)
		return;
	loop_forget(link->loop, &link->peer);
	(void)close(link->peer.fd); /* nothing is pending that matters */
	link->peer.fd = -1;
	cleanup_close(&link->pidfd);
	link->pidfd = -1;
	link->blocked = false;
	link->dialler_said = false;
	sandboxes_link_down(link->sandboxes);
}

static int daemon_link_receive(struct daemon_link *link)
{
	union daemon_link_message m;
	size_t nfds = 0;
	long n = fdpass_recv(link->peer.fd, &m, sizeof(m), NULL, &nfds);

	if (n < 0)
		return (int)n;
	if (n == 0)
		return -EPIPE;
	if ((size_t)n < sizeof(m.head) || m.head.version != PROTO_VERSION)
		return -EPROTO;
	for (size_t i = 0; i < ARRAY_SIZE(daemon_link_table); i++)
		if (daemon_link_table[i].op == m.head.op && daemon_link_table[i].size == (size_t)n)
			return daemon_link_table[i].said(link, &m);
	return -EPROTO;
}

static void daemon_link_ready(struct loop_source *source, uint32_t events)
{
	struct daemon_link *link = container_of(source, struct daemon_link, peer);
	int r = 0;

	if (events & EPOLLOUT)
		daemon_link_pump(link);
	if (link->peer.fd >= 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		r = daemon_link_receive(link);
	if (r == 0 || r == -EAGAIN)
		return;
	if (r == -EPIPE || r == -ECONNRESET)
		log_warn("the daemon is gone; %zu sandboxes stay and their connections wait",
			link->sandboxes->count);
	else
		(void)log_errno(
			r, "the daemon's message was not acceptable; its connection is closed");
	daemon_link_drop(link);
}

static int daemon_link_send(
	struct daemon_link *link, const void *bytes, size_t n, const int *fds, size_t nfds)
{
	int r = fdpass_send(link->peer.fd, bytes, n, fds, nfds);

	if (r == -EAGAIN && !link->blocked) {
		link->blocked = true;
		(void)loop_change(
			link->loop, &link->peer, EPOLLIN | EPOLLOUT); /* fd and source are sound */
	}
	return r;
}

static int daemon_link_offer(struct daemon_link *link, const struct sandbox *sandbox)
{
	const struct attachment *a = sandbox->attachment;
	struct proto_offer offer = {
		.head = {PROTO_OFFER, PROTO_VERSION},
		.netns = a->cookie,
		.nslots = a->listeners.nslots,
		.has_v6 = a->routes.v6,
		.mode = (uint8_t)a->mode,
		.lane = (uint8_t)a->lane,
	};
	_cleanup_close_ int policy = document_new("sallyport-policy", a->policy, a->npolicy);
	_cleanup_close_ int flows =
		a->lane == PROTO_LANE_BPF ? programs_open_flows(a->programs) : -1;
	int fds[PROTO_OFFER_FDS];
	size_t n = 0;

	if (policy < 0)
		return policy;
	if (a->lane == PROTO_LANE_BPF && flows < 0)
		return flows;
	offer.cgroup = a->cgroup_id;
	memcpy(offer.id, a->id, sizeof(offer.id));
	memcpy(offer.own4, a->own4, sizeof(offer.own4));
	if (a->routes.v6)
		memcpy(offer.own6, a->own6, sizeof(offer.own6));
	attach_put_search(a, offer.search);
	fds[n++] = policy;
	if (a->lane == PROTO_LANE_BPF)
		fds[n++] = flows;
	for (unsigned int family = 0; family < proto_families(&offer); family++)
		fds[n++] = a->listeners.dns[family];
	for (unsigned int family = 0; family < proto_families(&offer); family++)
		for (unsigned int i = 0; i < a->listeners.nslots; i++)
			fds[n++] = a->listeners.tcp[family][i];
	return daemon_link_send(link, &offer, sizeof(offer), fds, n);
}

static int daemon_link_withdraw(struct daemon_link *link, const struct sandbox *sandbox)
{
	struct proto_name name = {.head = {PROTO_WITHDRAW, PROTO_VERSION}};

	memcpy(name.id, sandbox->attachment->id, sizeof(name.id));
	return daemon_link_send(link, &name, sizeof(name), NULL, 0);
}

/* What is degraded of a sandbox, or ("") of the machine. */
static int daemon_link_notes(struct daemon_link *link, const char *id, struct notes *notes)
{
	struct note *due;
	int r;

	while ((due = notes_due(notes))) {
		struct proto_note note = {.head = {PROTO_NOTE, PROTO_VERSION}};

		memcpy(note.id, id, strlen(id));
		memcpy(note.feature, due->feature, sizeof(note.feature));
		memcpy(note.reason, due->reason, sizeof(note.reason));
		memcpy(note.remedy, due->remedy, sizeof(note.remedy));
		r = daemon_link_send(link, &note, sizeof(note), NULL, 0);
		if (r < 0)
			return r;
		notes_told(notes, due);
	}
	return 0;
}

static int daemon_link_pump_one(struct daemon_link *link, struct sandbox *sandbox)
{
	int r = 0;

	if (sandbox->offer_due) {
		r = daemon_link_offer(link, sandbox);
		if (r < 0)
			return r;
		sandbox->offer_due = false;
		sandbox->answer_owed = true;
		sandbox->known = true;
	}
	if (sandbox->known && sandbox->state != SANDBOX_LEAVING) {
		r = daemon_link_notes(link, sandbox->attachment->id, &sandbox->notes);
		if (r < 0)
			return r;
	}
	if (sandbox->withdraw_due) {
		r = daemon_link_withdraw(link, sandbox);
		if (r < 0)
			return r;
		sandbox->withdraw_due = false;
	}
	return 0;
}

void daemon_link_pump(struct daemon_link *link)
{
	int r = 0;

	if (link->peer.fd < 0)
		return;
	r = daemon_link_notes(link, "", &link->sandboxes->notes);
	for (struct sandbox *one = link->sandboxes->first; one && r == 0; one = one->next)
		r = daemon_link_pump_one(link, one);
	if (r == 0 && link->blocked) {
		link->blocked = false;
		(void)loop_change(link->loop, &link->peer, EPOLLIN); /* fd and source are sound */
	}
	if (r < 0 && r != -EAGAIN) {
		(void)log_errno(r, "cannot send to the daemon; its connection is closed");
		daemon_link_drop(link);
	}
}

/* A daemon that died may not have been noticed yet when its successor is at the door. */
static void daemon_link_drop_dead(struct daemon_link *link)
{
	struct pollfd dead = {.fd = link->peer.fd, .events = POLLRDHUP};

	if (link->peer.fd >= 0 && poll(&dead, 1, 0) > 0 &&
		(dead.revents & (POLLRDHUP | POLLHUP | POLLERR)))
		daemon_link_drop(link);
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
static int daemon_link_greet(struct daemon_link *link, int fd, const struct ucred *peer)
{
	const struct proto_hello hello = {
		.head = {PROTO_HELLO, PROTO_VERSION},
		.abi = CAPTURE_ABI,
		.bpf = link->programs != NULL,
	};
	int maps[PROGRAMS_SHARED], r;

	link->peer.fd = fd;
	r = loop_watch(link->loop, &link->peer, EPOLLIN);
	if (r < 0) {
		(void)close(fd); /* nothing was sent */
		link->peer.fd = -1;
		return r;
	}
	link->pidfd = pidfd_open(peer->pid, 0); /* only to end it: see daemon_link_done() */
	daemon_link_guard(link, peer);
	sandboxes_link_up(link->sandboxes, peer->pid);
	if (link->programs)
		programs_shared_fds(link->programs, maps);
	r = daemon_link_send(
		link, &hello, sizeof(hello), maps, link->programs ? PROGRAMS_SHARED : 0);
	if (r < 0)
		daemon_link_drop(link);
	else
		daemon_link_pump(link);
	return r;
}

static int daemon_link_admit(struct daemon_link *link, int fd, struct ucred *ret)
{
	socklen_t n = sizeof(*ret);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &n) < 0)
		return -errno;
	if (ret->uid != link->uid && ret->uid != 0)
		return -EPERM;
	if (sandboxes_hold(link->sandboxes, fd, ret->pid))
		return -EPERM;
	daemon_link_drop_dead(link);
	return link->peer.fd >= 0 || dialler_busy(link->dialler, ret->pid) ? -EBUSY : 0;
}

static void daemon_link_accept(struct loop_source *source, uint32_t events)
{
	struct daemon_link *link = container_of(source, struct daemon_link, listener);
	_cleanup_close_ int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer = {0};
	int r;

	(void)events; /* only readiness is watched */
	if (fd < 0)
		return;
	r = daemon_link_admit(link, fd, &peer);
	if (r == 0)
		r = daemon_link_greet(link, TAKE_FD(fd), &peer);
	if (r < 0) {
		(void)log_errno(r, "link.sock: pid %d of uid %u was not accepted", (int)peer.pid,
			(unsigned int)peer.uid);
		return;
	}
	log_info("the daemon is connected, pid %d", (int)peer.pid);
}

int daemon_link_init(struct daemon_link *link, struct loop *loop, struct sandboxes *sandboxes,
	int listener, const struct programs *programs, struct dialler *dialler, uid_t uid)
{
	*link = (struct daemon_link){
		.loop = loop,
		.sandboxes = sandboxes,
		.listener = {listener, daemon_link_accept},
		.peer = {-1, daemon_link_ready},
		.pidfd = -1,
		.programs = programs,
		.dialler = dialler,
		.uid = uid,
	};
	return loop_watch(loop, &link->listener, EPOLLIN);
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
	_cleanup_close_ int pidfd = link->pidfd;

	link->pidfd = -1;
	daemon_link_drop(link);
	loop_forget(link->loop, &link->listener);
	cleanup_close(&link->listener.fd);
	link->listener.fd = -1;
	if (end && pidfd >= 0)
		daemon_link_terminate(pidfd);
}
