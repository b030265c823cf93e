/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sock_diag.c – a dump of the sockets of a network namespace says for each TCP and UDP socket in
 * which cgroup it was made: so a socket of a foreign process is found before a sandbox is attached.
 */
#include <linux/inet_diag.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <libmnl/libmnl.h>

#include "probe_bpf.h"

enum { CGROUP_ID = 21 }; /* INET_DIAG_CGROUP_ID, since 5.9 */

static int on_attribute(const struct nlattr *attribute, void *arg)
{
	if (mnl_attr_get_type(attribute) == CGROUP_ID)
		*(uint64_t *)arg = mnl_attr_get_u64(attribute);
	return MNL_CB_OK;
}

static int on_socket(const struct nlmsghdr *message, void *arg)
{
	return mnl_attr_parse(message, sizeof(struct inet_diag_msg), on_attribute, arg);
}

/* The cgroup id of the one socket of that protocol in this namespace. */
static uint64_t cgroup_of(uint8_t protocol)
{
	struct inet_diag_req_v2 request = {
		.sdiag_family = AF_INET, .sdiag_protocol = protocol, .idiag_states = ~0u};
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC);
	char bytes[16384];
	struct nlmsghdr *message = mnl_nlmsg_put_header(bytes);
	uint64_t id = 0;
	ssize_t n;
	int r = MNL_CB_OK;

	probe_need(nl && mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) == 0, "NETLINK_SOCK_DIAG");
	message->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	message->nlmsg_seq = 1;
	memcpy(mnl_nlmsg_put_extra_header(message, sizeof(request)), &request, sizeof(request));
	probe_need(mnl_socket_sendto(nl, message, message->nlmsg_len) > 0, "asking for sockets");
	while (r == MNL_CB_OK) {
		n = mnl_socket_recvfrom(nl, bytes, sizeof(bytes));
		probe_need(n > 0, "the answer");
		r = mnl_cb_run(bytes, (size_t)n, 1, mnl_socket_get_portid(nl), on_socket, &id);
		probe_need(r >= 0, protocol == IPPROTO_TCP ? "a dump of TCP sockets"
							   : "a dump of UDP sockets");
	}
	(void)mnl_socket_close(nl);
	return id;
}

/* In the scratch cgroup and a namespace of its own. */
static int try(int cgroup, uint64_t wanted)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	int stream, datagram;

	probe_move(cgroup, "0");
	probe_need(unshare(CLONE_NEWNET) == 0, "unshare(CLONE_NEWNET)");
	stream = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	datagram = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	probe_need(
		listen(stream, 1) == 0 && bind(datagram, (struct sockaddr *)&at, sizeof(at)) == 0,
		"sockets");
	if (cgroup_of(IPPROTO_TCP) != wanted || cgroup_of(IPPROTO_UDP) != wanted)
		return 1;
	return 0;
}

int main(void)
{
	struct stat st;
	int cgroup, status;
	pid_t child;

	probe_begin("sock_diag");
	cgroup = probe_cgroup();
	probe_need(fstat(cgroup, &st) == 0, "the cgroup's id");
	child = fork();
	if (child == 0) {
		status = try(cgroup, st.st_ino);
		fflush(stdout);
		_exit(status ? PROBE_SKIPPED : 0);
	}
	probe_need(child > 0 && waitpid(child, &status, 0) == child, "a child");
	if (WIFEXITED(status) && WEXITSTATUS(status) == PROBE_SKIPPED)
		probe_missing("a dump of sockets does not name their cgroup");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		exit(PROBE_MISSING); /* the child has said why */
	probe_ok();
}
