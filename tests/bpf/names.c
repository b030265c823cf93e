/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.c – who made a connection, and what its files are called. The battery runs itself again, as
 * `battery probe HOW`, from odd places in the file system and with threads, forks and rings between
 * it and connect(); the daemon's side of each connection is looked up. See battery.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <liburing.h>

#include "base/cleanup.h"
#include "tests/bpf/battery.h"

#define NAMES_PROCESS "probe-main"
#define NAMES_THREAD  "probe-thread"

/* ---- the probe: connects, writes its pid and tid, waits to be killed
 * ------------------------------------------------------------------------------------------------------
 */

struct names_ids {
	pid_t pid, tid;
};

/* A socket, and where it shall connect to. */
static int names_socket(struct sockaddr_storage *sa, socklen_t *n)
{
	struct attempt a = battery_to(CLIENT_CONNECT, "203.0.113.21", 443);

	*n = addr_to_sockaddr(&a.to, sa);
	return socket(sa->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int names_plain(void)
{
	struct sockaddr_storage sa;
	socklen_t n;
	int fd = names_socket(&sa, &n);

	return connect(fd, (struct sockaddr *)&sa, n);
}

static void names_say(pid_t tid)
{
	struct names_ids ids = {getpid(), tid};

	if (write(STDOUT_FILENO, &ids, sizeof(ids)) != sizeof(ids))
		_exit(1);
}

static void *names_in_thread(void *arg)
{
	(void)arg;
	(void)prctl(PR_SET_NAME, NAMES_THREAD);
	if (names_plain() == 0)
		names_say((pid_t)syscall(SYS_gettid));
	return NULL;
}

static int names_thread(void)
{
	pthread_t thread;
	int r = pthread_create(&thread, NULL, names_in_thread, NULL);

	return r == 0 ? pthread_join(thread, NULL) : r;
}

/* The child is another process: it has its own ids. */
static int names_fork(void)
{
	pid_t child = fork();

	if (child == 0) {
		if (names_plain() == 0)
			names_say(getpid());
		(void)pause();
	}
	return child < 0 ? -1 : 0;
}

static int names_ring(unsigned flags, bool async)
{
	struct sockaddr_storage sa;
	struct io_uring_cqe *cqe;
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	socklen_t n;
	int fd = names_socket(&sa, &n), r = io_uring_queue_init(4, &ring, flags);

	if (r < 0)
		return r;
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_connect(sqe, fd, (struct sockaddr *)&sa, n);
	if (async)
		sqe->flags |= IOSQE_ASYNC;
	(void)io_uring_submit(&ring);
	r = io_uring_wait_cqe(&ring, &cqe);
	if (r == 0)
		r = cqe->res;
	if (r == 0)
		names_say(getpid());
	return r;
}

/* Its own file goes before it connects. */
static int names_deleted(void)
{
	char path[PATH_MAX] = "";

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0 || unlink(path) < 0)
		return -1;
	return names_plain();
}

int battery_probe(char **argv)
{
	const char *how = argv[2];
	int r = -1;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, NAMES_PROCESS);
	if (strcmp(how, "thread") == 0)
		return names_thread() == 0 ? pause() : 1;
	if (strcmp(how, "fork") == 0)
		return names_fork() == 0 ? pause() : 1;
	if (strcmp(how, "plain") == 0)
		r = names_plain();
	if (strcmp(how, "deleted") == 0)
		r = names_deleted();
	if (r == 0)
		names_say(getpid());
	if (strcmp(how, "ring") == 0)
		r = names_ring(0, false);
	if (strcmp(how, "ring-worker") == 0)
		r = names_ring(0, true);
	if (strcmp(how, "ring-poller") == 0)
		r = names_ring(IORING_SETUP_SQPOLL, false);
	return r == 0 ? pause() : 1;
}

/* ---- the battery's side
 * ------------------------------------------------------------------------------------------------------
 */

struct names_probe {
	pid_t pid;
	int out; /* its standard output */
};

static struct names_probe names_start(
	const struct battery *b, const char *root, const char *file, const char *how)
{
	struct names_probe p = {.pid = -1};
	int pipes[2];

	if (pipe(pipes) < 0)
		world_die("pipe");
	p.pid = fork();
	if (p.pid == 0) {
		world_join(&b->w);
		(void)setpgid(0, 0);
		(void)dup2(pipes[1], STDOUT_FILENO);
		if (root && (chroot(root) < 0 || chdir("/") < 0))
			_exit(1);
		(void)execl(file, file, "probe", how, (char *)NULL);
		_exit(1);
	}
	(void)close(pipes[1]);
	p.out = pipes[0];
	return p;
}

static void names_stop(struct names_probe *p)
{
	(void)kill(-p->pid, SIGKILL); /* with what it has forked */
	(void)kill(p->pid, SIGKILL);
	(void)waitpid(p->pid, NULL, 0);
	(void)close(p->out);
}

/* Runs a probe until it has connected; what the flow map and the probe say of it. */
static bool names_run(struct battery *b, const char *root, const char *file, const char *how,
	struct capture_client *ret, struct names_ids *ret_ids)
{
	struct names_probe p = names_start(b, root, file, how);
	struct pollfd said = {.fd = p.out, .events = POLLIN};
	bool ok = poll(&said, 1, 5000) == 1 &&
		  read(p.out, ret_ids, sizeof(*ret_ids)) == sizeof(*ret_ids) &&
		  battery_arrival(b, ret);

	names_stop(&p);
	return ok;
}

static void names_check_who(struct battery *b)
{
	static const struct {
		const char *how, *comm;
		bool thread; /* the facts are those of a thread that is not the first */
	} ways[] = {
		{"plain", NAMES_PROCESS, false},
		{"thread", NAMES_THREAD, true},
		{"fork", NAMES_PROCESS, false},
		{"ring", NAMES_PROCESS, false},
		{"ring-worker", NAMES_PROCESS, false},
		{"ring-poller", NAMES_PROCESS, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct capture_client c = {.pid = 0};
		struct names_ids ids = {0, 0};
		bool ok = names_run(b, NULL, "/proc/self/exe", ways[i].how, &c, &ids);

		battery_report(b,
			ok && c.tgid == (uint32_t)ids.pid && c.pid == (uint32_t)ids.tid &&
				(ids.tid != ids.pid) == ways[i].thread &&
				strcmp(c.comm, ways[i].comm) == 0 && c.cgroup == b->w.cgroup_id &&
				c.exe_ino && c.start_ns,
			"who, by %s: tgid %u pid %u of %d %d, %.16s", ways[i].how, c.tgid, c.pid,
			(int)ids.pid, (int)ids.tid, c.comm);
	}
}

static void names_path_of(
	const struct battery *b, const struct capture_client *c, struct capture_path *ret)
{
	struct capture_exe_key key = {.ino = c->exe_ino, .dev = c->exe_dev};
	int maps[PROGRAMS_SHARED];

	programs_shared_fds(b->programs, maps);
	(void)snprintf(ret->text, sizeof(ret->text), "(none)");
	(void)bpf_map_lookup_elem(maps[1], &key, ret);
}

/* file: where the battery is found; expected: its name in the map. */
static void names_check_path(struct battery *b, const char *what, const char *root,
	const char *file, const char *how, const char *expected)
{
	struct capture_client c = {.pid = 0};
	struct capture_path path;
	struct names_ids ids;
	bool ok = names_run(b, root, file, how, &c, &ids);

	names_path_of(b, &c, &path);
	battery_report(
		b, ok && strcmp(path.text, expected) == 0, "executable, %s: %s", what, path.text);
}

/* A directory so deep that the name of what is in it has no room. */
static void names_deep(char ret[PATH_MAX])
{
	size_t n = (size_t)snprintf(ret, PATH_MAX, WORLD_FILES);

	for (int i = 0; i < 4; i++) {
		n += (size_t)snprintf(ret + n, PATH_MAX - n, "/%080d", i);
		if (mkdir(ret, 0755) < 0)
			world_die(ret);
	}
	(void)snprintf(ret + n, PATH_MAX - n, "/battery");
}

static void names_copy(const char *to)
{
	char command[2 * PATH_MAX];

	(void)snprintf(command, sizeof(command), "cp /proc/%d/exe %s", (int)getpid(), to);
	world_run(command);
}

static void names_check_paths(struct battery *b)
{
	char self[PATH_MAX] = "", deep[PATH_MAX];

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		world_die("/proc/self/exe");
	names_check_path(b, "where it was built", NULL, self, "plain", self);
	names_copy(WORLD_FILES "/copy");
	names_check_path(b, "on a mount", NULL, WORLD_FILES "/copy", "plain", WORLD_FILES "/copy");
	if (rename(WORLD_FILES "/copy", WORLD_FILES "/renamed") < 0)
		world_die("rename");
	names_check_path(
		b, "renamed", NULL, WORLD_FILES "/renamed", "plain", WORLD_FILES "/renamed");
	names_check_path(b, "deleted", NULL, WORLD_FILES "/renamed", "deleted",
		WORLD_FILES "/renamed (deleted)");
	names_copy(WORLD_FILES "/source");
	world_run("touch " WORLD_FILES "/bound && mount --bind " WORLD_FILES "/source " WORLD_FILES
		  "/bound");
	names_check_path(b, "a file bound over another", NULL, WORLD_FILES "/bound", "plain",
		WORLD_FILES "/bound");
	world_run("mkdir " WORLD_FILES "/root && mount --rbind / " WORLD_FILES
		  "/root && mount --make-rprivate " WORLD_FILES
		  "/root && mount -t tmpfs root " WORLD_FILES "/root/tmp");
	names_copy(WORLD_FILES "/root/tmp/inner");
	names_check_path(b, "in a root of its own", WORLD_FILES "/root", "/tmp/inner", "plain",
		"/tmp/inner");
	names_deep(deep);
	names_copy(deep);
	names_check_path(b, "too long", NULL, deep, "plain", "");
}

static void names_check_cgroup(struct battery *b)
{
	struct capture_path path = {.text = "(none)"};
	const char *end;
	int maps[PROGRAMS_SHARED];

	programs_shared_fds(b->programs, maps);
	(void)bpf_map_lookup_elem(maps[2], &b->w.cgroup_id, &path);
	end = strrchr(path.text, '/');
	battery_report(b, path.text[0] == '/' && end && strcmp(end + 1, b->w.name) == 0,
		"the cgroup's path: %s", path.text);
}

void battery_check_names(struct battery *b)
{
	names_check_who(b);
	names_check_paths(b);
	names_check_cgroup(b);
}
