/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sk_lookup.c – with every address local (AnyIP on lo), a sk_lookup program hands a connection to
 * any address to our listener, past its reuseport group and by the interface that it came in by;
 * getsockname() is what was asked for.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "probe_bpf.h"

static int listener(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	probe_need(
		fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 8) == 0,
		"a listener");
	return fd;
}

int main(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(443)}, asked;
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_SK_LOOKUP);
	socklen_t n = sizeof(asked);
	int fd, map, us, client;
	uint64_t socket_fd;
	uint32_t zero = 0;

	probe_begin("sk_lookup");
	probe_enter_anyip();
	us = listener();
	map = bpf_map_create(BPF_MAP_TYPE_SOCKMAP, "probe", 4, 8, 1, NULL);
	socket_fd = (uint64_t)us;
	probe_need(map >= 0 && bpf_map_update_elem(map, &zero, &socket_fd, BPF_ANY) == 0,
		"a listener in a SOCKMAP");

	const struct bpf_insn program[] = {
		MOV_REG(6, 1),
		LOAD32(0, 6, offsetof(struct bpf_sk_lookup, ingress_ifindex)),
		JUMP_NE(0, 1, 15), /* 1 is lo */
		STORE32_IMM(10, -4, 0),
		LOAD_MAP(1, map),
		MOV_REG(2, 10),
		ADD_IMM(2, -4),
		CALL(BPF_FUNC_map_lookup_elem),
		JUMP_NE(0, 0, 1),
		EXIT(), /* r0 is 0: SK_DROP */
		MOV_REG(7, 0),
		MOV_REG(1, 6),
		MOV_REG(2, 7),
		MOV_IMM(3, BPF_SK_LOOKUP_F_NO_REUSEPORT),
		CALL(BPF_FUNC_sk_assign),
		MOV_REG(1, 7),
		CALL(BPF_FUNC_sk_release),
		MOV_IMM(0, 1),
		EXIT(),
	};
	fd = bpf_prog_load(BPF_PROG_TYPE_SK_LOOKUP, "probe", "GPL", program,
		sizeof(program) / sizeof(program[0]), &opts);
	probe_need(fd >= 0, "loading a sk_lookup program that reads ingress_ifindex");
	probe_need(bpf_link_create(fd, open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC),
			   BPF_SK_LOOKUP, NULL) >= 0,
		"attaching it to a netns");
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	to.sin_addr.s_addr = inet_addr("203.0.113.7");
	probe_need(connect(client, (struct sockaddr *)&to, sizeof(to)) == 0,
		"connect() to an address that only the program serves");
	fd = accept(us, NULL, NULL);
	probe_need(fd >= 0 && getsockname(fd, (struct sockaddr *)&asked, &n) == 0, "accepting it");
	if (asked.sin_addr.s_addr != to.sin_addr.s_addr || asked.sin_port != to.sin_port)
		probe_missing("getsockname() is not the address that was asked for");
	probe_ok();
}
