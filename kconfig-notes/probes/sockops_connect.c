/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sockops_connect.c – a sockops program is called in TCP_CONNECT_CB by connect() itself, may ask
 * for the netns cookie there, and sees the local port settled.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "probe_bpf.h"

static int try_connect(int cgroup)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};

	probe_move(cgroup, "0");
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)connect(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), (struct sockaddr *)&to,
		sizeof(to)); /* nobody listens: the program ran all the same */
	return 0;
}

int main(void)
{
	int fd, link, cgroup, status, map;
	uint32_t zero = 0, port = 0;
	pid_t child;

	probe_begin("sockops_connect");
	probe_enter_loopback();
	cgroup = probe_cgroup();
	map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "probe", 4, 4, 1, NULL);
	probe_need(map >= 0, "an array map");

	const struct bpf_insn program[] = {
		MOV_REG(6, 1),
		LOAD32(7, 6, offsetof(struct bpf_sock_ops, op)),
		JUMP_NE(7, BPF_SOCK_OPS_TCP_CONNECT_CB, 14),
		CALL(BPF_FUNC_get_netns_cookie),
		LOAD32(7, 6, offsetof(struct bpf_sock_ops, local_port)),
		INSN(BPF_STX | BPF_MEM | BPF_W, 10, 7, -8, 0),
		STORE32_IMM(10, -4, 0),
		LOAD_MAP(1, map),
		MOV_REG(2, 10),
		ADD_IMM(2, -4),
		MOV_REG(3, 10),
		ADD_IMM(3, -8),
		MOV_IMM(4, BPF_ANY),
		CALL(BPF_FUNC_map_update_elem),
		MOV_IMM(0, 1),
		EXIT(),
		MOV_IMM(0, 1),
		EXIT(),
	};
	fd = bpf_prog_load(BPF_PROG_TYPE_SOCK_OPS, "probe", "GPL", program,
		sizeof(program) / sizeof(program[0]), NULL);
	probe_need(fd >= 0, "loading a sockops program with the netns cookie");
	link = bpf_link_create(fd, cgroup, BPF_CGROUP_SOCK_OPS, NULL);
	probe_need(link >= 0, "attaching it to a cgroup by a link");
	child = fork();
	if (child == 0)
		_exit(try_connect(cgroup));
	probe_need(child > 0 && waitpid(child, &status, 0) == child, "a child");
	(void)close(link);
	probe_need(bpf_map_lookup_elem(map, &zero, &port) == 0, "reading the map");
	if (port == 0)
		probe_missing("not called in TCP_CONNECT_CB, or without a local port");
	probe_ok();
}
