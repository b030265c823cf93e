/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_retval.c – a connect4 program asks for the netns cookie and refuses with an errno of its
 * choice (bpf_set_retval and return 0), which the caller of connect() sees.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "probe_bpf.h"

static int try_connect(int cgroup)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
	int fd;

	probe_move(cgroup, "0");
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ? errno : 0;
}

int main(void)
{
	const struct bpf_insn program[] = {
		CALL(BPF_FUNC_get_netns_cookie), /* r1 is the context */
		MOV_IMM(1, -EXDEV),
		CALL(BPF_FUNC_set_retval),
		MOV_IMM(0, 0),
		EXIT(),
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_CGROUP_INET4_CONNECT);
	int fd, link, cgroup, status;
	pid_t child;

	probe_begin("set_retval");
	cgroup = probe_cgroup();
	fd = bpf_prog_load(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, "probe", "GPL", program,
		sizeof(program) / sizeof(program[0]), &opts);
	probe_need(fd >= 0, "loading a connect4 program with netns cookie and set_retval");
	link = bpf_link_create(fd, cgroup, BPF_CGROUP_INET4_CONNECT, NULL);
	probe_need(link >= 0, "attaching it to a cgroup by a link");
	child = fork();
	if (child == 0)
		_exit(try_connect(cgroup));
	probe_need(child > 0 && waitpid(child, &status, 0) == child, "a child");
	(void)close(link);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != EXDEV)
		probe_missing(
			"connect() gave errno %d, not the chosen %d", WEXITSTATUS(status), EXDEV);
	probe_ok();
}
