/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * serve.c – the resident half: one thread, one loop, helper.sock (root's requests) and link.sock
 * (the daemon).
 *
 * Owns: the programs and maps, every sandbox, both sockets, the mount in the state directory. Ends
 * by a signal, or, when private, with its parent and with the last sandbox that was held; then
 * takes every sandbox down, waits for its processes and the daemon's copies, and removes what it
 * made.
 *
 * When the daemon dies, sandboxes stay and connections wait in the backlog. When this process dies
 * (SIGKILL), its BPF links stay, since they are pinned, and the daemon goes on with its copies of
 * the listeners; when both are dead, nobody listens: in a sealed namespace every connect() that is
 * not refused by its address is then refused with ECONNREFUSED, and nothing can leave. A new helper
 * does not take old sandboxes over: it detaches what it finds, and they are attached anew.
 *
 * Why each request is tolerable, should the asking side be taken over:
 *
 * ATTACH, DETACH, LIST, ENTER come by helper.sock, where only uid 0 of outside every sandbox is
 * heard: whoever may ask could do the same by its own means. The proxy cannot ask them at all, nor
 * can a root in a sandbox. Still the descriptors are verified, for mistakes: attaching our own
 * namespace or a cgroup that we are in would cut the host off.
 *
 * ACTIVE, by link.sock from the proxy: lets a sandbox go on that waits for exactly this, and lifts
 * ranges from the address refusal of that sandbox alone. A proxy that was taken over may lie about
 * both. It gains nothing: every connection of a sandbox ends at this same proxy in any case, and
 * nothing else can leave the namespace. It cannot choose the sandbox's id, namespace or cgroup,
 * touch one that is active, or open anything outside sandboxes.
 *
 * GONE, from the proxy: ends a wait that would end by itself 5 s later.
 *
 * What travels to the proxy (listeners, DNS sockets, two maps, a sealed policy) is of use only for
 * serving sandboxes: no descriptor leads back to a namespace, a cgroup or a program.
 *
 * #syscalls: accept4 getsockopt recvmsg sendmsg epoll_wait signalfd4 read close prctl, and those of
 * the parts
 */
#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netns-helper/daemon_link.h"
#include "netns-helper/dialler.h"
#include "netns-helper/hosts.h"
#include "netns-helper/lane.h"
#include "netns-helper/loop.h"
#include "netns-helper/privileges.h"
#include "netns-helper/prober.h"
#include "netns-helper/programs.h"
#include "netns-helper/proto.h"
#include "netns-helper/sandboxes.h"
#include "netns-helper/serve.h"
#include "netns-helper/state.h"
#include "netns-helper/upkeep.h"

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/limits.h"
#include "base/log.h"

enum {
	SERVE_FDS = 3, /* an ATTACH has the most */
	SERVE_PEERS = LIMIT_SANDBOXES + 64, /* a held sandbox takes one for its life */
	SERVE_SOCK_MODE = 0600,
	SERVE_LINK_MODE = 0660,
};

/* The phases of a connection to helper.sock, as bits of the table's permission. */
enum peer_phase {
	PEER_IDLE = 1,
	PEER_WAITING = 2, /* for an attach or a detach; says nothing */
	PEER_HOLDING = 4, /* its sandbox lives as long as it */
};

struct peer {
	struct peer *next;
	struct serve *serve;
	struct loop_source source; /* fd -1: to be freed after the turn */
	enum peer_phase phase;
	uint32_t done; /* ops that come once and came, as bits */
	uint32_t op; /* the request that waits */
	bool hold; /* asked for by the attach that waits */
	pid_t pid;
	struct sandbox *sandbox; /* attached by it and held, or to be; borrowed */
};

struct serve {
	const struct serve_options *options;
	struct state state;
	struct loop loop;
	struct loop_source listener;
	struct loop_source signals;
	struct hosts hosts;
	struct prober prober;
	struct sandboxes sandboxes;
	struct daemon_link link;
	struct dialler *dialler; /* NULL without BPF */
	struct lane_bpf bpf;
	struct peer *peers;
	size_t npeers;
	bool held; /* a sandbox has been held */
	bool stopping;
};

union serve_message {
	struct proto_head head;
	struct proto_attach attach;
	struct proto_name name;
};

static void peer_drop(struct peer *peer);

static struct proto_reply serve_reply(uint32_t op, int error, const char *text)
{
	struct proto_reply reply = {.head = {op, PROTO_VERSION}, .error = error};

	(void)snprintf(reply.text, sizeof(reply.text), "%s", text);
	return reply;
}

static int peer_answer(struct peer *peer, uint32_t op, int error, const char *text)
{
	const struct proto_reply reply = serve_reply(op, error, text);

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
		peer->serve->held = true;
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

static bool serve_texts_valid(const struct proto_attach *request)
{
	for (size_t i = 0; i < PROTO_SEARCH; i++)
		if (strnlen(request->search[i], PROTO_NAME) == PROTO_NAME)
			return false;
	for (size_t i = 0; i < PROTO_UNIX_PATHS; i++)
		if (strnlen(request->unix_paths[i], PROTO_UNIX_PATH) == PROTO_UNIX_PATH)
			return false;
	return true;
}

static int answer_attach(struct peer *peer, const union serve_message *m, const int *fds)
{
	const struct proto_attach *request = &m->attach;
	struct attach_spec spec = {
		.request = request, .netns_fd = fds[0], .cgroup_fd = fds[1], .policy_fd = fds[2]};
	struct sandbox_listener asked = {peer_told, peer};
	struct fault fault = {""};
	int r;

	if ((request->mode != PROTO_SEALED && request->mode != PROTO_UPLINK) || request->hold > 1 ||
		request->own_cgroup > 1 || request->strict > 1 || request->lane > PROTO_LANE_NFT ||
		request->bounding_said > 1 || !serve_texts_valid(request))
		return -EPROTO;
	r = sandboxes_attach(&peer->serve->sandboxes, &spec, asked, &fault, &peer->sandbox);
	if (r < 0)
		return peer_refused(peer, PROTO_ATTACH, r, &fault);
	peer->op = PROTO_ATTACH;
	peer->hold = request->hold;
	peer->phase = PEER_WAITING;
	return 0;
}

/* The sandbox that the request names, or NULL with the reason. */
static struct sandbox *serve_named(const struct peer *peer, const char *id, struct fault *fault)
{
	struct sandbox *sandbox =
		attach_id_valid(id) ? sandboxes_find(&peer->serve->sandboxes, id) : NULL;

	if (!sandbox)
		(void)fault_set(fault, -ENOENT, "--id: no such sandbox is attached");
	return sandbox;
}

static int answer_detach(struct peer *peer, const union serve_message *m, const int *fds)
{
	struct sandbox_listener ended = {peer_told, peer};
	struct fault fault = {""};
	struct sandbox *sandbox = serve_named(peer, m->name.id, &fault);

	(void)fds; /* none travel with it */
	if (!sandbox)
		return peer_refused(peer, PROTO_DETACH, -ENOENT, &fault);
	if (sandbox->asked_end.tell) {
		(void)fault_set(&fault, -EBUSY, "--id: is being detached");
		return peer_refused(peer, PROTO_DETACH, -EBUSY, &fault);
	}
	peer->op = PROTO_DETACH;
	peer->phase = PEER_WAITING;
	sandboxes_end(&peer->serve->sandboxes, sandbox, -ECANCELED, "it was detached", ended);
	return 0;
}

static int answer_list(struct peer *peer, const union serve_message *m, const int *fds)
{
	struct proto_reply reply = serve_reply(PROTO_LIST, 0, "");
	const struct sandbox *sandbox;
	const struct attachment *a;

	(void)fds; /* none travel with it */
	if (strnlen(m->name.id, PROTO_ID) == PROTO_ID)
		return -EPROTO;
	sandbox = sandboxes_after(&peer->serve->sandboxes, m->name.id);
	if (sandbox) {
		a = sandbox->attachment;
		(void)snprintf(reply.text, sizeof(reply.text),
			"%s %s mode=%s lane=%s netns=%llu slots=%u ipv6=%s%s cgroup=%.300s", a->id,
			sandboxes_state_name(sandbox->state),
			a->mode == PROTO_UPLINK ? "uplink" : "sealed", lane_name(a->lane),
			(unsigned long long)a->cookie, a->listeners.nslots,
			a->routes.v6 ? "yes" : "no",
			sandbox->closed          ? " closed"
			: sandbox->daemon_failed ? " refused-by-daemon"
						 : "",
			a->cgroup.text);
	}
	if (!sandbox)
		reply.pid = (uint32_t)peer->serve->sandboxes.daemon;
	return fdpass_send(peer->source.fd, &reply, sizeof(reply), NULL, 0);
}

static int answer_enter(struct peer *peer, const union serve_message *m, const int *fds)
{
	struct proto_entered entered = {.reply = serve_reply(PROTO_ENTER, 0, "")};
	struct fault fault = {""};
	const struct sandbox *sandbox = serve_named(peer, m->name.id, &fault);
	int out[2];

	(void)fds; /* none travel with it */
	if (sandbox && sandbox->state != SANDBOX_ACTIVE) {
		(void)fault_set(&fault, -EAGAIN, "--id: is not active");
		sandbox = NULL;
	}
	if (!sandbox)
		return peer_refused(peer, PROTO_ENTER, -ENOENT, &fault);
	memcpy(entered.search, sandbox->attachment->search, sizeof(entered.search));
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
	int (*answer)(struct peer *peer, const union serve_message *m, const int *fds);
} serve_table[] = {
	{PROTO_ATTACH, PEER_IDLE, true, sizeof(struct proto_attach), 3, answer_attach},
	{PROTO_DETACH, PEER_IDLE, false, sizeof(struct proto_name), 0, answer_detach},
	{PROTO_LIST, PEER_IDLE | PEER_HOLDING, false, sizeof(struct proto_name), 0, answer_list},
	{PROTO_ENTER, PEER_IDLE | PEER_HOLDING, false, sizeof(struct proto_name), 0, answer_enter},
};

static int peer_dispatch(
	struct peer *peer, const union serve_message *m, size_t n, const int *fds, size_t nfds)
{
	if (n < sizeof(m->head) || m->head.version != PROTO_VERSION)
		return -EPROTO;
	for (size_t i = 0; i < ARRAY_SIZE(serve_table); i++) {
		if (serve_table[i].op != m->head.op)
			continue;
		if (serve_table[i].size != n || serve_table[i].nfds != nfds ||
			!(serve_table[i].phases & peer->phase) || (peer->done & 1U << m->head.op))
			return -EPROTO;
		if (serve_table[i].once)
			peer->done |= 1U << m->head.op;
		return serve_table[i].answer(peer, m, fds);
	}
	return -EPROTO;
}

static int peer_receive(struct peer *peer)
{
	union serve_message m;
	int fds[SERVE_FDS];
	size_t nfds = SERVE_FDS;
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
	loop_forget(&peer->serve->loop, &peer->source);
	(void)close(peer->source.fd); /* nothing is pending */
	peer->source.fd = -1;
	peer->sandbox = NULL;
	sandboxes_forget_listener(&peer->serve->sandboxes, peer);
	if (sandbox)
		sandboxes_end(&peer->serve->sandboxes, sandbox, -ECANCELED, "",
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

static void serve_reap(struct serve *serve)
{
	struct peer **link = &serve->peers;

	while (*link) {
		struct peer *one = *link;

		if (one->source.fd >= 0) {
			link = &one->next;
			continue;
		}
		*link = one->next;
		serve->npeers--;
		free(one);
	}
}

static int serve_admit(struct serve *serve, int fd, struct ucred *ret)
{
	socklen_t n = sizeof(*ret);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &n) < 0)
		return -errno;
	if (ret->uid != 0 || sandboxes_hold(&serve->sandboxes, fd, ret->pid))
		return -EPERM;
	return serve->npeers >= SERVE_PEERS ? -EBUSY : 0;
}

static void serve_accept(struct loop_source *source, uint32_t events)
{
	struct serve *serve = container_of(source, struct serve, listener);
	_cleanup_close_ int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred cred = {0};
	struct peer *peer;
	int r;

	(void)events; /* only readiness is watched */
	if (fd < 0)
		return;
	r = serve_admit(serve, fd, &cred);
	if (r < 0) {
		(void)log_errno(r, "helper.sock: pid %d of uid %u was not accepted", (int)cred.pid,
			(unsigned int)cred.uid);
		return;
	}
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return;
	*peer = (struct peer){
		.serve = serve, .source = {fd, peer_ready}, .phase = PEER_IDLE, .pid = cred.pid};
	if (loop_watch(&serve->loop, &peer->source, EPOLLIN) < 0) {
		free(peer);
		return;
	}
	fd = -1; /* is peer->source.fd */
	peer->next = serve->peers;
	serve->peers = peer;
	serve->npeers++;
}

static void serve_stop(struct serve *serve)
{
	if (serve->stopping)
		return;
	serve->stopping = true;
	loop_forget(&serve->loop, &serve->listener);
	for (struct sandbox *one = serve->sandboxes.first; one; one = one->next)
		if (one->state != SANDBOX_GONE)
			sandboxes_end(&serve->sandboxes, one, -ECANCELED, "the helper stops",
				one->asked_end);
}

static void serve_signal(struct loop_source *source, uint32_t events)
{
	struct serve *serve = container_of(source, struct serve, signals);
	struct signalfd_siginfo info;

	(void)events; /* only readiness is watched */
	if (read(source->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	log_info("signal %u: stopping, %zu sandboxes attached", info.ssi_signo,
		serve->sandboxes.count);
	serve_stop(serve);
}

static void serve_run(struct serve *serve)
{
	while (!serve->stopping || serve->sandboxes.count) {
		int wait = sandboxes_tick(&serve->sandboxes);

		daemon_link_pump(&serve->link);
		if (serve->options->private && serve->held && !serve->sandboxes.count)
			serve_stop(serve);
		if (serve->stopping && !serve->sandboxes.count)
			break;
		if (loop_turn(&serve->loop, wait) < 0)
			break; /* cannot happen for an epoll descriptor that is open */
		serve_reap(serve);
	}
}

static int serve_signals(struct serve *serve)
{
	sigset_t set;
	int fd;

	(void)sigemptyset(&set); /* these cannot fail for valid signals */
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	if (serve->options->private && prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) < 0)
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	serve->signals = (struct loop_source){fd, serve_signal};
	return loop_watch(&serve->loop, &serve->signals, EPOLLIN);
}

/* The second half of the start: everything that the link and requests need is in place. */
static int serve_listen(struct serve *serve, const struct passwd *user, struct fault *fault)
{
	int link, helper, r;

	link = state_listen(&serve->state, STATE_LINK_SOCK, SERVE_LINK_MODE, user->pw_gid, fault);
	if (link < 0)
		return link;
	r = daemon_link_init(&serve->link, &serve->loop, &serve->sandboxes, link,
		serve->bpf.programs, serve->dialler, user->pw_uid);
	if (r < 0)
		return fault_set(fault, r, "cannot watch link.sock: %s", strerror(-r));
	helper = state_listen(&serve->state, STATE_HELPER_SOCK, SERVE_SOCK_MODE, 0, fault);
	if (helper < 0)
		return helper;
	serve->listener = (struct loop_source){helper, serve_accept};
	r = loop_watch(&serve->loop, &serve->listener, EPOLLIN);
	if (r < 0)
		return fault_set(fault, r, "cannot watch helper.sock: %s", strerror(-r));
	r = privileges_serve();
	if (r < 0)
		return fault_set(fault, r, "cannot drop privileges: %s", strerror(-r));
	r = prober_start(&serve->prober); /* with what is left of them */
	return r < 0 ? fault_set(fault, r, "cannot start the prober: %s", strerror(-r)) : 0;
}

static void serve_close_peers(struct serve *serve)
{
	for (struct peer *one = serve->peers; one; one = one->next)
		peer_drop(one);
	serve_reap(serve);
}

/* What this kernel does not give, as notes about the machine. */
static void serve_note_missing(struct serve *serve)
{
	const struct programs *programs = serve->bpf.programs;
	const struct programs_lack *lack = NULL;

	if (!programs)
		sandboxes_note(
			&serve->sandboxes, "", lane_feature, serve->bpf.missing.text, lane_remedy);
	for (size_t i = 0; programs && (lack = programs_missing(programs, i)); i++)
		sandboxes_note(&serve->sandboxes, "", lack->feature, lack->reason, lack->remedy);
}

static void serve_hosts(struct hosts *hosts)
{
	upkeep_hosts(&container_of(hosts, struct serve, hosts)->sandboxes, hosts);
}

/* Start, service, end; each stage undoes only itself. */
static int serve_with_state(struct serve *serve, const struct passwd *user, struct fault *fault)
{
	int r;

	lane_load(&serve->bpf, &serve->state);
	r = serve->bpf.programs ? dialler_new(serve->bpf.programs, &serve->loop,
					  serve->options->private, fault, &serve->dialler)
				: 0;
	sandboxes_init(&serve->sandboxes, &serve->loop, &serve->bpf, serve->dialler,
		&serve->hosts.list, &serve->prober);
	if (r < 0)
		goto out;
	serve_note_missing(serve);
	r = hosts_open(&serve->hosts, &serve->loop, serve_hosts, fault);
	if (r < 0)
		goto out;
	serve_hosts(&serve->hosts);
	r = serve_listen(serve, user, fault);
	if (r < 0)
		goto out;
	log_info("serving in %s", serve->state.path);
	serve_run(serve);
	serve_close_peers(serve);
out:
	if (serve->link.loop)
		daemon_link_done(&serve->link, serve->options->private);
	sandboxes_done(&serve->sandboxes);
	hosts_close(&serve->hosts);
	prober_stop(&serve->prober);
	cleanup_close(&serve->listener.fd);
	dialler_free(serve->dialler);
	lane_unload(&serve->bpf);
	return r;
}

static int serve_start(struct serve *serve, struct fault *fault)
{
	const struct passwd *user = getpwnam(serve->options->daemon_user);
	int r;

	if (!user)
		return fault_set(fault, -ENOENT,
			"--daemon-user: there is no user %s: scripts/setup makes it",
			serve->options->daemon_user);
	r = loop_init(&serve->loop);
	if (r == 0)
		r = serve_signals(serve);
	if (r < 0)
		return fault_set(fault, r, "cannot start: %s", strerror(-r));
	r = state_open(serve->options->state, user->pw_gid, fault, &serve->state);
	if (r < 0)
		return r;
	r = serve_with_state(serve, user, fault);
	state_close(&serve->state, serve->options->private && r == 0);
	return r;
}

int serve(const struct serve_options *options)
{
	struct serve serve = {.options = options,
		.listener = {-1, serve_accept},
		.signals = {-1, serve_signal},
		.prober = {.fd = -1}};
	struct fault fault = {""};
	int r;

	(void)umask(077);
	r = serve_start(&serve, &fault);
	if (r < 0)
		log_error("%s", fault.text[0] ? fault.text : strerror(-r));
	return r < 0 ? 1 : 0;
}
