/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * serve.c – the resident half: one thread, one loop, helper.sock (root's requests, peers.c) and
 * link.sock (the daemon, daemon_link.c).
 *
 * Owns: the programs and maps, every sandbox, both sockets, the mount in the state directory. Ends
 * by a signal, or, when private, with its parent and with the last sandbox that was held; then
 * takes every sandbox down, waits for its processes and the daemon's copies, and removes what it
 * made.
 *
 * When the daemon dies, sandboxes stay, and what they connect to is refused until the next one has taken them
 * (outage.c); with --outage wait it waits in the backlog. When this process dies
 * (SIGKILL), its BPF programs stay, on the cgroups and by a pinned link on the netns, and the daemon goes on with its copies of
 * the listeners; when both are dead, nobody listens: in a sealed namespace every connect() that is
 * not refused by its address is then refused with ECONNREFUSED, and nothing can leave. A new helper
 * does not take old sandboxes over: it detaches what it finds, and they are attached anew.
 *
 * Why each request is tolerable, should the asking side be taken over:
 *
 * ATTACH, DETACH, RELEASE, DEGRADED, LIST, ENTER come by helper.sock, where only uid 0 of outside every sandbox is
 * heard: whoever may ask could do the same by its own means. The proxy cannot ask them at all, nor
 * can a root in a sandbox. Still the descriptors are verified, for mistakes: attaching our own
 * namespace or a cgroup that we are in would cut the host off.
 *
 * ACTIVE, by link.sock from the proxy: lets a sandbox go on that waits for exactly this, and lifts
 * ranges from the address refusal of that sandbox, and from the guard around the proxy's own dials
 * (dialler.c). A proxy that was taken over may lie about both: towards sandboxes it gains nothing, as
 * every connection of theirs ends at this same proxy in any case; for its own dials it can open, with
 * the next offer, what a policy's private: could have opened. The guard is against mistakes of ours,
 * not against a proxy that is somebody else's. It cannot choose the sandbox's id, namespace or
 * cgroup, touch one that is active, or open anything outside sandboxes and itself.
 *
 * GONE, from the proxy: ends a wait that would end by itself 5 s later.
 *
 * DIALLER that takes over, DRAINING: another process of the proxy's user may take the sandboxes from the one that serves,
 * which is what it could do as well by being started in its place. A proxy that was taken over cannot start
 * another process, and not take over from itself; by hanging up, or by keeping up its beat while it serves
 * nobody, it refuses or delays what sandboxes connect to, which it could do anyway.
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
#include "netns-helper/footing.h"
#include "netns-helper/hosts.h"
#include "netns-helper/lane.h"
#include "netns-helper/loop.h"
#include "netns-helper/outage.h"
#include "netns-helper/peers.h"
#include "netns-helper/privileges.h"
#include "netns-helper/prober.h"
#include "netns-helper/programs.h"
#include "netns-helper/proto.h"
#include "netns-helper/sandboxes.h"
#include "netns-helper/serve.h"
#include "netns-helper/state.h"
#include "netns-helper/upkeep.h"

#include "base/cleanup.h"
#include "base/log.h"

enum {
	SERVE_SOCK_MODE = 0600,
	SERVE_LINK_MODE = 0660,
};

struct serve {
	const struct serve_options *options;
	struct state state;
	struct loop loop;
	struct peers peers;
	struct loop_source signals;
	struct hosts hosts;
	struct prober prober;
	struct sandboxes sandboxes;
	struct daemon_link link;
	struct outage outage;
	struct dialler *dialler; /* NULL without BPF */
	struct lane_bpf bpf;
	struct footing footing;
	bool stopping;
};

static void serve_stop(struct serve *serve)
{
	if (serve->stopping)
		return;
	serve->stopping = true;
	peers_stop(&serve->peers);
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

/* -1 = never */
static int serve_sooner(int a, int b)
{
	if (a < 0 || b < 0)
		return a < 0 ? b : a;
	return a < b ? a : b;
}

static void serve_run(struct serve *serve)
{
	while (!serve->stopping || serve->sandboxes.count) {
		int wait = sandboxes_tick(&serve->sandboxes);

		daemon_link_pump(&serve->link);
		wait = serve_sooner(wait, daemon_link_tick(&serve->link));
		wait = serve_sooner(wait, outage_tick(&serve->outage, &serve->sandboxes));
		if (serve->options->private && serve->peers.held && !serve->sandboxes.count)
			serve_stop(serve);
		if (serve->stopping && !serve->sandboxes.count)
			break;
		if (loop_turn(&serve->loop, wait) < 0)
			break; /* cannot happen for an epoll descriptor that is open */
		peers_reap(&serve->peers);
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
	r = daemon_link_init(&serve->link,
		&(struct daemon_link_setup){
			.loop = &serve->loop,
			.sandboxes = &serve->sandboxes,
			.programs = serve->bpf.programs,
			.dialler = serve->dialler,
			.outage = &serve->outage,
			.state = serve->state.dir,
			.uid = user->pw_uid,
		},
		link);
	if (r < 0)
		return fault_set(fault, r, "cannot watch link.sock: %s", strerror(-r));
	helper = state_listen(&serve->state, STATE_HELPER_SOCK, SERVE_SOCK_MODE, 0, fault);
	if (helper < 0)
		return helper;
	r = peers_open(&serve->peers, &serve->loop, &serve->sandboxes, helper);
	if (r < 0)
		return fault_set(fault, r, "cannot watch helper.sock: %s", strerror(-r));
	r = privileges_serve();
	if (r < 0)
		return fault_set(fault, r, "cannot drop privileges: %s", strerror(-r));
	r = prober_start(&serve->prober); /* with what is left of them */
	return r < 0 ? fault_set(fault, r, "cannot start the prober: %s", strerror(-r)) : 0;
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

/* Without it attaches are slower, and that is all. */
static void serve_footing(struct serve *serve)
{
	struct fault fault = {""};

	if (footing_open(&serve->footing, serve->bpf.programs, &fault) < 0)
		log_info("the first attach will be slower: %s", fault.text);
}

/* Start, service, end; each stage undoes only itself. */
static int serve_with_state(struct serve *serve, const struct passwd *user, struct fault *fault)
{
	int r;

	lane_load(&serve->bpf, &serve->state);
	serve_footing(serve);
	r = serve->bpf.programs ? dialler_new(serve->bpf.programs, &serve->loop,
					  serve->options->private, fault, &serve->dialler)
				: 0;
	sandboxes_init(&serve->sandboxes, &serve->loop, &serve->bpf, serve->dialler,
		&serve->hosts.list, &serve->prober);
	if (r < 0)
		goto out;
	serve_note_missing(serve);
	r = outage_open(&serve->outage, serve->bpf.programs, serve->options->wait, fault);
	if (r < 0)
		goto out;
	r = hosts_open(&serve->hosts, &serve->loop, serve_hosts, fault);
	if (r < 0)
		goto out;
	serve_hosts(&serve->hosts);
	r = serve_listen(serve, user, fault);
	if (r < 0)
		goto out;
	log_info("serving in %s", serve->state.path);
	serve_run(serve);
	peers_close(&serve->peers);
out:
	if (serve->link.loop)
		daemon_link_done(&serve->link, serve->options->private);
	sandboxes_done(&serve->sandboxes);
	hosts_close(&serve->hosts);
	prober_stop(&serve->prober);
	peers_stop(&serve->peers);
	dialler_free(serve->dialler);
	outage_close(&serve->outage);
	footing_close(&serve->footing);
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
		.peers = {.listener = {.fd = -1}},
		.signals = {-1, serve_signal},
		.prober = {.fd = -1},
		.outage = {.heartbeat = -1, .map = -1},
		.footing = FOOTING_NONE};
	struct fault fault = {""};
	int r;

	(void)umask(077);
	r = serve_start(&serve, &fault);
	if (r < 0)
		log_error("%s", fault.text[0] ? fault.text : strerror(-r));
	return r < 0 ? 1 : 0;
}
