/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_skb.c – a program on the egress of a cgroup sees by which interface a packet leaves and
 * drops it: what a sealed sandbox sends by another one than lo.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "probe_bpf.h"

/* The errno of a datagram to the address; 0 when it went. */
static int try_send(const char *address)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = inet_addr(address);
	return sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) < 0 ? errno : 0;
}

int main(void)
{
	const struct bpf_insn program[] = {
		LOAD32(1, 1, offsetof(struct __sk_buff, ifindex)),
		MOV_IMM(0, 1),
		JUMP_NE(1, 1, 1), /* 1 is lo */
		MOV_IMM(0, 0), /* here lo is what is dropped: there is no other interface */
		EXIT(),
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_CGROUP_INET_EGRESS);
	int fd, cgroup, status;
	pid_t child;

	probe_begin("cgroup_skb");
	cgroup = probe_cgroup();
	probe_enter_anyip();
	if (try_send("127.0.0.1") != 0)
		probe_missing("lo does not work");
	fd = bpf_prog_load(BPF_PROG_TYPE_CGROUP_SKB, "probe", "GPL", program,
		sizeof(program) / sizeof(program[0]), &opts);
	probe_need(fd >= 0, "loading a cgroup_skb program that reads ifindex");
	probe_need(bpf_link_create(fd, cgroup, BPF_CGROUP_INET_EGRESS, NULL) >= 0,
		"attaching it to a cgroup by a link");
	child = fork();
	if (child == 0) {
		probe_move(cgroup, "0");
		_exit(try_send("127.0.0.1"));
	}
	probe_need(child > 0 && waitpid(child, &status, 0) == child, "a child");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != EPERM)
		probe_missing("a packet that the program drops: errno %d, not %d",
			WEXITSTATUS(status), EPERM);
	probe_ok();
}
