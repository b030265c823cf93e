/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * enter.c – three processes: the waiter outside, an init, the command. Before there are three, what
 * the daemon handed out for the sandbox is read, outside and as root (handout.h).
 *
 *   waiter   stays outside; passes signals on, waits, returns the status. It does not matter to the
 * sandbox: when it dies, so does the init, by PDEATHSIG, and with the init all of its pid
 * namespace. init     pid 1 of a new pid namespace. Goes inside in this order, each step needing
 * what a later one takes away: cgroup → netns → mounts → descriptors → user, capabilities →
 * PDEATHSIG anew, since a change of uid clears it → seccomp. Then starts the command, reaps
 * orphans, passes signals on, ends with the command's status. command  a clean environment and what
 * the handout and --env add, in the caller's directory if it may.
 *
 * A terminal's signals reach all three by their process group: the two ignore those and pass on
 * only what a process sent (si_code), so that Ctrl-C is the command's to judge.
 *
 * #syscalls: unshare setns fork execvp waitid sigtimedwait kill prctl close_range pipe2 openat
 * write chdir
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netns-helper/enter.h"
#include "netns-helper/handout.h"
#include "netns-helper/jail.h"
#include "netns-helper/privileges.h"
#include "netns-helper/scratch.h"
#include "netns-helper/view.h"

#include "base/cleanup.h"
#include "base/log.h"

extern char **environ;

/* Passed from the caller's environment: how to talk to the terminal, in which language. Nothing
 * that holds a secret. */
static const char *const enter_kept[] = {"TERM", "COLORTERM", "LANG", "LANGUAGE", "LC_ALL",
	"LC_CTYPE", "LC_MESSAGES", "LC_TIME", "LC_NUMERIC", "LC_COLLATE", "TZ", "COLUMNS", "LINES"};

static const char enter_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/* Passed on from the waiter to the init to the command. */
static const int enter_signals[] = {
	SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT, SIGWINCH};

static void enter_signal_set(sigset_t *ret)
{
	(void)sigemptyset(ret); /* these cannot fail for valid signals */
	(void)sigaddset(ret, SIGCHLD);
	for (size_t i = 0; i < ARRAY_SIZE(enter_signals); i++)
		(void)sigaddset(ret, enter_signals[i]);
}

static int enter_status(const siginfo_t *info)
{
	return info->si_code == CLD_EXITED ? info->si_status : 128 + info->si_status;
}

/* Reaps whatever ended. Whether the child did, with its status. */
static bool enter_reap(pid_t child, int *ret)
{
	for (;;) {
		siginfo_t info = {.si_pid = 0};

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) < 0 || info.si_pid == 0)
			return false;
		if (info.si_pid != child)
			continue;
		*ret = enter_status(&info);
		return true;
	}
}

/* Waits for the child with the signals blocked, passing on those that processes sent. Its status.
 */
static int enter_wait(pid_t child)
{
	sigset_t set;
	int status;

	enter_signal_set(&set);
	for (;;) {
		siginfo_t info;
		int number;

		if (enter_reap(child, &status))
			return status;
		number = sigwaitinfo(&set, &info);
		if (number > 0 && number != SIGCHLD && info.si_code <= 0)
			(void)kill(child, number); /* it may just have ended */
	}
}

/* A default is never uid 0: root's files are read and written only where that was asked for. */
static const struct passwd *enter_default_user(void)
{
	const char *name = getenv("SUDO_USER");
	const struct passwd *found = name && *name ? getpwnam(name) : NULL;

	return found && found->pw_uid != 0 ? found : getpwnam("nobody");
}

static bool enter_has_shell(const struct passwd *user)
{
	static const char *const none[] = {"nologin", "false", ""};
	const char *end = strrchr(user->pw_shell, '/');

	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if (strcmp(end ? end + 1 : user->pw_shell, none[i]) == 0)
			return false;
	return true;
}

static int enter_user(const char *name, struct passwd *ret)
{
	static char root[] = "/", shell[] = "/bin/sh";
	const struct passwd *found = name ? getpwnam(name) : enter_default_user();

	if (!found) {
		log_error("--user: there is no user %s", name ? name : "nobody: name one");
		return -ENOENT;
	}
	if (found->pw_uid == 0)
		log_warn("the command runs as root: it can read and write root's files, credential "
			 "sources among them");
	*ret = *found;
	if (access(ret->pw_dir, F_OK) < 0)
		ret->pw_dir = root; /* as that of nobody: never there */
	if (!enter_has_shell(ret))
		ret->pw_shell = shell;
	return 0;
}

/* What was handed out: none is a note, a bad one is a failure. 0 or -errno, logged. */
static int enter_handout(const struct enter_spec *spec, struct handout *ret)
{
	struct fault fault = {""};
	int r = handout_read(spec->state, spec->id, &fault, ret);

	if (r == -ENOENT) {
		if (!spec->trust)
			log_warn("%s; the command has no placeholders and does not trust the "
				 "sandbox's certificates",
				fault.text);
		return 0;
	}
	if (r < 0)
		log_error("%s", fault.text);
	return r;
}

/* For programs that do not read the system's bundle. */
static int enter_trust_variables(const char *state)
{
	static const struct {
		const char *variable, *file;
	} rows[] = {{"NODE_EXTRA_CA_CERTS", VIEW_CA},
		{"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", VIEW_BUNDLE}};
	char path[VIEW_PATH];
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (view_find(state, rows[i].file, path))
			r |= setenv(rows[i].variable, path, 1);
	return r;
}

/* Whoever comes later in here wins: the daemon's, ours, the caller's. */
static int enter_environment(
	const struct enter_spec *spec, const struct handout *handout, const struct passwd *user)
{
	char **caller = environ;
	static char *none[] = {NULL};
	const struct {
		const char *name, *value;
	} set[] = {{"PATH", enter_path}, {"HOME", user->pw_dir}, {"USER", user->pw_name},
		{"LOGNAME", user->pw_name}, {"SHELL", user->pw_shell}};
	int r = 0;

	environ = none; /* setenv() from here on makes a new one */
	for (size_t i = 0; i < handout->nvariables; i++)
		r |= setenv(handout->variables[i].name, handout->variables[i].value, 1);
	r |= enter_trust_variables(spec->state);
	for (size_t i = 0; i < ARRAY_SIZE(set); i++)
		r |= setenv(set[i].name, set[i].value, 1);
	for (; *caller; caller++) {
		size_t n = strcspn(*caller, "=");

		for (size_t i = 0; i < ARRAY_SIZE(enter_kept); i++)
			if (strlen(enter_kept[i]) == n && strncmp(*caller, enter_kept[i], n) == 0)
				r |= putenv(*caller);
		for (size_t i = 0; i < spec->nenv; i++)
			if (strlen(spec->env[i]) == n && strncmp(*caller, spec->env[i], n) == 0)
				r |= putenv(*caller);
	}
	for (size_t i = 0; i < spec->nenv; i++)
		if (strchr(spec->env[i], '='))
			r |= putenv((char *)spec->env[i]); /* not changed */
	return r ? -ENOMEM : 0;
}

static int enter_join(const struct enter_spec *spec)
{
	_cleanup_close_ int procs = openat(spec->cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	if (procs < 0 || write(procs, "0", 1) != 1)
		return log_errno(-errno, "cannot join the cgroup");
	if (setns(spec->netns_fd, CLONE_NEWNET) < 0)
		return log_errno(-errno, "cannot enter the network namespace");
	if (unshare(CLONE_NEWNS | CLONE_NEWIPC) < 0)
		return log_errno(-errno, "cannot make a mount namespace");
	return 0;
}

/* Who starts in /tmp itself sees none of what he sees outside. */
static void enter_say_scratch(const struct enter_spec *spec, const char *directory)
{
	if (scratch_is(directory) && spec->nshare == 0)
		log_warn("the sandbox has a %s of its own, which is empty: start in a directory "
			 "below it, "
			 "or see --share",
			directory);
}

/* pid 1's way inside. 0 or -errno, logged. */
static int enter_inside(
	const struct enter_spec *spec, const struct handout *handout, const struct passwd *user)
{
	char directory[PATH_MAX];
	const struct view_spec view = {
		.state = spec->state,
		.ca = slice_of(handout->ca, handout->ca_n),
		.trust = spec->trust,
		.search = spec->search,
		.hide = spec->hide,
		.nhide = spec->nhide,
		.share = spec->share,
		.nshare = spec->nshare,
		.directory = directory,
	};
	bool vsock = jail_vsock();
	struct fault fault = {""};
	int r;

	if (!getcwd(directory, sizeof(directory)) || directory[0] != '/')
		(void)snprintf(directory, sizeof(directory), "/");
	enter_say_scratch(spec, directory);
	r = enter_join(spec);
	if (r < 0)
		return r;
	r = view_set_up(&view, &fault);
	if (r < 0) {
		log_error("%s", fault.text);
		return r;
	}
	if (close_range(3, ~0U, 0) < 0)
		return log_errno(-errno, "cannot close descriptors");
	r = privileges_sandbox(user->pw_name, user->pw_uid, user->pw_gid);
	if (r < 0)
		return log_errno(r, "cannot become %s", user->pw_name);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return log_errno(-errno, "cannot tie the sandbox to its waiter");
	/* the init has the caller's memory and environment, and in the sandbox's /proc it is pid 1 (undone by execve) */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return log_errno(-errno, "cannot hide the init's memory");
	r = jail_load(vsock);
	if (r < 0)
		return log_errno(r, "cannot load the seccomp filter");
	if (chdir(directory) < 0 && chdir(user->pw_dir) < 0 && chdir("/") < 0)
		return log_errno(-errno, "cannot enter a directory");
	r = enter_environment(spec, handout, user);
	return r < 0 ? log_errno(r, "cannot set the environment") : 0;
}

static void enter_execute(char **command) __attribute__((noreturn));
static void enter_execute(char **command)
{
	sigset_t none;
	int r;

	(void)signal(SIGINT, SIG_DFL); /* a launcher that waits in a shell has them ignored */
	(void)signal(SIGQUIT, SIG_DFL);
	(void)sigemptyset(&none); /* none of these can fail */
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)execvp(command[0], command);
	r = -errno;
	(void)log_errno(r, "%s%s", command[0],
		r == -ENOENT && scratch_holds(command[0])
			? " (the machine's is another: see --share)"
			: "");
	_exit(r == -ENOENT ? ENTER_ABSENT : ENTER_CANNOT);
}

static void enter_init(const struct enter_spec *spec, const struct handout *handout,
	const struct passwd *user, int alive) __attribute__((noreturn));
static void enter_init(const struct enter_spec *spec, const struct handout *handout,
	const struct passwd *user, int alive)
{
	struct pollfd waiter = {.fd = alive, .events = 0};
	pid_t child;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || poll(&waiter, 1, 0) > 0)
		_exit(ENTER_FAILED); /* the waiter died before it could be waited on */
	if (enter_inside(spec, handout, user) < 0)
		_exit(ENTER_FAILED);
	child = fork();
	if (child < 0) {
		(void)log_errno(-errno, "cannot start a process");
		_exit(ENTER_FAILED);
	}
	if (child == 0)
		enter_execute(spec->command);
	_exit(enter_wait(child));
}

/* The first process of a new pid namespace; later children are of the own one again. As fork(2), or
 * -errno. */
static pid_t enter_fork(void)
{
	_cleanup_close_ int own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	pid_t init;

	if (own < 0 || unshare(CLONE_NEWPID) < 0)
		return -errno;
	init = fork();
	if (init < 0)
		return -errno;
	if (init > 0 && setns(own, CLONE_NEWPID) < 0)
		return -errno;
	return init;
}

int enter(const struct enter_spec *spec)
{
	_cleanup_close_ int alive = -1;
	struct handout handout;
	struct passwd user;
	sigset_t set;
	int ends[2];
	pid_t init;

	if (enter_user(spec->user, &user) < 0 || enter_handout(spec, &handout) < 0)
		return ENTER_FAILED;
	enter_signal_set(&set);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 || pipe2(ends, O_CLOEXEC) < 0) {
		(void)log_errno(-errno, "cannot prepare to wait");
		return ENTER_FAILED;
	}
	alive = ends[1]; /* closes when this process ends, however it ends */
	init = enter_fork();
	if (init < 0) {
		(void)log_errno(init, "cannot start a process in a pid namespace");
		return ENTER_FAILED;
	}
	if (init == 0) {
		(void)close(ends[1]); /* the copy that is not the waiter's */
		enter_init(spec, &handout, &user, ends[0]);
	}
	(void)close(ends[0]); /* is the init's */
	return enter_wait(init);
}
