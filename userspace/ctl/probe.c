/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.c – see probe.h. A probe prints `ok NAME`, `missing NAME: symptom` or `skipped NAME:
 * symptom` and ends with 0, 1 or 77; it makes its own namespaces and cgroups and removes them. One
 * that hangs is killed with all it started; of its scratch cgroup, named after its process id, the
 * rest is removed here. #syscalls: fork execve setsid prctl pipe2 dup2 poll read waitpid kill rmdir
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "ctl/cgroup2.h"
#include "ctl/probe.h"

enum { PROBE_MS = 20000, PROBE_OUTPUT = 2048, PROBE_EXIT_SKIPPED = 77, PROBE_EXIT_NONE = 127 };

int probe_directory(char *ret, size_t n)
{
	static const char *const places[] = {"probes", "../libexec/sallyport/probes"};
	char self[4096], *slash;
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length < 0)
		return -errno;
	self[length] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	for (unsigned i = 0; i < ARRAY_SIZE(places); i++) {
		int r = snprintf(ret, n, "%s/%s", self, places[i]);

		if (r < 0 || (size_t)r >= n)
			return -ENAMETOOLONG;
		if (access(ret, X_OK) == 0)
			return 0;
	}
	return -ENOENT;
}

static void probe_child(const char *path, int out)
{
	char *const argv[] = {(char *)path, NULL};
	sigset_t none;

	(void)setsid(); /* a fresh child leads no group: this works */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* of a nicety: nothing to say when it fails */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(out, STDOUT_FILENO) >= 0 && dup2(out, STDERR_FILENO) >= 0)
		(void)execv(path, argv);
	_exit(PROBE_EXIT_NONE);
}

/* What it prints until it closes its output, or the time is over (false). */
static bool probe_listen(int fd, char *ret, size_t n)
{
	uint64_t end = clock_monotonic_ms() + PROBE_MS;
	size_t used = 0;

	for (;;) {
		uint64_t now = clock_monotonic_ms();
		struct pollfd p = {.fd = fd, .events = POLLIN};
		char spill[256];
		bool full = used + 1 >= n;
		ssize_t got;

		if (now >= end || poll(&p, 1, (int)(end - now)) < 1)
			break;
		got = read(fd, full ? spill : ret + used, full ? sizeof(spill) : n - 1 - used);
		if (got <= 0) {
			ret[used] = '\0';
			return true;
		}
		used += full ? 0 : (size_t)got;
	}
	ret[used] = '\0';
	return false;
}

/* The symptom: the first line that tells one, without the word and the name in front. */
static void probe_symptom(const char *output, char *ret, size_t n)
{
	static const char *const words[] = {"missing ", "skipped "};

	for (const char *line = output; *line;) {
		size_t length = strcspn(line, "\n");

		for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
			const char *colon = memchr(line, ':', length);

			if (strncmp(line, words[i], strlen(words[i])) != 0 || !colon)
				continue;
			(void)snprintf(ret, n, "%.*s", (int)(length - (size_t)(colon + 2 - line)),
				colon + 2);
			return;
		}
		line += length + (line[length] == '\n');
	}
	(void)snprintf(ret, n, "it said nothing");
}

static void probe_sweep(pid_t pid)
{
	char mount[512], path[600];

	if (cgroup2_mount(mount, sizeof(mount)) < 0)
		return;
	(void)snprintf(path, sizeof(path), "%s/sallyport-probe.%d", mount, (int)pid);
	(void)rmdir(path); /* there is none where the probe ended as it should */
}

enum probe_state probe_run(const char *directory, const char *name, char *ret, size_t n)
{
	char path[4096], output[PROBE_OUTPUT] = "";
	int ends[2], status = 0;
	bool done;
	pid_t child;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (access(path, X_OK) < 0) {
		(void)snprintf(ret, n, "there is no probe %s (%s)", path, strerror(errno));
		return PROBE_BROKEN;
	}
	if (pipe2(ends, O_CLOEXEC) < 0) {
		(void)snprintf(ret, n, "no pipe: %s", strerror(errno));
		return PROBE_BROKEN;
	}
	child = fork();
	if (child == 0)
		probe_child(path, ends[1]);
	(void)close(ends[1]);
	if (child < 0) {
		(void)close(ends[0]);
		(void)snprintf(ret, n, "no process: %s", strerror(errno));
		return PROBE_BROKEN;
	}
	done = probe_listen(ends[0], output, sizeof(output));
	(void)close(ends[0]);
	(void)kill(-child, SIGKILL); /* whoever is left; the probe itself has ended when done */
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	probe_sweep(child);
	ret[0] = '\0';
	if (!done)
		(void)snprintf(ret, n, "the probe did not end within %d s", PROBE_MS / 1000);
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return PROBE_OK;
	else if (WIFEXITED(status) && WEXITSTATUS(status) == PROBE_EXIT_NONE)
		(void)snprintf(
			ret, n, "%s cannot be run: %.*s", path, (int)strcspn(output, "\n"), output);
	else
		probe_symptom(output, ret, n);
	if (!done || !WIFEXITED(status) || WEXITSTATUS(status) == PROBE_EXIT_NONE)
		return PROBE_BROKEN;
	return WEXITSTATUS(status) == PROBE_EXIT_SKIPPED ? PROBE_SKIPPED : PROBE_MISSING;
}
