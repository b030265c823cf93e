/* SPDX-License-Identifier: GPL-2.0-or-later */
/* programs_hooks.c – the table of programs_internal.h, for who knows where programs hang without having any (leftovers.c). */
#include "netns-helper/programs_internal.h"

enum { PROGRAMS_UNIX_CONNECT = 49, PROGRAMS_UNIX_SENDMSG = 50 }; /* Linux 6.7 */

const struct programs_hook programs_hooks[PROGRAMS_HOOKS] = {
	{BPF_CGROUP_INET4_CONNECT, "policy_connect4", false, false},
	{BPF_CGROUP_INET6_CONNECT, "policy_connect6", false, false},
	{BPF_CGROUP_UDP4_SENDMSG, "policy_sendmsg4", false, false},
	{BPF_CGROUP_UDP6_SENDMSG, "policy_sendmsg6", false, false},
	{BPF_CGROUP_INET_SOCK_CREATE, "create_socket", false, false},
	{BPF_CGROUP_SOCK_OPS, "flows_sockops", false, false},
	{BPF_CGROUP_INET_EGRESS, "egress_packet", true, false},
	{PROGRAMS_UNIX_CONNECT, "unix_connect", false, true},
	{PROGRAMS_UNIX_SENDMSG, "unix_sendmsg", false, true},
};
