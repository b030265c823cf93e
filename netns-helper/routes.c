/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * routes.c – the sandbox's routing, by libmnl over NETLINK_ROUTE.
 *
 * AnyIP: a `local` default route on lo makes every destination an address of this machine, so that
 * a SYN to anywhere arrives at lo's input, where sk_lookup takes it. Its `src` matters: without one
 * the kernel would answer from, and connect from, the destination itself. The own addresses are not
 * loopback ones, or glibc's AI_ADDRCONFIG would hide A or AAAA answers from the sandbox.
 *
 * Called inside the namespace (netns_within). #syscalls: those of netlink.c
 */
#include <errno.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <time.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>

#include "netns-helper/routes.h"
#include "netns-helper/netlink.h"

#include "base/cleanup.h"

enum { ROUTES_LO = 1 }; /* the index of lo in every namespace (net/core/dev.c) */

/* Made by their modules in every namespace unless net.core.fb_tunnels_only_for_init_net is set. */
static const char *const routes_fallbacks[] = {
	"tunl0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0", "sit0", "ip6tnl0", "ip6gre0"};

struct routes_link {
	char other[IFNAMSIZ]; /* a link that may carry packets */
	bool lo_up;
};

static bool routes_is_fallback(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(routes_fallbacks); i++)
		if (strcmp(name, routes_fallbacks[i]) == 0)
			return true;
	return false;
}

static int routes_each_link(const struct nlmsghdr *message, void *arg)
{
	const struct ifinfomsg *link = mnl_nlmsg_get_payload(message);
	struct routes_link *found = arg;
	const struct nlattr *attr;
	const char *name = "?";

	mnl_attr_for_each(attr, message, sizeof(*link)) if (mnl_attr_get_type(attr) == IFLA_IFNAME)
		name = mnl_attr_get_str(attr);
	if (link->ifi_index == ROUTES_LO)
		found->lo_up = link->ifi_flags & IFF_UP;
	else if ((link->ifi_flags & IFF_UP) || !routes_is_fallback(name))
		(void)strncpy(
			found->other, name, sizeof(found->other) - 1); /* zeroed: ends in NUL */
	return MNL_CB_OK;
}

static int routes_links(struct routes_link *ret)
{
	char bytes[NETLINK_REQUEST];
	struct nlmsghdr *request = mnl_nlmsg_put_header(bytes);
	struct routes_link found = {.other = ""};
	struct ifinfomsg *link;
	int r;

	request->nlmsg_type = RTM_GETLINK;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	link = mnl_nlmsg_put_extra_header(request, sizeof(*link));
	link->ifi_family = AF_UNSPEC;
	r = netlink_talk(NETLINK_ROUTE, request, routes_each_link, &found);
	if (r == 0)
		*ret = found;
	return r;
}

int routes_only_lo(struct fault *fault)
{
	struct routes_link found;
	int r = routes_links(&found);

	if (r < 0)
		return fault_set(fault, r, "cannot list the links of the network namespace: %s",
			strerror(-r));
	if (found.other[0])
		return fault_set(fault, -EBUSY,
			"--netns: has the link %s besides lo; sealed mode takes a namespace "
			"without any "
			"(docker, podman: --network none)",
			found.other);
	return 0;
}

static int routes_lo(bool up)
{
	char bytes[NETLINK_REQUEST];
	struct nlmsghdr *request = mnl_nlmsg_put_header(bytes);
	struct ifinfomsg *link;

	request->nlmsg_type = RTM_NEWLINK;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	link = mnl_nlmsg_put_extra_header(request, sizeof(*link));
	link->ifi_family = AF_UNSPEC;
	link->ifi_index = ROUTES_LO;
	link->ifi_change = IFF_UP;
	link->ifi_flags = up ? IFF_UP : 0;
	return netlink_talk(NETLINK_ROUTE, request, NULL, NULL);
}

static size_t routes_width(int family)
{
	return family == AF_INET ? 4 : 16;
}

static int routes_address(int family, const uint8_t *own, bool add)
{
	char bytes[NETLINK_REQUEST];
	struct nlmsghdr *request = mnl_nlmsg_put_header(bytes);
	struct ifaddrmsg *address;

	request->nlmsg_type = add ? RTM_NEWADDR : RTM_DELADDR;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | (add ? NLM_F_CREATE | NLM_F_REPLACE : 0);
	address = mnl_nlmsg_put_extra_header(request, sizeof(*address));
	address->ifa_family = (uint8_t)family;
	address->ifa_prefixlen = (uint8_t)(8 * routes_width(family));
	address->ifa_flags = family == AF_INET6 ? IFA_F_NODAD : 0; /* usable at once */
	address->ifa_scope = RT_SCOPE_UNIVERSE;
	address->ifa_index = ROUTES_LO;
	mnl_attr_put(request, IFA_LOCAL, routes_width(family), own);
	mnl_attr_put(request, IFA_ADDRESS, routes_width(family), own);
	return netlink_talk(NETLINK_ROUTE, request, NULL, NULL);
}

static int routes_anyip(int family, const uint8_t *own, bool add)
{
	char bytes[NETLINK_REQUEST];
	struct nlmsghdr *request = mnl_nlmsg_put_header(bytes);
	struct rtmsg *route;

	request->nlmsg_type = add ? RTM_NEWROUTE : RTM_DELROUTE;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | (add ? NLM_F_CREATE | NLM_F_REPLACE : 0);
	route = mnl_nlmsg_put_extra_header(request, sizeof(*route));
	route->rtm_family = (uint8_t)family;
	route->rtm_table = RT_TABLE_LOCAL;
	route->rtm_protocol = RTPROT_STATIC;
	route->rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE;
	route->rtm_type = RTN_LOCAL;
	mnl_attr_put(request, RTA_PREFSRC, routes_width(family), own);
	mnl_attr_put_u32(request, RTA_OIF, ROUTES_LO);
	return netlink_talk(NETLINK_ROUTE, request, NULL, NULL);
}

static int routes_family(int family, const uint8_t *own)
{
	int r = routes_address(family, own, true);

	if (r < 0)
		return r;
	r = routes_anyip(family, own, true);
	if (r < 0)
		(void)routes_address(family, own, false); /* the first failure is the one to tell */
	return r;
}

/* What the kernel says to an IPv6 address where IPv6 is compiled out, disabled at boot, or by
 * disable_ipv6. */
static bool routes_means_absent(int r)
{
	return r == -EACCES || r == -EOPNOTSUPP || r == -EAFNOSUPPORT || r == -EPROTONOSUPPORT;
}

int routes_set_up(
	const uint8_t own4[4], const uint8_t own6[16], struct fault *fault, struct routes *ret)
{
	struct routes done = {false};
	struct routes_link found;
	int r = routes_links(&found);

	if (r < 0)
		return fault_set(fault, r, "cannot list the links of the network namespace: %s",
			strerror(-r));
	r = routes_lo(true);
	if (r < 0)
		return fault_set(fault, r, "cannot bring lo up: %s", strerror(-r));
	done.lo_was_down = !found.lo_up;
	r = routes_family(AF_INET, own4);
	if (r < 0) {
		routes_take_back(&done, own4, own6);
		return fault_set(fault, r, "cannot route IPv4 to lo: %s", strerror(-r));
	}
	done.v4 = true;
	r = routes_family(AF_INET6, own6);
	if (r < 0 && !routes_means_absent(r)) {
		routes_take_back(&done, own4, own6);
		return fault_set(fault, r, "cannot route IPv6 to lo: %s", strerror(-r));
	}
	done.v6 = r == 0;
	*ret = done;
	return 0;
}

/* Failures are not told: the namespace may be half dismantled by its own root, and nothing can
 * leave it anyway. */
void routes_take_back(const struct routes *routes, const uint8_t own4[4], const uint8_t own6[16])
{
	if (routes->v6) {
		(void)routes_anyip(AF_INET6, own6, false);
		(void)routes_address(AF_INET6, own6, false);
	}
	if (routes->v4) {
		(void)routes_anyip(AF_INET, own4, false);
		(void)routes_address(AF_INET, own4, false);
	}
	if (routes->lo_was_down)
		(void)routes_lo(false);
}
