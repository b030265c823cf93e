/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * foreign_tables.c – packet filter tables besides ours: those of nf_tables (iptables-nft makes such), and those of
 * iptables as it was. Ours is `inet sallyport`, which a dead helper may have left.
 *
 * Docker's resolver has one: `ip nat`, whose chains besides the base ones are DOCKER_OUTPUT and
 * DOCKER_POSTROUTING. It is let be: nft_resolver.c takes port 53 away from it. Of an old-style nat table only the
 * name is visible here: it is let be when the resolver's sockets are there.
 *
 * #syscalls: openat read close, and those of netlink_dump()
 */
#include <errno.h>
#include <netinet/in.h> /* before the kernel's own declarations of the same */
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <string.h>

#include "netns-helper/foreign_internal.h"
#include "netns-helper/netlink.h"
#include "netns-helper/nft_internal.h"

#include "base/cleanup.h"

enum { FOREIGN_TABLE = 64 };

#define FOREIGN_NAT "nat"

static const struct {
	int family;
	const char *name;
} foreign_families[] = {
	{NFPROTO_INET, "inet"},
	{NFPROTO_IPV4, "ip"},
	{NFPROTO_IPV6, "ip6"},
	{NFPROTO_ARP, "arp"},
	{NFPROTO_BRIDGE, "bridge"},
	{NFPROTO_NETDEV, "netdev"},
};

static const char *const foreign_chains[] = {
	"PREROUTING", "INPUT", "OUTPUT", "POSTROUTING", "DOCKER_OUTPUT", "DOCKER_POSTROUTING"};
enum { FOREIGN_DOCKER = 4 }; /* the first of its own two */

struct foreign_tables {
	bool nat; /* ip nat */
	char other[FOREIGN_TABLE + 16]; /* "ip6 filter"; empty = none */
};

struct foreign_nat {
	unsigned int docker; /* chains of its own */
	bool other;
};

static const char *foreign_family(int family)
{
	for (size_t i = 0; i < ARRAY_SIZE(foreign_families); i++)
		if (foreign_families[i].family == family)
			return foreign_families[i].name;
	return "?";
}

/* A text attribute of an nf_tables message; "" when it is not there. */
static const char *foreign_text(const struct nlmsghdr *message, int type)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, message, sizeof(struct nfgenmsg))
	{
		if (mnl_attr_get_type(attr) == type &&
			mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
			return mnl_attr_get_str(attr);
	}
	return "";
}

static int foreign_each_table(const struct nlmsghdr *message, void *arg)
{
	const struct nfgenmsg *head = mnl_nlmsg_get_payload(message);
	const char *name = foreign_text(message, NFTA_TABLE_NAME);
	struct foreign_tables *found = arg;

	if (head->nfgen_family == NFPROTO_INET && strcmp(name, NFT_TABLE) == 0)
		return MNL_CB_OK;
	if (head->nfgen_family == NFPROTO_IPV4 && strcmp(name, FOREIGN_NAT) == 0)
		found->nat = true;
	else if (!found->other[0])
		(void)snprintf(found->other, sizeof(found->other), "%s %.*s",
			foreign_family(head->nfgen_family), FOREIGN_TABLE - 1,
			name); /* cut to size */
	return MNL_CB_OK;
}

static int foreign_each_chain(const struct nlmsghdr *message, void *arg)
{
	const char *name = foreign_text(message, NFTA_CHAIN_NAME);
	struct foreign_nat *nat = arg;

	if (strcmp(foreign_text(message, NFTA_CHAIN_TABLE), FOREIGN_NAT) != 0)
		return MNL_CB_OK;
	for (size_t i = 0; i < ARRAY_SIZE(foreign_chains); i++) {
		if (strcmp(name, foreign_chains[i]) != 0)
			continue;
		nat->docker += i >= FOREIGN_DOCKER;
		return MNL_CB_OK;
	}
	nat->other = true;
	return MNL_CB_OK;
}

static int foreign_ask_nft(uint16_t what, uint8_t family, mnl_cb_t each, void *arg)
{
	char bytes[256];
	struct nlmsghdr *request = mnl_nlmsg_put_header(bytes);
	struct nfgenmsg *head;

	request->nlmsg_type = (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | what);
	head = mnl_nlmsg_put_extra_header(request, sizeof(*head));
	head->nfgen_family = family;
	head->version = NFNETLINK_V0;
	return netlink_dump(NETLINK_NETFILTER, request, each, arg);
}

static int foreign_refuse_table(struct fault *fault, const char *name)
{
	return fault_set(fault, -EBUSY,
		"--netns: has the nft table `%s` of somebody else: nft delete table %s", name,
		name);
}

static int foreign_verify_nft(struct fault *fault, bool *resolver)
{
	struct foreign_tables found = {.other = ""};
	struct foreign_nat nat = {0};
	int r = foreign_ask_nft(NFT_MSG_GETTABLE, NFPROTO_UNSPEC, foreign_each_table, &found);

	if (r == 0 && found.nat)
		r = foreign_ask_nft(NFT_MSG_GETCHAIN, NFPROTO_IPV4, foreign_each_chain, &nat);
	if (r < 0)
		return fault_set(fault, r,
			"cannot list the nft tables of the network namespace (CONFIG_NF_TABLES): "
			"%s",
			strerror(-r));
	if (found.other[0])
		return foreign_refuse_table(fault, found.other);
	if (found.nat && (nat.other || nat.docker != ARRAY_SIZE(foreign_chains) - FOREIGN_DOCKER))
		return foreign_refuse_table(fault, "ip " FOREIGN_NAT);
	if (found.nat)
		*resolver = true;
	return 0;
}

/* The names of the tables that are there, one a line; nat alone may be, where Docker's resolver is. */
static int foreign_verify_old(
	struct fault *fault, const char *file, const char *command, bool may_nat)
{
	char line[FOREIGN_TABLE];
	FILE *f = fopen(file, "re");
	int r = 0;

	if (!f)
		return 0; /* the kernel has no such tables */
	while (r == 0 && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!(may_nat && strcmp(line, FOREIGN_NAT) == 0))
			r = fault_set(fault, -EBUSY,
				"--netns: has the old-style table %s of %s, which stays as long as "
				"the "
				"namespace: use a new one, or iptables-nft",
				line, command);
	}
	(void)fclose(f); /* only read */
	return r;
}

int foreign_tables_verify(struct fault *fault, bool *resolver)
{
	bool sockets = *resolver;
	int r = foreign_verify_nft(fault, resolver);

	if (r == 0)
		r = foreign_verify_old(
			fault, "/proc/net/ip_tables_names", "iptables-legacy", sockets);
	if (r == 0)
		r = foreign_verify_old(
			fault, "/proc/net/ip6_tables_names", "ip6tables-legacy", false);
	return r;
}
