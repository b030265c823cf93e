/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * foreign_rules.c – routing rules besides those with which every namespace begins. #syscalls: those of
 * netlink_dump()
 */
#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "netns-helper/foreign_internal.h"
#include "netns-helper/netlink.h"
#include "netns-helper/rules.h"

#include "base/cleanup.h"

/*
 * "from all [fwmark MARK] lookup TABLE" at that preference: the kernel's, of which IPv6 has the first
 * two, then ours of uplink mode, which a dead helper may have left.
 */
static const struct {
	uint32_t preference, mark, table;
} foreign_rules_usual[] = {
	{0, 0, RT_TABLE_LOCAL},
	{32766, 0, RT_TABLE_MAIN},
	{32767, 0, RT_TABLE_DEFAULT},
	{0, RULES_MARK, RT_TABLE_MAIN},
	{1, 0, RT_TABLE_LOCAL},
};

struct foreign_rule {
	uint32_t preference, mark, table;
	bool selects; /* applies to some packets only, or does not look a table up */
};

struct foreign_rules {
	bool found;
	struct foreign_rule first;
};

/* These say nothing about which packets a rule is for. */
static bool foreign_rules_plain(int type)
{
	static const int plain[] = {FRA_PRIORITY, FRA_TABLE, FRA_PROTOCOL, FRA_SUPPRESS_PREFIXLEN,
		FRA_SUPPRESS_IFGROUP, FRA_FLOW, FRA_FWMASK, FRA_PAD};

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if (plain[i] == type)
			return true;
	return false;
}

static int foreign_rules_each(const struct nlmsghdr *message, void *arg)
{
	const struct fib_rule_hdr *head = mnl_nlmsg_get_payload(message);
	struct foreign_rules *found = arg;
	struct foreign_rule rule = {.table = head->table};
	const struct nlattr *attr;

	rule.selects = head->action != FR_ACT_TO_TBL || head->src_len || head->dst_len ||
		       head->tos || (head->flags & FIB_RULE_INVERT);
	mnl_attr_for_each(attr, message, sizeof(*head))
	{
		int type = mnl_attr_get_type(attr);

		if (type == FRA_PRIORITY)
			rule.preference = mnl_attr_get_u32(attr);
		else if (type == FRA_TABLE)
			rule.table = mnl_attr_get_u32(attr);
		else if (type == FRA_FWMARK)
			rule.mark = mnl_attr_get_u32(attr);
		else if (!foreign_rules_plain(type))
			rule.selects = true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(foreign_rules_usual); i++)
		if (!rule.selects && rule.preference == foreign_rules_usual[i].preference &&
			rule.mark == foreign_rules_usual[i].mark &&
			rule.table == foreign_rules_usual[i].table)
			return MNL_CB_OK;
	if (!found->found)
		*found = (struct foreign_rules){true, rule};
	return MNL_CB_OK;
}

static int foreign_rules_family(int family, struct foreign_rules *found)
{
	char bytes[256];
	struct nlmsghdr *request = mnl_nlmsg_put_header(bytes);
	struct fib_rule_hdr *head;

	request->nlmsg_type = RTM_GETRULE;
	head = mnl_nlmsg_put_extra_header(request, sizeof(*head));
	head->family = (uint8_t)family;
	return netlink_dump(NETLINK_ROUTE, request, foreign_rules_each, found);
}

int foreign_rules_verify(struct fault *fault)
{
	static const int families[] = {AF_INET, AF_INET6};

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		struct foreign_rules found = {false, {0}};
		int r = foreign_rules_family(families[i], &found);

		if (r == -EAFNOSUPPORT || r == -EOPNOTSUPP)
			continue; /* a kernel without rules, or without IPv6, has none */
		if (r < 0)
			return fault_set(fault, r,
				"cannot list the routing rules of the network namespace: %s",
				strerror(-r));
		if (found.found)
			return fault_set(fault, -EBUSY,
				"--netns: has a routing rule of its own, at preference %u: ip%s "
				"rule del "
				"preference %u",
				found.first.preference, families[i] == AF_INET6 ? " -6" : "",
				found.first.preference);
	}
	return 0;
}
