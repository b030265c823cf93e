/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.c – see machine.h. A question is a row of `machine_rows`. A row looks and changes
 * nothing; what it can say without root it says without root.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "ctl/beat.h"
#include "ctl/cgroup2.h"
#include "ctl/finding.h"
#include "ctl/machine.h"

#define MACHINE_USER   "sallyport"
#define MACHINE_SOURCE "sallyport-source"
#define MACHINE_CA     "/etc/ssl/certs/ca-certificates.crt"

enum {
	MACHINE_FILES = 4096, /* descriptors: a thousand connections with two sides, and the rest */
	MACHINE_MEMLOCK = 8 << 20, /* bytes of credentials in locked memory, with room */
	MACHINE_STATE = 0750, /* of the state directory, no more */
};

/* ---- the ground */

static void machine_cgroup2(const char *state, struct finding *f)
{
	char mount[512], controllers[600];
	int r = cgroup2_mount(mount, sizeof(mount));

	(void)state;
	if (r < 0) {
		finding_set(f, FINDING_MISSING, "no cgroup v2 is mounted");
		return;
	}
	(void)snprintf(controllers, sizeof(controllers), "%s/cgroup.procs", mount);
	if (access(controllers, F_OK) < 0)
		finding_set(f, FINDING_MISSING, "%s: %s", controllers, strerror(errno));
	else if (geteuid() == 0 && access(mount, W_OK) < 0)
		finding_set(f, FINDING_MISSING, "%s cannot be written: %s", mount, strerror(errno));
	else
		finding_set(f, FINDING_OK, "mounted on %s", mount);
}

static void machine_has_user(const char *name, enum finding_state otherwise, struct finding *f)
{
	if (!getpwnam(name))
		finding_set(f, otherwise, "there is no user %s", name);
}

static void machine_user(const char *state, struct finding *f)
{
	(void)state;
	machine_has_user(MACHINE_USER, FINDING_MISSING, f);
}

static void machine_source_user(const char *state, struct finding *f)
{
	(void)state;
	machine_has_user(MACHINE_SOURCE, FINDING_WITHOUT, f);
}

/* The program beside this one, with --help: it starts when its libraries are there. Its status. */
static int machine_starts(const char *path)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

		if (nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0 &&
			dup2(nowhere, STDERR_FILENO) >= 0)
			(void)execl(path, path, "--help", (char *)NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void machine_programs(const char *state, struct finding *f)
{
	static const char *const names[] = {"sallyportd", "sallyport-netns"};
	char self[PATH_MAX], path[PATH_MAX + 32];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	self[n < 0 ? 0 : n] = '\0';
	self[strlen(self) - strlen(strrchr(self, '/') ? strrchr(self, '/') : self)] = '\0';
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", self, names[i]);
		if (access(path, X_OK) < 0) {
			finding_set(f, FINDING_MISSING, "%s: %s", path, strerror(errno));
			return;
		}
		if (machine_starts(path) != 0) {
			finding_set(f, FINDING_MISSING, "%s does not start (ldd %s)", path, path);
			return;
		}
	}
}

/* Whether a directory of PATH has it, or one where the system's programs are. */
static bool machine_finds(const char *name)
{
	char dirs[4096], path[4200], *rest = dirs;
	const char *list = getenv("PATH");

	(void)snprintf(dirs, sizeof(dirs), "%s:/usr/sbin:/usr/bin:/sbin:/bin", list ? list : "");
	for (const char *dir; (dir = strsep(&rest, ":"));) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
		if (dir[0] && access(path, X_OK) == 0)
			return true;
	}
	return false;
}

static void machine_tools(const char *state, struct finding *f)
{
	static const char *const names[] = {"ip", "setsid", "awk", "getent", "readlink", "sed"};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (!machine_finds(names[i])) {
			finding_set(f, FINDING_MISSING, "there is no program %s", names[i]);
			return;
		}
}

static void machine_trust(const char *state, struct finding *f)
{
	struct stat st;

	(void)state;
	if (stat(MACHINE_CA, &st) < 0 || st.st_size == 0)
		finding_set(f, FINDING_WITHOUT, MACHINE_CA ": not there");
}

static void machine_resolver(const char *state, struct finding *f)
{
	FILE *file = fopen("/etc/resolv.conf", "re");
	char line[512], server[256];
	bool found = false;

	(void)state;
	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, " nameserver %255s", server) == 1;
	if (file)
		(void)fclose(file);
	if (!found)
		finding_set(f, FINDING_WITHOUT, "/etc/resolv.conf names no server");
}

/* ---- limits */

static void machine_limit(int which, unsigned long wanted, const char *name, struct finding *f)
{
	struct rlimit l;

	if (getrlimit((__rlimit_resource_t)which, &l) == 0 && l.rlim_max != RLIM_INFINITY &&
		l.rlim_max < wanted)
		finding_set(f, FINDING_WITHOUT, "the hard limit of %s is %lu, below %lu", name,
			(unsigned long)l.rlim_max, wanted);
}

static void machine_files(const char *state, struct finding *f)
{
	(void)state;
	machine_limit(RLIMIT_NOFILE, MACHINE_FILES, "descriptors", f);
}

static void machine_memlock(const char *state, struct finding *f)
{
	(void)state;
	machine_limit(RLIMIT_MEMLOCK, MACHINE_MEMLOCK, "locked memory", f);
}

/* ---- what runs already */

static void machine_state(const char *state, struct finding *f)
{
	struct stat st;

	if (stat(state, &st) < 0 && errno == ENOENT)
		finding_set(f, FINDING_OK, "%s is not there yet; the helper will make it", state);
	else if (stat(state, &st) < 0)
		finding_set(f, FINDING_UNTRIED, "%s: %s", state, strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		finding_set(f, FINDING_MISSING, "%s is no directory", state);
	else if (st.st_uid != 0)
		finding_set(f, FINDING_DANGER, "%s belongs to uid %u, not to root", state,
			(unsigned)st.st_uid);
	else if (st.st_mode & 07777 & ~MACHINE_STATE)
		finding_set(f, FINDING_DANGER, "%s has mode %04o, more than %04o", state,
			(unsigned)(st.st_mode & 07777), (unsigned)MACHINE_STATE);
}

/* A daemon that hangs still has its socket: what counts is what the kernel's programs go by. */
static void machine_heartbeat(const char *state, struct finding *f)
{
	struct beat beat = {.down = false};
	int r = beat_read(state, &beat);
	const char *meanwhile = beat.waits ? "wait" : "are refused";

	if (r == -ENOENT || r == -ENOTDIR)
		finding_set(f, FINDING_OK, "no helper runs there with BPF: there is none");
	else if (r < 0)
		finding_set(f, FINDING_UNTRIED, "%s/bpf: %s", state, strerror(-r));
	else if (beat.down)
		finding_set(f, FINDING_WITHOUT,
			"no daemon has served for %" PRIu64 " s: connections of sandboxes %s",
			beat.age_ms / 1000, meanwhile);
	else if (beat.late)
		finding_set(f, FINDING_WITHOUT,
			"the daemon gave its last sign of life %" PRIu64 " s ago: it hangs, and "
			"connections of sandboxes %s",
			beat.age_ms / 1000, meanwhile);
	else
		finding_set(f, FINDING_OK, "%" PRIu64 " ms old", beat.age_ms);
}

/* The process that listens on the control socket. 0, or -errno when there is none. */
static int machine_daemon(const char *state, pid_t *ret)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct ucred peer;
	socklen_t n = sizeof(peer);
	int r = snprintf(to.sun_path, sizeof(to.sun_path), "%s/control.sock", state);

	if (fd < 0 || r < 0 || (size_t)r >= sizeof(to.sun_path))
		return fd < 0 ? -errno : -ENAMETOOLONG;
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0 ||
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
		return -errno;
	*ret = peer.pid;
	return 0;
}

static void machine_own_cgroup(const char *state, struct finding *f)
{
	char path[512], mount[512], file[1100], line[64];
	unsigned others = 0;
	pid_t pid = 0;
	FILE *procs;
	int r = machine_daemon(state, &pid);

	if (r < 0) {
		if (r == -ENOENT || r == -ECONNREFUSED)
			finding_set(f, FINDING_OK, "no daemon runs in %s", state);
		else
			finding_set(f, FINDING_UNTRIED, "%s/control.sock: %s", state, strerror(-r));
		return;
	}
	if (cgroup2_of(pid, path, sizeof(path)) < 0 || cgroup2_mount(mount, sizeof(mount)) < 0) {
		finding_set(f, FINDING_UNTRIED, "the daemon's cgroup cannot be read");
		return;
	}
	(void)snprintf(file, sizeof(file), "%s%s/cgroup.procs", mount, path);
	procs = fopen(file, "re");
	while (procs && fgets(line, sizeof(line), procs))
		others += atoi(line) != pid;
	if (procs)
		(void)fclose(procs);
	if (strcmp(path, "/") == 0 || others)
		finding_set(f, FINDING_WITHOUT, "the daemon shares the cgroup %s", path);
}

/* ---- ways around */

static void machine_vsock(const char *state, struct finding *f)
{
	static const char *const signs[] = {
		"/dev/vsock", "/dev/vhost-vsock", "/sys/class/misc/vsock"};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(signs); i++)
		if (access(signs[i], F_OK) == 0) {
			finding_set(f, FINDING_DANGER, "%s is there", signs[i]);
			return;
		}
}

/* A number from a file of /proc/sys; the other one when there is none. */
static long machine_sysctl(const char *path, long otherwise)
{
	FILE *file = fopen(path, "re");
	long value = otherwise;

	if (file && fscanf(file, "%ld", &value) != 1)
		value = otherwise;
	if (file)
		(void)fclose(file);
	return value;
}

static void machine_unprivileged_bpf(const char *state, struct finding *f)
{
	(void)state;
	if (machine_sysctl("/proc/sys/kernel/unprivileged_bpf_disabled", 1) == 0)
		finding_set(f, FINDING_DANGER, "kernel.unprivileged_bpf_disabled is 0");
}

static const struct {
	struct finding words;
	void (*look)(const char *state, struct finding *f);
} machine_rows[] = {
	{{.name = "cgroup2",
		 .required = true,
		 .use = "telling a sandbox's processes",
		 .option = "CONFIG_CGROUPS, and the cgroup2 file system mounted",
		 .remedy = "mount -t cgroup2 none /sys/fs/cgroup (or .../unified beside v1)"},
		machine_cgroup2},
	{{.name = "user",
		 .required = true,
		 .use = "the daemon, which runs as " MACHINE_USER,
		 .remedy = "scripts/setup, or useradd --system --user-group " MACHINE_USER},
		machine_user},
	{{.name = "source_user",
		 .use = "credentials that a program fetches",
		 .remedy = "scripts/setup, or useradd --system --user-group " MACHINE_SOURCE},
		machine_source_user},
	{{.name = "programs_here",
		 .required = true,
		 .use = "daemon and helper, beside this program",
		 .remedy = "make, or install the libraries that ldd misses (scripts/setup)"},
		machine_programs},
	{{.name = "tools",
		 .required = true,
		 .use = "the launcher",
		 .remedy = "scripts/setup, or install iproute2, util-linux, libc-bin, mawk"},
		machine_tools},
	{{.name = "trust",
		 .use = "verifying upstream servers",
		 .remedy = "install ca-certificates, or write `ca:` in the daemon's configuration"},
		machine_trust},
	{{.name = "resolver",
		 .use = "the names that a policy opens",
		 .remedy = "write `resolvers:` in the daemon's configuration"},
		machine_resolver},
	{{.name = "descriptors",
		 .use = "many connections at once",
		 .remedy = "raise it for daemon and helper: ulimit -Hn, LimitNOFILE="},
		machine_files},
	{{.name = "memlock",
		 .use = "credentials that are never swapped out",
		 .remedy = "raise it for the daemon: ulimit -Hl, LimitMEMLOCK="},
		machine_memlock},
	{{.name = "state",
		 .use = "sockets and records that sandboxes cannot open",
		 .remedy =
			 "chown root and chmod 0750 the state directory, or name another: --state"},
		machine_state},
	{{.name = "heartbeat",
		 .use = "the daemon's sign of life, without which nothing is let through",
		 .remedy =
			 "start the daemon: scripts/sallyport up; of one that hangs another takes "
			 "over: scripts/sallyport upgrade"},
		machine_heartbeat},
	{{.name = "own_cgroup",
		 .use = "the guard around what the daemon dials",
		 .remedy = "start the daemon with scripts/sallyport, or give its service a cgroup"},
		machine_own_cgroup},
	{{.name = "vsock",
		 .use = "keeping sandboxes in: no network namespace confines AF_VSOCK",
		 .remedy = "unload the transport, or refuse AF_VSOCK and io_uring by seccomp, as "
			   "`enter` and the launcher do"},
		machine_vsock},
	{{.name = "unprivileged_bpf",
		 .use = "keeping sandboxes in: programs of theirs in the kernel",
		 .remedy = "sysctl kernel.unprivileged_bpf_disabled=1"},
		machine_unprivileged_bpf},
};

const size_t machine_count = ARRAY_SIZE(machine_rows);

void machine_look(size_t number, const char *state, struct finding *ret)
{
	*ret = machine_rows[number].words;
	machine_rows[number].look(state, ret);
}
