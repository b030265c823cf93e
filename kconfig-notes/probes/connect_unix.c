/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect_unix.c – programs are called by connect() and sendmsg() of unix sockets and refuse them.
 * Without (before 6.7) the mount namespace alone keeps a sandbox from sockets of the host.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "probe_bpf.h"

enum { UNIX_CONNECT = 49, UNIX_SENDMSG = 50 }; /* enum bpf_attach_type, since 6.7 */

static void refuse(int cgroup, int type)
{
	const struct bpf_insn program[] = {
		MOV_IMM(1, -EXDEV),
		CALL(BPF_FUNC_set_retval),
		MOV_IMM(0, 0),
		EXIT(),
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = type);
	int fd = bpf_prog_load(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, "probe", "GPL", program,
		sizeof(program) / sizeof(program[0]), &opts);

	if (fd < 0 && errno == EINVAL)
		probe_skipped("this kernel has no %s hook for unix sockets (before 6.7)",
			type == UNIX_CONNECT ? "connect" : "sendmsg");
	probe_need(fd >= 0, "loading a program for unix sockets");
	probe_need(bpf_link_create(fd, cgroup, (enum bpf_attach_type)type, NULL) >= 0,
		"attaching it to a cgroup by a link");
}

/* An abstract name, which dies with the namespace of the probe. */
static socklen_t name(struct sockaddr_un *ret)
{
	static const char chosen[] = "sallyport-probe";

	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(ret->sun_path + 1, chosen, sizeof(chosen));
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + sizeof(chosen));
}

static int try_both(int cgroup)
{
	struct sockaddr_un to;
	socklen_t n = name(&to);
	int stream, datagram;

	probe_move(cgroup, "0");
	stream = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	datagram = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (connect(stream, (struct sockaddr *)&to, n) == 0 || errno != EXDEV)
		return 1;
	if (sendto(datagram, "x", 1, 0, (struct sockaddr *)&to, n) == 1 || errno != EXDEV)
		return 2;
	return 0;
}

int main(void)
{
	static const char *const failed[] = {"", "connect()", "sendmsg()"};
	int cgroup, status;
	pid_t child;

	probe_begin("connect_unix");
	cgroup = probe_cgroup();
	refuse(cgroup, UNIX_CONNECT);
	refuse(cgroup, UNIX_SENDMSG);
	probe_need(unshare(CLONE_NEWNET) == 0, "unshare(CLONE_NEWNET)");
	child = fork();
	if (child == 0)
		_exit(try_both(cgroup));
	probe_need(child > 0 && waitpid(child, &status, 0) == child, "a child");
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 2)
		probe_missing("the child died");
	if (WEXITSTATUS(status))
		probe_missing("%s of a unix socket is not refused", failed[WEXITSTATUS(status)]);
	probe_ok();
}
