/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authority.h – uri-host [":" port], as in Host, CONNECT and absolute-form (RFC 9110 section 4.2.3,
 * RFC 3986).
 */
#ifndef SALLYPORT_AUTHORITY_H
#define SALLYPORT_AUTHORITY_H

#include "base/slice.h"

struct authority {
	struct slice host; /* as written, without brackets; borrowed from the text */
	uint16_t port; /* 1 to 65535, 0 without has_port */
	bool has_port;
	bool bracketed; /* host is an IPv6 address that stood in brackets */
};

/*
 * Reads all of text. 0, or -EBADMSG: empty host, user information, a byte that is neither
 * unreserved nor sub-delim (so no '%', backslash, '/', control or non-ASCII byte), brackets around
 * anything but an IPv6 address without zone, a port that is empty, not all digits, with leading
 * zeros or not 1 to 65535.
 */
int authority_parse(struct slice text, struct authority *ret);

#endif
