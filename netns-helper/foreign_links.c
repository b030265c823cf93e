/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * foreign_links.c – of a namespace that keeps its interfaces (uplink mode): what would carry packets past the table, or
 * would let a process of the sandbox be taken for somebody outside. Neither wants a capability any more once it is there.
 *
 *   kinds     a tun or tap device belongs to whoever has it open, or to a user without any capability: what is written
 *             to it comes in by an interface other than lo, as if from outside, and the "reply" would leave. A tunnel
 *             does the same with what it unpacks, from lo too. Hence a list of kinds that only pass on what a wire
 *             brings. Those that a kernel makes in each namespace are let be while they are down
 *   XDP, tc   a program or filter on lo is asked behind the table and may hand its packets to an interface; one on an
 *             interface may hand what came in to lo, where it would be served as the sandbox's
 *   tcx       (Linux 6.6) the same, and netkit's own (6.7), without a qdisc to be seen by: bpf(2) alone tells of them.
 *             Of a netkit device whose other end is outside it does not, and its programs are the outside's. Where
 *             bpf(2) is closed to root it was to those who were here before
 *
 * #syscalls: bpf (BPF_PROG_QUERY), those of netlink_dump()
 */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <bpf/bpf.h>

#include "netns-helper/foreign_internal.h"
#include "netns-helper/netlink.h"

#include "base/cleanup.h"

enum { FOREIGN_LO = 1 }; /* the index of lo in every namespace */

static const char *const foreign_links_plain[] = {
	"veth", "macvlan", "ipvlan", "vlan", "netkit", "dummy"};

/* As in routes.c. */
static const char *const foreign_links_fallback[] = {
	"tunl0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0", "sit0", "ip6tnl0", "ip6gre0"};

/* Of a newer uapi/linux/bpf.h: enum bpf_attach_type. */
static const struct {
	int type;
	const char *name;
} foreign_links_hooks[] = {
	{46, "tcx/ingress"},
	{47, "tcx/egress"},
	{54, "netkit/primary"},
	{55, "netkit/peer"},
};

/* The first that was found; kind "" = none. */
struct foreign_link {
	char name[IF_NAMESIZE];
	char kind[32];
	bool xdp;
	const char *hook; /* one that has a program; NULL = none has */
	int error; /* -errno: it cannot be told whether one has */
};

struct foreign_qdisc {
	int link; /* 0 = none was found */
	char kind[32];
};

static bool foreign_among(const char *const list[], size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], word) == 0)
			return true;
	return false;
}

static const char *foreign_links_kind(const struct nlattr *info)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, info)
	{
		if (mnl_attr_get_type(attr) == IFLA_INFO_KIND)
			return mnl_attr_get_str(attr);
	}
	return "";
}

static bool foreign_links_xdp(const struct nlattr *xdp)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, xdp)
	{
		if (mnl_attr_get_type(attr) == IFLA_XDP_ATTACHED && mnl_attr_get_u8(attr))
			return true;
	}
	return false;
}

/* What says that there is none: an older kernel, a hook that nobody has used, a device that has no such hook. */
static bool foreign_links_none(int r)
{
	static const int none[] = {EINVAL, ENOENT, ENXIO, EOPNOTSUPP, EACCES, EPERM, ENOSYS};

	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if (r == -none[i])
			return true;
	return false;
}

/* The device's hook that has a program; NULL = none has. */
static const char *foreign_links_programs(int index, int *ret_error)
{
	for (size_t i = 0; i < ARRAY_SIZE(foreign_links_hooks); i++) {
		uint32_t n = 0;
		int r = bpf_prog_query(index, (enum bpf_attach_type)foreign_links_hooks[i].type, 0,
			NULL, NULL, &n); /* an index in the place of a descriptor */

		if (r == 0 && n > 0)
			return foreign_links_hooks[i].name;
		if (r < 0 && !foreign_links_none(r))
			*ret_error = r;
	}
	return NULL;
}

static int foreign_each_link(const struct nlmsghdr *message, void *arg)
{
	const struct ifinfomsg *link = mnl_nlmsg_get_payload(message);
	const char *name = "?", *kind = "";
	struct foreign_link *found = arg;
	const struct nlattr *attr;
	const char *hook = NULL;
	bool xdp = false;

	mnl_attr_for_each(attr, message, sizeof(*link))
	{
		int type = mnl_attr_get_type(attr);

		if (type == IFLA_IFNAME)
			name = mnl_attr_get_str(attr);
		else if (type == IFLA_LINKINFO)
			kind = foreign_links_kind(attr);
		else if (type == IFLA_XDP)
			xdp = foreign_links_xdp(attr);
	}
	if (found->kind[0])
		return MNL_CB_OK;
	hook = foreign_links_programs(link->ifi_index, &found->error);
	if (!xdp && !hook) {
		if (!kind[0] ||
			foreign_among(foreign_links_plain, ARRAY_SIZE(foreign_links_plain), kind))
			return MNL_CB_OK;
		if (!(link->ifi_flags & IFF_UP) &&
			foreign_among(
				foreign_links_fallback, ARRAY_SIZE(foreign_links_fallback), name))
			return MNL_CB_OK;
	}
	found->xdp = xdp;
	found->hook = hook;
	(void)snprintf(found->name, sizeof(found->name), "%s", name); /* fits */
	(void)snprintf(found->kind, sizeof(found->kind), "%s", kind[0] ? kind : "?"); /* cut */
	foreign_printable(found->name);
	foreign_printable(found->kind);
	return MNL_CB_OK;
}

static int foreign_each_qdisc(const struct nlmsghdr *message, void *arg)
{
	const struct tcmsg *qdisc = mnl_nlmsg_get_payload(message);
	struct foreign_qdisc *found = arg;
	const struct nlattr *attr;
	const char *kind = "";

	mnl_attr_for_each(attr, message, sizeof(*qdisc))
	{
		if (mnl_attr_get_type(attr) == TCA_KIND)
			kind = mnl_attr_get_str(attr);
	}
	if (qdisc->tcm_ifindex == FOREIGN_LO
			? strcmp(kind, "noqueue") == 0
			: strcmp(kind, "ingress") != 0 && strcmp(kind, "clsact") != 0)
		return MNL_CB_OK;
	if (found->link)
		return MNL_CB_OK;
	found->link = qdisc->tcm_ifindex;
	(void)snprintf(found->kind, sizeof(found->kind), "%s", kind); /* cut to size */
	foreign_printable(found->kind);
	return MNL_CB_OK;
}

static int foreign_links_ask(uint16_t type, size_t head, mnl_cb_t each, void *arg)
{
	char bytes[256];
	struct nlmsghdr *request = mnl_nlmsg_put_header(bytes);

	request->nlmsg_type = type;
	(void)mnl_nlmsg_put_extra_header(request, head); /* zeroed: AF_UNSPEC, every link */
	return netlink_dump(NETLINK_ROUTE, request, each, arg);
}

int foreign_links_verify(struct fault *fault)
{
	struct foreign_link link = {.kind = ""};
	struct foreign_qdisc qdisc = {.link = 0};
	char name[IF_NAMESIZE] = "?";
	int r = foreign_links_ask(RTM_GETLINK, sizeof(struct ifinfomsg), foreign_each_link, &link);

	if (r == 0)
		r = foreign_links_ask(
			RTM_GETQDISC, sizeof(struct tcmsg), foreign_each_qdisc, &qdisc);
	if (r == -EOPNOTSUPP)
		r = 0; /* a kernel without CONFIG_NET_SCHED has no filters */
	if (r < 0)
		return fault_set(fault, r, "cannot list the links of the network namespace: %s",
			strerror(-r));
	if (link.kind[0] && link.xdp)
		return fault_set(fault, -EBUSY,
			"--netns: has an XDP program on %s: ip link set %s xdp off", link.name,
			link.name);
	if (link.kind[0] && link.hook)
		return fault_set(fault, -EBUSY,
			"--netns: has a BPF program at %s of %s, which is asked behind ours: "
			"bpftool net detach, or end the process that holds its link",
			link.hook, link.name);
	if (link.error)
		return fault_set(fault, link.error,
			"cannot ask for the BPF programs on the links of the network namespace: %s",
			strerror(-link.error));
	if (link.kind[0])
		return fault_set(fault, -EBUSY,
			"--netns: has the link %s of kind %s, by which a process in it can pass "
			"for "
			"somebody outside; uplink mode takes a wire alone (veth, macvlan, ipvlan, "
			"vlan): ip link del %s",
			link.name, link.kind, link.name);
	if (!qdisc.link)
		return 0;
	(void)if_indextoname((unsigned int)qdisc.link, name); /* or it stays "?" */
	foreign_printable(name);
	return fault_set(fault, -EBUSY,
		"--netns: has the qdisc %s on %s, whose filters are asked behind ours: tc qdisc "
		"del "
		"dev %s %s",
		qdisc.kind, name, name,
		strcmp(qdisc.kind, "ingress") == 0 || strcmp(qdisc.kind, "clsact") == 0 ? qdisc.kind
											: "root");
}
