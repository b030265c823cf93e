/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sock_create.c – a program is called by socket(), sees protocol and netns cookie, and refuses with
 * an errno of its choice. So families and types that cannot be captured end where they begin.
 */
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "probe_bpf.h"

static int try_socket(int cgroup)
{
	int r;

	probe_move(cgroup, "0");
	r = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDPLITE) < 0 ? errno : 0;
	if (socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0)
		r = EIO;
	return r;
}

int main(void)
{
	const struct bpf_insn program[] = {
		MOV_REG(6, 1),
		CALL(BPF_FUNC_get_netns_cookie),
		LOAD32(0, 6, offsetof(struct bpf_sock, protocol)),
		JUMP_NE(0, IPPROTO_UDPLITE, 4),
		MOV_IMM(1, -EXDEV),
		CALL(BPF_FUNC_set_retval),
		MOV_IMM(0, 0),
		EXIT(),
		MOV_IMM(0, 1),
		EXIT(),
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_CGROUP_INET_SOCK_CREATE);
	int fd, cgroup, status;
	pid_t child;

	probe_begin("sock_create");
	cgroup = probe_cgroup();
	fd = bpf_prog_load(BPF_PROG_TYPE_CGROUP_SOCK, "probe", "GPL", program,
		sizeof(program) / sizeof(program[0]), &opts);
	probe_need(fd >= 0, "loading a sock_create program with netns cookie and set_retval");
	probe_need(bpf_link_create(fd, cgroup, BPF_CGROUP_INET_SOCK_CREATE, NULL) >= 0,
		"attaching it to a cgroup by a link");
	child = fork();
	if (child == 0)
		_exit(try_socket(cgroup));
	probe_need(child > 0 && waitpid(child, &status, 0) == child, "a child");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != EXDEV)
		probe_missing(
			"socket() gave errno %d, not the chosen %d", WEXITSTATUS(status), EXDEV);
	probe_ok();
}
