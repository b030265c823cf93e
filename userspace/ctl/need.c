/* SPDX-License-Identifier: Apache-2.0 */
/* need.c – see need.h. In the order in which somebody mends a machine: the ground, then the lanes. */
#include "base/cleanup.h"
#include "ctl/need.h"

#define NEED_KERNEL                                                                                \
	"boot a kernel with these options (kconfig-notes/required.config), or load their modules"
#define NEED_BPF_KERNEL                                                                            \
	"boot a kernel with these options (kconfig-notes/bpf-lane.config), as root with these "    \
	"capabilities, under no seccomp profile that refuses bpf(2)"
#define NEED_URING                                                                                 \
	"sysctl kernel.io_uring_disabled=0, and a seccomp profile that allows io_uring_*; Linux "  \
	"6.1 is the oldest that will do"
#define NEED_UPLINK_KERNEL                                                                         \
	"boot a kernel with these options (kconfig-notes/uplink.config), or load their modules; "  \
	"sealed sandboxes do without"

const struct need need_rows[] = {
	{"seccomp_filter", NEED_ALL, false, "the filters of daemon and sandboxes",
		"CONFIG_SECCOMP_FILTER", NEED_KERNEL},
	{"memfd_seal", NEED_ALL, false, "documents on their way from helper to daemon",
		"CONFIG_MEMFD_CREATE", NEED_KERNEL},
	{"netns_cookie", NEED_ALL, true, "telling sandboxes apart",
		"CONFIG_NET_NS; CAP_SYS_ADMIN; sysctl user.max_net_namespaces", NEED_KERNEL},
	{"nft_refuse", NEED_ALL, true, "refusals for what the programs do not see",
		"CONFIG_NF_TABLES, NF_TABLES_INET, NFT_REJECT_INET; CAP_NET_ADMIN", NEED_KERNEL},
	{"uring_setup", NEED_ALL, false, "the daemon's workers", "CONFIG_IO_URING", NEED_URING},
	{"uring_restrictions", NEED_ALL, false, "rings that do no more than they must",
		"CONFIG_IO_URING", NEED_URING},
	{"uring_accept_multishot", NEED_ALL, false, "taking connections", "CONFIG_IO_URING",
		NEED_URING},
	{"uring_recv_multishot", NEED_ALL, false, "receiving into shared buffers",
		"CONFIG_IO_URING", NEED_URING},
	{"uring_msg_ring", NEED_ALL, false, "threads that wake each other", "CONFIG_IO_URING",
		NEED_URING},

	{"bpffs", NEED_BPF, true, "pinned maps and links",
		"CONFIG_BPF_SYSCALL; CAP_SYS_ADMIN, CAP_BPF", NEED_BPF_KERNEL},
	{"programs", NEED_BPF, true, "the programs of this build",
		"CONFIG_BPF_SYSCALL, DEBUG_INFO_BTF, CGROUP_BPF; CAP_BPF, CAP_NET_ADMIN, "
		"CAP_PERFMON",
		NEED_BPF_KERNEL},
	{"set_retval", NEED_BPF, true, "refusals with an errno of our choice",
		"CONFIG_CGROUP_BPF, SOCK_CGROUP_DATA", NEED_BPF_KERNEL},
	{"sock_create", NEED_BPF, true, "refusing families and types that cannot be captured",
		"CONFIG_CGROUP_BPF", NEED_BPF_KERNEL},
	{"cgroup_skb", NEED_BPF, true, "dropping what would leave a sealed sandbox",
		"CONFIG_CGROUP_BPF", NEED_BPF_KERNEL},
	{"sockops_connect", NEED_BPF, true, "knowing which process a connection is of",
		"CONFIG_CGROUP_BPF, INET", NEED_BPF_KERNEL},
	{"sk_lookup", NEED_BPF, true, "capturing every connection",
		"CONFIG_BPF_SYSCALL, INET, NET_NS; CAP_NET_ADMIN", NEED_BPF_KERNEL},
	{"clone_into_cgroup", NEED_BPF, true, "proving that the programs are asked (self-test)",
		"CONFIG_CGROUPS (cgroup v2)", NEED_BPF_KERNEL},
	{"unprivileged_maps", NEED_BPF, true, "the daemon's look at who connected",
		"CONFIG_BPF_SYSCALL", NEED_BPF_KERNEL},

	{"transparent", NEED_NFT, true, "listeners for addresses that are not here",
		"CONFIG_INET, IPV6; CAP_NET_ADMIN", NEED_KERNEL},
	{"nft_tproxy", NEED_NFT, true, "capturing every connection without BPF",
		"CONFIG_NFT_TPROXY, NF_TPROXY_IPV4, NF_TPROXY_IPV6",
		"boot a kernel with these options (kconfig-notes/nft-lane.config), or load their "
		"modules; the bpf lane does without"},

	{"ip_rules", NEED_UPLINK, true, "replies that leave while the rest is captured",
		"CONFIG_IP_MULTIPLE_TABLES, IPV6_MULTIPLE_TABLES; CAP_NET_ADMIN",
		NEED_UPLINK_KERNEL},
	{"conntrack", NEED_UPLINK, true, "telling inbound flows from outbound ones",
		"CONFIG_NF_CONNTRACK, NF_CONNTRACK_MARK, NFT_CT", NEED_UPLINK_KERNEL},
	{"nft_reroute", NEED_UPLINK, true, "leading replies of inbound flows out",
		"CONFIG_NF_TABLES_INET, IP_MULTIPLE_TABLES", NEED_UPLINK_KERNEL},

	{"anyip6", NEED_EXTRA, true, "IPv6 in sandboxes",
		"CONFIG_IPV6; sysctl net.ipv6.conf.all.disable_ipv6",
		"boot a kernel with IPv6; without it sandboxes have IPv4 alone"},
	{"connect_unix", NEED_EXTRA, true, "refusing unix sockets of the host by their path",
		"Linux 6.7, CONFIG_CGROUP_BPF",
		"on an older kernel give sandboxes a mount namespace without the host's sockets"},
	{"nft_notrack", NEED_EXTRA, true, "containers of Docker, whose resolver is behind a NAT",
		"CONFIG_NF_CONNTRACK, NFT_CT",
		"boot a kernel with these options (kconfig-notes/uplink.config), or load their "
		"modules"},
	{"sock_diag", NEED_EXTRA, true,
		"telling a container's sockets from those of others at attach",
		"CONFIG_INET_DIAG, INET_TCP_DIAG, INET_UDP_DIAG, SOCK_CGROUP_DATA",
		"boot a kernel with these options (kconfig-notes/required.config), or load their "
		"modules; without them attach before the container listens"},
	{"cgroup_kill", NEED_EXTRA, true, "ending all of a sandbox at once",
		"CONFIG_CGROUPS (cgroup v2)", "none is needed: processes are signalled one by one"},
	{"peer_pidfd", NEED_EXTRA, false, "naming who asks over the control socket for good",
		"Linux 6.5", "none is needed: the process id is used"},
};

const size_t need_count = ARRAY_SIZE(need_rows);
