/* SPDX-License-Identifier: Apache-2.0 */
/* clone_into_cgroup.c – a child begins its life in another cgroup (clone3 with CLONE_INTO_CGROUP). */
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "probe_bpf.h"

int main(void)
{
	struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD};
	char line[512] = "";
	int ends[2], status;
	ssize_t n = 0;
	pid_t child;

	probe_begin("clone_into_cgroup");
	args.cgroup = (uint64_t)probe_cgroup();
	probe_need(pipe(ends) == 0, "a pipe");
	child = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (child == 0) {
		int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);

		n = read(fd, line, sizeof(line));
		_exit(n > 0 && write(ends[1], line, (size_t)n) == n ? 0 : 1);
	}
	probe_need(child > 0, "clone3(CLONE_INTO_CGROUP)");
	probe_need(waitpid(child, &status, 0) == child && status == 0, "a child");
	probe_need(read(ends[0], line, sizeof(line) - 1) > 0, "its answer");
	if (!strstr(line, strrchr(probe_cgroup_path, '/')))
		probe_missing("the child is in another cgroup");
	probe_ok();
}
