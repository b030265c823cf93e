/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forms.c – plain connect() and sendto() at every kind of destination: the canary's own addresses
 * in each form in which IPv6 can hold an IPv4 address, and ranges that are refused, in their forms.
 */
#include <arpa/inet.h>
#include <stdio.h>

#include "tests/battery/attempt.h"

/* arg: form of the canary's address */
static void forms_tcp(const struct arena *a)
{
	struct address to =
		a->arg == FORM_V6 ? here6(a) : address_form((enum form)a->arg, a->v4, a->port);

	dial(tcp(to.any.sa_family), &to, a);
}

static void forms_udp(const struct arena *a)
{
	struct address to =
		a->arg == FORM_V6 ? here6(a) : address_form((enum form)a->arg, a->v4, a->port);

	throw(udp(to.any.sa_family), &to, a);
}

/* The refused ranges, and the form in which to ask for the address. */
enum { FORMS_TARGETS = 16 };
#define ROW(target, form) ((long)(target)*FORMS_TARGETS + (form))
enum forms_target {
	TARGET_METADATA,
	TARGET_METADATA6,
	TARGET_TEN,
	TARGET_172,
	TARGET_192,
	TARGET_CGNAT,
	TARGET_LINK_LOCAL,
	TARGET_ULA,
	TARGET_CLASS_E,
	TARGET_BENCHMARK,
	TARGET_IETF,
	TARGET_HOST,
	TARGET_HOST6,
	TARGET_ZERO,
	TARGET_ZERO6,
	TARGET_SITE_LOCAL,
	TARGET_DISCARD,
	TARGET_PEER,
	TARGET_PEER6,
	TARGET_BROADCAST,
	TARGET_MULTICAST,
	TARGET_GROUP,
	TARGET_MULTICAST6,
	TARGET_ALIBABA
};

static const char *const forms_texts[] = {
	[TARGET_METADATA] = "169.254.169.254",
	[TARGET_METADATA6] = "fd00:ec2::254",
	[TARGET_TEN] = "10.77.0.1",
	[TARGET_172] = "172.16.7.1",
	[TARGET_192] = "192.168.7.1",
	[TARGET_CGNAT] = "100.64.7.1",
	[TARGET_LINK_LOCAL] = "169.254.7.1",
	[TARGET_ULA] = "fd77::1",
	[TARGET_CLASS_E] = "240.0.0.7",
	[TARGET_BENCHMARK] = "198.18.7.1",
	[TARGET_IETF] = "192.0.0.8",
	[TARGET_HOST] = "198.51.100.1", /* topology.EDGE4: where the daemon is */
	[TARGET_HOST6] = "2001:db8:ffff::1",
	[TARGET_ZERO] = "0.0.0.0",
	[TARGET_ZERO6] = "::",
	[TARGET_SITE_LOCAL] = "fec0::7",
	[TARGET_DISCARD] = "100::7",
	[TARGET_BROADCAST] = "255.255.255.255",
	[TARGET_MULTICAST] = "224.0.0.1",
	[TARGET_GROUP] = "239.7.7.7",
	[TARGET_MULTICAST6] = "ff02::1",
	[TARGET_ALIBABA] = "100.100.100.200",
};

static struct address forms_refused(const struct arena *a)
{
	enum forms_target target = (enum forms_target)(a->arg / FORMS_TARGETS);
	enum form form = (enum form)(a->arg % FORMS_TARGETS);
	struct address to;

	if (target == TARGET_PEER || target == TARGET_PEER6)
		return target == TARGET_PEER ? address4(a->scene->peer4, a->port)
					     : address6(a->scene->peer6, a->port);
	to = address_text(forms_texts[target], a->port);
	if (to.any.sa_family == AF_INET)
		return address_form(form, to.v4.sin_addr, a->port);
	return to;
}

static void forms_refused_tcp(const struct arena *a)
{
	struct address to = forms_refused(a);

	dial(tcp(to.any.sa_family), &to, a);
}

static void forms_refused_udp(const struct arena *a)
{
	struct address to = forms_refused(a);
	int sock = udp(to.any.sa_family);

	option_int(sock, SOL_SOCKET, SO_BROADCAST, 1, "SO_BROADCAST");
	throw(sock, &to, a);
}

/* A datagram socket's connect() passes: what follows it must not. */
static void forms_refused_connected(const struct arena *a)
{
	struct address to = forms_refused(a);
	int sock = udp(to.any.sa_family);

	(void)tries(connect(sock, &to.any, to.n), "connect");
	push(sock, a);
}

/* arg: SOCK_… ; the peer's link-local address, made from its MAC as the kernel does */
static void forms_scoped(const struct arena *a)
{
	const uint8_t *m = a->scene->peer_mac;
	struct in6_addr ip = {
		.s6_addr = {0xfe, 0x80, [8] = m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]}};
	struct address to = address6(ip, a->port);

	to.v6.sin6_scope_id = (uint32_t)device_index(a);
	if (a->arg == SOCK_STREAM)
		dial(tcp(AF_INET6), &to, a);
	throw(udp(AF_INET6), &to, a);
}

static const struct attempt forms_rows[] = {
	{"tcp4", "connect", forms_tcp, FORM_V4},
	{"tcp6", "connect", forms_tcp, FORM_V6},
	{"tcp-mapped", "connect", forms_tcp, FORM_MAPPED},
	{"tcp-nat64", "connect", forms_tcp, FORM_NAT64},
	{"tcp-nat64-local", "connect", forms_tcp, FORM_NAT64_LOCAL},
	{"tcp-6to4", "connect", forms_tcp, FORM_6TO4},
	{"tcp-teredo", "connect", forms_tcp, FORM_TEREDO},
	{"tcp-isatap", "connect", forms_tcp, FORM_ISATAP},
	{"tcp-isatap-global", "connect", forms_tcp, FORM_ISATAP_GLOBAL},
	{"tcp-v4-compatible", "connect", forms_tcp, FORM_COMPATIBLE},
	{"tcp-v4-translated", "connect", forms_tcp, FORM_TRANSLATED},
	{"tcp-metadata", "refused", forms_refused_tcp, ROW(TARGET_METADATA, FORM_V4)},
	{"tcp-metadata6", "refused", forms_refused_tcp, ROW(TARGET_METADATA6, 0)},
	{"tcp-metadata-mapped", "refused", forms_refused_tcp, ROW(TARGET_METADATA, FORM_MAPPED)},
	{"tcp-metadata-nat64", "refused", forms_refused_tcp, ROW(TARGET_METADATA, FORM_NAT64)},
	{"tcp-metadata-nat64-local", "refused", forms_refused_tcp,
		ROW(TARGET_METADATA, FORM_NAT64_LOCAL)},
	{"tcp-metadata-6to4", "refused", forms_refused_tcp, ROW(TARGET_METADATA, FORM_6TO4)},
	{"tcp-metadata-teredo", "refused", forms_refused_tcp, ROW(TARGET_METADATA, FORM_TEREDO)},
	{"tcp-metadata-isatap", "refused", forms_refused_tcp, ROW(TARGET_METADATA, FORM_ISATAP)},
	{"tcp-metadata-compatible", "refused", forms_refused_tcp,
		ROW(TARGET_METADATA, FORM_COMPATIBLE)},
	{"tcp-metadata-translated", "refused", forms_refused_tcp,
		ROW(TARGET_METADATA, FORM_TRANSLATED)},
	{"tcp-metadata-alibaba", "refused", forms_refused_tcp, ROW(TARGET_ALIBABA, FORM_V4)},
	{"tcp-private-10", "refused", forms_refused_tcp, ROW(TARGET_TEN, FORM_V4)},
	{"tcp-private-172", "refused", forms_refused_tcp, ROW(TARGET_172, FORM_V4)},
	{"tcp-private-192", "refused", forms_refused_tcp, ROW(TARGET_192, FORM_V4)},
	{"tcp-private-mapped", "refused", forms_refused_tcp, ROW(TARGET_TEN, FORM_MAPPED)},
	{"tcp-private-nat64", "refused", forms_refused_tcp, ROW(TARGET_TEN, FORM_NAT64)},
	{"tcp-cgnat", "refused", forms_refused_tcp, ROW(TARGET_CGNAT, FORM_V4)},
	{"tcp-link-local", "refused", forms_refused_tcp, ROW(TARGET_LINK_LOCAL, FORM_V4)},
	{"tcp-ula", "refused", forms_refused_tcp, ROW(TARGET_ULA, 0)},
	{"tcp-site-local", "refused", forms_refused_tcp, ROW(TARGET_SITE_LOCAL, 0)},
	{"tcp-discard", "refused", forms_refused_tcp, ROW(TARGET_DISCARD, 0)},
	{"tcp-class-e", "refused", forms_refused_tcp, ROW(TARGET_CLASS_E, FORM_V4)},
	{"tcp-benchmark", "refused", forms_refused_tcp, ROW(TARGET_BENCHMARK, FORM_V4)},
	{"tcp-ietf", "refused", forms_refused_tcp, ROW(TARGET_IETF, FORM_V4)},
	{"tcp-host", "refused", forms_refused_tcp, ROW(TARGET_HOST, FORM_V4)},
	{"tcp-host-mapped", "refused", forms_refused_tcp, ROW(TARGET_HOST, FORM_MAPPED)},
	{"tcp-host6", "refused", forms_refused_tcp, ROW(TARGET_HOST6, 0)},
	{"tcp-zero", "refused", forms_refused_tcp, ROW(TARGET_ZERO, FORM_V4)},
	{"tcp-zero6", "refused", forms_refused_tcp, ROW(TARGET_ZERO6, 0)},
	{"tcp-gateway", "connect", forms_refused_tcp, ROW(TARGET_PEER, FORM_V4)},
	{"tcp-gateway6", "connect", forms_refused_tcp, ROW(TARGET_PEER6, 0)},
	{"tcp-scoped", "connect", forms_scoped, SOCK_STREAM},
	{"udp4", "udp", forms_udp, FORM_V4},
	{"udp6", "udp", forms_udp, FORM_V6},
	{"udp-mapped", "udp", forms_udp, FORM_MAPPED},
	{"udp-nat64", "udp", forms_udp, FORM_NAT64},
	{"udp-6to4", "udp", forms_udp, FORM_6TO4},
	{"udp-isatap", "udp", forms_udp, FORM_ISATAP},
	{"udp-v4-compatible", "udp", forms_udp, FORM_COMPATIBLE},
	{"udp-scoped", "udp", forms_scoped, SOCK_DGRAM},
	{"udp-metadata", "refused", forms_refused_udp, ROW(TARGET_METADATA, FORM_V4)},
	{"udp-metadata-mapped", "refused", forms_refused_udp, ROW(TARGET_METADATA, FORM_MAPPED)},
	{"udp-metadata-nat64", "refused", forms_refused_udp, ROW(TARGET_METADATA, FORM_NAT64)},
	{"udp-metadata-connected", "refused", forms_refused_connected,
		ROW(TARGET_METADATA, FORM_V4)},
	{"udp-metadata6-connected", "refused", forms_refused_connected, ROW(TARGET_METADATA6, 0)},
	{"udp-private", "refused", forms_refused_udp, ROW(TARGET_TEN, FORM_V4)},
	{"udp-private-connected", "refused", forms_refused_connected, ROW(TARGET_TEN, FORM_V4)},
	{"udp-ula-connected", "refused", forms_refused_connected, ROW(TARGET_ULA, 0)},
	{"udp-host", "refused", forms_refused_udp, ROW(TARGET_HOST, FORM_V4)},
	{"udp-host-connected", "refused", forms_refused_connected, ROW(TARGET_HOST, FORM_V4)},
	{"udp-gateway", "udp", forms_refused_udp, ROW(TARGET_PEER, FORM_V4)},
	{"udp-gateway6", "udp", forms_refused_udp, ROW(TARGET_PEER6, 0)},
	{"udp-broadcast", "multicast", forms_refused_udp, ROW(TARGET_BROADCAST, FORM_V4)},
	{"udp-multicast", "multicast", forms_refused_udp, ROW(TARGET_MULTICAST, FORM_V4)},
	{"udp-multicast-group", "multicast", forms_refused_udp, ROW(TARGET_GROUP, FORM_V4)},
	{"udp-multicast6", "multicast", forms_refused_udp, ROW(TARGET_MULTICAST6, 0)},
	{"udp-multicast-connected", "multicast", forms_refused_connected,
		ROW(TARGET_GROUP, FORM_V4)},
};

const struct attempt_list forms_list = ATTEMPTS(forms_rows);
