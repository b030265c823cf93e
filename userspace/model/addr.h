/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addr.h – an IP address and a port. IPv4 is held in its v4-mapped form (RFC 4291 section 2.5.5.2), so that one
 * comparison, one table and one log form serve both families, and a v4-mapped destination *is* its IPv4 address.
 */
#ifndef SALLYPORT_ADDR_H
#define SALLYPORT_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/slice.h"

struct addr {
	uint8_t ip[16];
	uint16_t port; /* host byte order; 0 = none */
};

enum { ADDR_TEXT = 56 }; /* "[ffff:…]:65535" and NUL */

bool addr_is_v4(const struct addr *a);
bool addr_same_ip(const struct addr *a, const struct addr *b);

/* 0, or -EAFNOSUPPORT for what is neither AF_INET nor AF_INET6 or too short. */
int addr_from_sockaddr(const struct sockaddr *sa, socklen_t n, struct addr *ret);

/* Fills an AF_INET or AF_INET6 address and returns its length. */
socklen_t addr_to_sockaddr(const struct addr *a, struct sockaddr_storage *ret);

/*
 * Reads exactly one address: dotted decimal with four parts and no leading zeros, or IPv6 text (RFC 4291 section 2.2)
 * without brackets and zone. Every other form (0x7f.1, 127.1, 2130706433) is -EINVAL: it is never guessed at.
 * ret->port becomes 0.
 */
int addr_parse(struct slice text, struct addr *ret);

/* RFC 5952 text of the address alone; IPv4 dotted. */
void addr_text(const struct addr *a, char ret[ADDR_TEXT]);
/* The same with the port: 192.0.2.1:443, [2001:db8::1]:443. */
void addr_port_text(const struct addr *a, char ret[ADDR_TEXT]);

#endif
