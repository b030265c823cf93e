/* SPDX-License-Identifier: Apache-2.0 */
/* packets.h – packets written by hand: IPv4, IPv6, UDP, TCP, ICMP, with the attempt's token. */
#ifndef SALLYPORT_PACKETS_H
#define SALLYPORT_PACKETS_H

#include "tests/battery/attempt.h"

/* RFC 1071 */
uint16_t packet_sum(const void *data, size_t n, uint32_t start);

/* A UDP header and the token, no checksum, to the attempt's port; returns the length. */
size_t packet_udp(uint8_t *out, uint16_t sport, const struct arena *a);

/* A SYN with the token behind it; the checksum is right for these addresses. */
size_t packet_syn(uint8_t *out, struct in_addr from, struct in_addr to, const struct arena *a);

/* An echo request, of ICMP or ICMPv6, with the token. */
size_t packet_echo(uint8_t *out, bool v6, const struct arena *a);

/* An IPv4 packet with a UDP datagram or a SYN. */
size_t packet_ipv4(uint8_t *out, uint8_t protocol, struct in_addr from, struct in_addr to,
	const struct arena *a);

/* The same from that port to that port. */
size_t packet_between(uint8_t *out, uint8_t protocol, const struct sockaddr_in *from,
	const struct sockaddr_in *to, const char *text);

/* An IPv6 packet with a UDP datagram, with its checksum. */
size_t packet_ipv6(uint8_t *out, struct in6_addr from, struct in6_addr to, const struct arena *a);

/* packet_ipv4() of UDP to the canary in an Ethernet frame to its MAC. */
size_t packet_frame(uint8_t *out, const struct arena *a);

#endif
