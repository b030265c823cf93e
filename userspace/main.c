/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c – sallyportd: the start order, as prose.
 *
 *	as root		configuration, credentials and their files, control socket, directories, roots of trust
 *	then		the user, no capability, no new privileges, no dumps
 *	then		a worker thread a core and the control thread (this one), each with a ring that is restricted and a
 *			seccomp filter of its own
 *	then		the link to the helper, which offers sandboxes
 *
 * With --take-over the helper offers what another daemon serves, which goes on until it has handed over (registry.c).
 *
 * Nothing is served before the last step; what fails before it is said in one line, and the exit status is 1 (2 for a
 * wrong command line). SIGTERM and SIGINT end the daemon; sandboxes stay attached and their connections wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "conf/daemon_conf.h"
#include "control/commands.h"
#include "control/link.h"
#include "control/socket.h"
#include "cred/credset.h"
#include "harden/privileges.h"
#include "harden/seccomp.h"
#include "proxy/naming.h"
#include "proxy/registry.h"
#include "proxy/shared.h"
#include "proxy/worker.h"
#include "tls/trust.h"
#include "upstream/resolve.h"

enum {
	MAIN_ENTRIES = 256,
	MAIN_PATH = 4096,
	MAIN_END = 10000, /* milliseconds that the end may take */
};

struct daemon {
	struct daemon_conf *conf;
	uid_t uid;
	gid_t gid;
	struct credset **credentials;
	struct addr resolvers[DAEMON_CONF_RESOLVERS];
	unsigned nresolvers;
	char cgroup_root[MAIN_PATH];
	int listener;
	int signals;
	struct shared shared;
	struct registry *registry;
	struct control *control;
	struct control_source source;
	pthread_t threads[LIMIT_WORKERS];
	unsigned nthreads;
	struct watch signal_watch;
	struct timer late; /* the end takes too long */
	bool take_over; /* from a daemon that serves */
};

/* ---- as root */

static int main_read(const char *path, struct buf *text)
{
	int r = file_read(path, text);

	return r < 0 ? log_errno(r, "cannot read %s", path) : 0;
}

static int main_conf(struct daemon *d, const char *path)
{
	struct fault fault = {0};
	struct buf text;
	int r;

	buf_init(&text, LIMIT_DOCUMENT);
	r = main_read(path, &text);
	if (r == 0) {
		r = daemon_conf_load(buf_slice(&text), path, &fault, &d->conf);
		if (r < 0)
			log_error("%s", fault.text[0] ? fault.text : strerrordesc_np(-r));
	}
	buf_done(&text);
	return r;
}

static int main_user(struct daemon *d)
{
	struct passwd *pw = getpwnam(d->conf->user);

	if (!pw) {
		log_error("there is no user %s: run scripts/setup, or name another under user:",
			d->conf->user);
		return -ENOENT;
	}
	d->uid = pw->pw_uid;
	d->gid = pw->pw_gid;
	return 0;
}

static int main_credential(struct daemon *d, unsigned i)
{
	const struct daemon_credentials *entry = &d->conf->credentials[i];
	struct source_trust trust = {.owner = 0, .group = d->gid};
	struct source_mark mark;
	struct fault fault = {0};
	struct buf text;
	char name[64];
	int r;

	buf_init(&text, LIMIT_DOCUMENT);
	(void)snprintf(name, sizeof(name), "descriptor %d", entry->descriptor);
	if (entry->file)
		r = source_read(entry->file, &trust, &fault, &text, &mark);
	else
		r = source_read_fd(entry->descriptor, name, &fault, &text);
	r = r ? r
	      : credset_load(buf_slice(&text), entry->file ? entry->file : name, &trust, &fault,
			&d->credentials[i]);
	buf_done(&text);
	if (r < 0)
		log_error("%s", fault.text[0] ? fault.text : strerrordesc_np(-r));
	return r;
}

static int main_credentials(struct daemon *d)
{
	d->credentials = calloc(d->conf->ncredentials + 1, sizeof(*d->credentials));
	if (!d->credentials)
		return -ENOMEM;
	for (unsigned i = 0; i < d->conf->ncredentials; i++) {
		int r = main_credential(d, i);

		if (r < 0)
			return r;
	}
	return 0;
}

/* A directory of ours below the state directory. */
static int main_directory(struct daemon *d, const char *name, mode_t mode, uid_t uid)
{
	char path[MAIN_PATH];
	int n = snprintf(path, sizeof(path), "%s%s", d->conf->state, name), r;

	if (n < 0 || n >= MAIN_PATH)
		return -ENAMETOOLONG;
	r = file_mkdir(path, mode);
	if (r == 0 && (chown(path, uid, d->gid) < 0 || chmod(path, mode) < 0))
		r = -errno;
	return r < 0 ? log_errno(r, "cannot make %s", path) : 0;
}

static int main_state(struct daemon *d)
{
	char path[MAIN_PATH];
	int r = main_directory(d, "", 0750, 0);

	r = r ? r : main_directory(d, "/sandboxes", 0700, d->uid);
	r = r ? r : main_directory(d, "/handout", 0755, d->uid);
	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "%s/%s", d->conf->state,
		d->take_over ? PROTO_CONTROL_NEXT : PROTO_CONTROL);
	d->listener = control_listen(path, d->gid);
	if (d->listener == -EADDRINUSE && d->take_over)
		log_error("another take-over is under way: %s is listened on", path);
	else if (d->listener == -EADDRINUSE)
		log_error("another sallyportd is listening on %s: --take-over takes over from it",
			path);
	else if (d->listener < 0)
		(void)log_errno(d->listener, "cannot listen on %s", path);
	return d->listener < 0 ? d->listener : 0;
}

/* Made as root, owned by the daemon's user from then on; by descriptor, since that user may own the directory. */
static int main_audit_owner(struct daemon *d, const char *path)
{
	_cleanup_close_ int fd =
		open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0640);

	if (fd < 0 || fchown(fd, d->uid, d->gid) < 0)
		return -errno;
	return 0;
}

static int main_audit(struct daemon *d)
{
	char path[MAIN_PATH];
	int r;

	if (d->conf->audit_file)
		(void)snprintf(path, sizeof(path), "%s", d->conf->audit_file);
	else
		(void)snprintf(path, sizeof(path), "%s/audit.jsonl", d->conf->state);
	r = main_audit_owner(d, path);
	r = r ? r : audit_open(path, d->conf->audit_size, &d->shared.audit);
	return r < 0 ? log_errno(r, "cannot open the audit file %s", path) : 0;
}

static int main_trust(struct daemon *d)
{
	struct fault fault = {0};
	struct tls_trust *system;
	int r = tls_trust_system(&fault, &system);

	if (r == 0 && d->conf->ca) {
		r = tls_trust_extend(system, d->conf->ca, &fault, &d->shared.trust);
		tls_trust_unref(system);
	} else if (r == 0) {
		d->shared.trust = system;
	}
	if (r < 0)
		log_error("%s", fault.text);
	return r;
}

/* Where cgroup v2 is mounted: the peers of the control socket are judged by it. */
static int main_cgroup(struct daemon *d)
{
	FILE *mounts = fopen("/proc/self/mounts", "re");
	char where[MAIN_PATH], type[64];
	int r = -ENOENT;

	if (!mounts)
		return log_errno(-errno, "cannot read /proc/self/mounts");
	while (fscanf(mounts, "%*s %4095s %63s %*[^\n]", where, type) == 2)
		if (strcmp(type, "cgroup2") == 0) {
			(void)snprintf(d->cgroup_root, sizeof(d->cgroup_root), "%s", where);
			r = 0;
			break;
		}
	(void)fclose(mounts);
	if (r < 0)
		log_error("no cgroup v2 hierarchy is mounted: mount -t cgroup2 none "
			  "/sys/fs/cgroup/unified");
	return r;
}

static int main_resolver(struct daemon *d)
{
	unsigned n = d->conf->nresolvers;
	int r;

	memcpy(d->resolvers, d->conf->resolvers, sizeof(d->resolvers));
	if (n == 0) {
		struct buf text;

		buf_init(&text, LIMIT_DOCUMENT);
		if (file_read("/etc/resolv.conf", &text) == 0)
			n = daemon_conf_system_resolvers(
				buf_slice(&text), d->resolvers, DAEMON_CONF_RESOLVERS);
		buf_done(&text);
	}
	if (n == 0)
		log_warn("no resolver: names cannot be looked up (resolvers: in the configuration, "
			 "or /etc/resolv.conf)");
	d->nresolvers = n;
	r = resolve_new(d->shared.control, d->resolvers, n, &d->shared.resolver);
	return r < 0 ? log_errno(r, "cannot start the resolver") : 0;
}

/* ---- threads */

static int main_workers(struct daemon *d)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned n = d->conf->workers ? (unsigned)d->conf->workers
		     : cores > 0      ? (unsigned)cores
				      : 1;

	d->shared.nworkers = n < LIMIT_WORKERS ? n : LIMIT_WORKERS;
	(void)mallopt(M_ARENA_MAX,
		(int)d->shared.nworkers + 1); /* a heap for each thread; more is only more memory */
	for (unsigned i = 0; i < d->shared.nworkers; i++) {
		int r = worker_new(&d->shared, i, &d->shared.workers[i]);

		if (r < 0)
			return log_errno(r,
				"cannot make worker %u (io_uring needs Linux 6.1 and "
				"kernel.io_uring_disabled=0)",
				i);
	}
	return 0;
}

static void main_audit_event(void *arg, const struct audit_event *e)
{
	registry_event(arg, e);
}

static void main_audit_lost(void *arg, uint64_t n)
{
	registry_lose(arg, n);
}

static int main_start(struct daemon *d)
{
	for (unsigned i = 0; i < d->shared.nworkers; i++) {
		struct worker *w = d->shared.workers[i];
		int r;

		w->journal.read = main_audit_event;
		w->journal.lost = main_audit_lost;
		w->journal.arg = d->registry;
		r = pthread_create(&d->threads[i], NULL, worker_main, w);
		if (r)
			return log_errno(-r, "cannot start worker %u", i);
		d->nthreads++;
		while ((r = atomic_load(&w->ready)) == 0)
			(void)usleep(1000); /* a ring that is not enabled yet cannot take mail */
		if (r < 0)
			return log_errno(r, "cannot harden worker %u", i);
	}
	return 0;
}

/* A worker that failed does not say that it is at its end. */
static void main_late(struct timer *t)
{
	log_warn("a worker does not end");
	loop_stop(container_of(t, struct daemon, late)->shared.control);
}

static void main_stop(struct daemon *d)
{
	d->shared.ending = true;
	registry_leave(d->registry);
	if (d->shared.resolver)
		resolve_cancel(d->shared.resolver);
	for (unsigned i = 0; i < d->nthreads; i++)
		worker_end(d->shared.workers[i]);
	d->late.fire = main_late;
	timer_start(d->shared.control, &d->late, MAIN_END);
	(void)loop_run(
		d->shared
			.control); /* until the last worker is at its end: they wait for mail from here */
	timer_stop(d->shared.control, &d->late);
}

static void main_signal(struct watch *w, uint32_t revents)
{
	struct signalfd_siginfo info;

	(void)revents;
	if (read(w->fd, &info, sizeof(info)) == sizeof(info)) {
		log_info("ending on signal %u", info.ssi_signo);
		loop_stop(((struct daemon *)w->arg)->shared.control);
	}
}

static int main_signals(struct daemon *d)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return log_errno(-errno, "signals");
	d->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return d->signals < 0 ? log_errno(-errno, "signals") : 0;
}

static bool main_refuse_peer(void *arg, pid_t pid, uid_t uid, uint64_t netns, const char *cgroup)
{
	(void)pid;
	(void)uid;
	return registry_inside(((struct daemon *)arg)->registry, netns, cgroup);
}

/* The path is another daemon's now. */
static void main_drain(void *arg)
{
	struct daemon *d = arg;

	control_free(TAKE_PTR(d->control));
}

static int main_control(struct daemon *d)
{
	struct control_setup setup = {
		.loop = d->shared.control,
		.listener = d->listener,
		.routes = control_routes,
		.nroutes = control_nroutes,
		.source = &d->source,
		.refuse_peer = main_refuse_peer,
		.refuse_arg = d,
	};
	int r;

	registry_source(d->registry, &d->source);
	r = control_new(&setup, &d->control);
	if (r < 0)
		return log_errno(r, "cannot serve the control socket");
	d->signal_watch.ready = main_signal;
	d->signal_watch.arg = d;
	r = watch_start(d->shared.control, &d->signal_watch, d->signals, POLLIN);
	r = r ? r : registry_start(d->registry);
	return r < 0 ? log_errno(r, "cannot start") : 0;
}

static int main_run(struct daemon *d)
{
	int r;

	tzset(); /* reads its file now: gmtime_r() would in a thread that may open none */
	r = loop_enable(d->shared.control);
	r = r ? r : main_start(d);
	r = r ? r : seccomp_control();
	r = r ? r : main_control(d);
	if (r < 0)
		return r;
	log_info("sallyportd " SALLYPORT_VERSION " serves %s with %u workers", d->conf->state,
		d->shared.nworkers);
	r = loop_run(d->shared.control);
	if (r < 0)
		return log_errno(r, "control thread");
	return registry_failed(d->registry) ? -ECANCELED : 0;
}

/* Everything is returned, so that a leak checker has something to say. */
static void main_end(struct daemon *d)
{
	if (d->nthreads)
		main_stop(d);
	for (unsigned i = 0; i < d->nthreads; i++)
		(void)pthread_join(d->threads[i], NULL);
	for (unsigned i = 0; i < d->nthreads; i++)
		journal_drain(&d->shared.workers[i]->journal);
	control_free(d->control);
	registry_free(d->registry);
	resolve_free(d->shared.resolver);
	for (unsigned i = 0; i < d->shared.nworkers; i++)
		worker_free(d->shared.workers[i]);
	loop_free(d->shared.control);
	audit_close(d->shared.audit);
	tls_trust_unref(d->shared.trust);
	for (unsigned i = 0; d->credentials && i < d->conf->ncredentials; i++)
		credset_unref(d->credentials[i]);
	free(d->credentials);
	daemon_conf_free(d->conf);
}

static int main_serve(struct daemon *d)
{
	static const loop_handler handlers[LOOP_OP_MAX] = {[NAMING_OP] = naming_synced};
	struct loop_setup loop = {.entries = MAIN_ENTRIES, .handlers = handlers};
	struct registry_setup registry = {.shared = &d->shared,
		.conf = d->conf,
		.cgroup_root = d->cgroup_root,
		.take_over = d->take_over,
		.drain = main_drain,
		.arg = d};
	int r = main_user(d);

	if (r == 0 && geteuid() != 0) {
		log_error("must be started as root (it then becomes %s): use sudo", d->conf->user);
		r = -EPERM;
	}
	r = r ? r : privileges_limits();
	r = r ? r : main_credentials(d);
	r = r ? r : main_cgroup(d);
	r = r ? r : main_state(d);
	r = r ? r : main_audit(d);
	r = r ? r : main_trust(d);
	r = r ? r : main_signals(d);
	if (r == 0) {
		r = privileges_drop(d->uid, d->gid);
		if (r < 0)
			return log_errno(r, "cannot drop privileges");
	}
	if (r == 0) {
		r = loop_new(&loop, &d->shared.control);
		if (r < 0)
			return log_errno(r, "cannot make a ring (io_uring needs Linux 6.1 and "
					    "kernel.io_uring_disabled=0)");
	}
	d->shared.state = d->conf->state;
	d->shared.synthetic =
		(struct synthetic_range){d->conf->synthetic_first, d->conf->synthetic_last};
	registry.credentials = d->credentials;
	r = r ? r : main_resolver(d);
	registry.resolvers = d->resolvers;
	registry.nresolvers = d->nresolvers;
	r = r ? r : main_workers(d);
	r = r ? r : registry_new(&registry, &d->registry);
	return r ? r : main_run(d);
}

/* ---- command line */

static int main_check(struct daemon *d)
{
	int r = main_user(d);

	r = r ? r : main_credentials(d);
	r = r ? r : main_trust(d);
	if (r == 0)
		(void)printf("the configuration is good\nstate %s\ndrain %llu\n", d->conf->state,
			(unsigned long long)d->conf->drain);
	return r;
}

static int main_usage(FILE *to, int status)
{
	(void)fputs(
		"usage: sallyportd --config FILE [--take-over] | --check-config FILE | --version\n"
		"  --config        reads the configuration (YAML) and serves, see sallyportd(8)\n"
		"  --take-over     from the sallyportd that serves there, which then ends\n"
		"  --check-config  reads it, and the credentials that it names, and says what is "
		"wrong,\n                  or where its state directory is and how long it "
		"drains\n",
		to);
	return status;
}

int main(int argc, char **argv)
{
	struct daemon d = {.listener = -1, .signals = -1};
	int r;

	log_open("sallyportd", LOG_LEVEL_INFO);
	if (argc < 2 || strcmp(argv[1], "--config") != 0 || isatty(STDERR_FILENO))
		log_plain();
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return puts("sallyportd " SALLYPORT_VERSION) < 0;
	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return main_usage(stdout, 0);
	d.take_over = argc == 4 && strcmp(argv[1], "--config") == 0 &&
		      strcmp(argv[3], "--take-over") == 0;
	if ((argc != 3 && !d.take_over) ||
		(strcmp(argv[1], "--config") != 0 && strcmp(argv[1], "--check-config") != 0))
		return main_usage(stderr, 2);
	r = main_conf(&d, argv[2]);
	if (r == 0)
		r = strcmp(argv[1], "--config") == 0 ? main_serve(&d) : main_check(&d);
	main_end(&d);
	return r < 0 ? 1 : 0;
}
