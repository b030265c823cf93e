/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_kill.c – writing to cgroup.kill ends every process of a cgroup. Without it the helper
 * signals them in turn. */
#include <signal.h>
#include <sys/wait.h>

#include "probe_bpf.h"

int main(void)
{
	int cgroup, fd, status = 0;
	char pid[16];
	pid_t child;

	probe_begin("cgroup_kill");
	cgroup = probe_cgroup();
	child = fork();
	if (child == 0)
		for (;;)
			(void)pause();
	probe_need(child > 0, "fork");
	(void)snprintf(pid, sizeof(pid), "%d", (int)child);
	probe_move(cgroup, pid);
	fd = openat(cgroup, "cgroup.kill", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "1", 1) != 1) {
		status = errno;
		(void)kill(child, SIGKILL);
		(void)waitpid(child, NULL, 0);
		probe_skipped("%s", strerror(status));
	}
	probe_need(waitpid(child, &status, 0) == child, "waiting");
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		probe_missing("the process was not killed");
	probe_ok();
}
