/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rules.c – see rules.h.
 *
 * A kernel begins with `0: lookup local`, and a rule of the same preference lands behind those that
 * are there: a rule for the mark at 0 alone would never be asked. Hence both of ours are added
 * first, then the old one is deleted, so that there is no moment without `lookup local`; back in
 * the same way. The order is read back, since it is what everything in uplink mode hangs on.
 *
 * #syscalls: those of netlink.c
 */
#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <libmnl/libmnl.h>

#include "netns-helper/netlink.h"
#include "netns-helper/rules.h"

#include "base/cleanup.h"

struct rules_row {
	uint32_t preference;
	uint32_t mark; /* 0 = whatever the mark */
	uint32_t table;
};

/* In their order; the first two are ours, the third is the kernel's own, which they replace. */
static const struct rules_row rules_reply = {0, RULES_MARK, RT_TABLE_MAIN};
static const struct rules_row rules_local = {1, 0, RT_TABLE_LOCAL};
static const struct rules_row rules_kernel = {0, 0, RT_TABLE_LOCAL};

static int rules_change(int family, const struct rules_row *row, bool add)
{
	char bytes[NETLINK_REQUEST];
	struct nlmsghdr *request = mnl_nlmsg_put_header(bytes);
	struct fib_rule_hdr *rule;

	request->nlmsg_type = add ? RTM_NEWRULE : RTM_DELRULE;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | (add ? NLM_F_CREATE | NLM_F_EXCL : 0);
	rule = mnl_nlmsg_put_extra_header(request, sizeof(*rule));
	rule->family = (uint8_t)family;
	rule->table = (uint8_t)row->table;
	rule->action = FR_ACT_TO_TBL;
	mnl_attr_put_u32(request, FRA_PRIORITY, row->preference);
	mnl_attr_put_u32(request, FRA_TABLE, row->table);
	if (row->mark) {
		mnl_attr_put_u32(request, FRA_FWMARK, row->mark);
		mnl_attr_put_u32(request, FRA_FWMASK, 0xffffffff);
	}
	return netlink_talk(NETLINK_ROUTE, request, NULL, NULL);
}

static int rules_add(int family, const struct rules_row *row)
{
	int r = rules_change(family, row, true);

	return r == -EEXIST ? 0 : r;
}

static int rules_delete(int family, const struct rules_row *row)
{
	int r = rules_change(family, row, false);

	return r == -ENOENT ? 0 : r;
}

/* The rules as the kernel asks them. */
struct rules_order {
	size_t n;
	bool wrong;
};

static void rules_read(const struct nlmsghdr *message, struct rules_row *ret, bool *ret_plain)
{
	const struct fib_rule_hdr *rule = mnl_nlmsg_get_payload(message);
	const struct nlattr *attr;

	*ret = (struct rules_row){.table = rule->table};
	*ret_plain = rule->action == FR_ACT_TO_TBL && !rule->src_len && !rule->dst_len &&
		     !rule->tos && !(rule->flags & FIB_RULE_INVERT);
	mnl_attr_for_each(attr, message, sizeof(*rule))
	{
		switch (mnl_attr_get_type(attr)) {
		case FRA_PRIORITY:
			ret->preference = mnl_attr_get_u32(attr);
			break;
		case FRA_FWMARK:
			ret->mark = mnl_attr_get_u32(attr);
			break;
		case FRA_TABLE:
			ret->table = mnl_attr_get_u32(attr);
			break;
		case FRA_IIFNAME:
		case FRA_OIFNAME:
			*ret_plain = false;
			break;
		default:
			break;
		}
	}
}

static int rules_each(const struct nlmsghdr *message, void *arg)
{
	static const struct rules_row *const wanted[] = {&rules_reply, &rules_local};
	struct rules_order *order = arg;
	struct rules_row row;
	bool plain;

	rules_read(message, &row, &plain);
	if (order->n < ARRAY_SIZE(wanted))
		order->wrong |= !plain || row.preference != wanted[order->n]->preference ||
				row.mark != wanted[order->n]->mark ||
				row.table != wanted[order->n]->table;
	order->n++;
	return MNL_CB_OK;
}

static int rules_check(int family)
{
	char bytes[NETLINK_REQUEST];
	struct nlmsghdr *request = mnl_nlmsg_put_header(bytes);
	struct rules_order order = {0};
	struct fib_rule_hdr *rule;
	int r;

	request->nlmsg_type = RTM_GETRULE;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	rule = mnl_nlmsg_put_extra_header(request, sizeof(*rule));
	rule->family = (uint8_t)family;
	r = netlink_talk(NETLINK_ROUTE, request, rules_each, &order);
	if (r < 0)
		return r;
	return order.wrong || order.n < 2 ? -EBADE : 0;
}

static void rules_take_back_family(int family)
{
	(void)rules_add(family, &rules_kernel); /* its owner may have removed what is missing */
	(void)rules_delete(family, &rules_reply);
	(void)rules_delete(family, &rules_local);
}

static int rules_family(int family)
{
	int r = rules_add(family, &rules_reply);

	if (r == 0)
		r = rules_add(family, &rules_local);
	if (r == 0)
		r = rules_delete(family, &rules_kernel);
	if (r == 0)
		r = rules_check(family);
	if (r < 0)
		rules_take_back_family(family);
	return r;
}

static const char *rules_words(int r)
{
	return r == -EBADE ? "other rules come before them" : strerror(-r);
}

int rules_set_up(bool v6, struct fault *fault, struct rules *ret)
{
	struct rules done = {false};
	int r = rules_family(AF_INET);

	if (r < 0)
		return fault_set(fault, r,
			"cannot put the IPv4 routing rules in order "
			"(CONFIG_IP_MULTIPLE_TABLES): %s",
			rules_words(r));
	done.v4 = true;
	r = v6 ? rules_family(AF_INET6) : 0;
	if (r < 0) {
		rules_take_back(&done);
		return fault_set(fault, r,
			"cannot put the IPv6 routing rules in order "
			"(CONFIG_IPV6_MULTIPLE_TABLES): %s",
			rules_words(r));
	}
	done.v6 = v6;
	*ret = done;
	return 0;
}

void rules_take_back(const struct rules *rules)
{
	if (rules->v6)
		rules_take_back_family(AF_INET6);
	if (rules->v4)
		rules_take_back_family(AF_INET);
}
