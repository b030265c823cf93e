/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authority.c – see authority.h. Strict on purpose: what a matcher and a dialler could read in two
 * ways (an escape, a zone, a second colon, an octal-looking port) is refused here, before either
 * sees it.
 */
#include <errno.h>

#include "http/authority.h"
#include "model/addr.h"

/* unreserved and sub-delims, RFC 3986 section 2 */
static bool authority_name_byte(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != 0 && strchr("-._~!$&'()*+,;=", c));
}

static int authority_port(struct slice digits, uint16_t *ret)
{
	uint32_t port = 0;

	if (digits.n == 0 || digits.n > 5 || digits.p[0] == '0')
		return -EBADMSG;
	for (size_t i = 0; i < digits.n; i++) {
		if (digits.p[i] < '0' || digits.p[i] > '9')
			return -EBADMSG;
		port = port * 10 + (uint32_t)(digits.p[i] - '0');
	}
	if (port > 65535)
		return -EBADMSG;
	*ret = (uint16_t)port;
	return 0;
}

int authority_parse(struct slice text, struct authority *ret)
{
	struct authority a = {0};
	struct slice rest;

	if (text.n && text.p[0] == '[') {
		size_t end = slice_find(text, ']');
		struct addr ip;

		a.bracketed = true;
		a.host = slice_skip(slice_first(text, end), 1);
		/* a colon, or addr_parse() would take IPv4, which has no brackets */
		if (end == text.n || slice_find(a.host, ':') == a.host.n ||
			addr_parse(a.host, &ip) < 0)
			return -EBADMSG;
		rest = slice_skip(text, end + 1);
		if (rest.n && rest.p[0] != ':')
			return -EBADMSG;
	} else {
		size_t end = slice_find(text, ':');

		a.host = slice_first(text, end);
		if (a.host.n == 0)
			return -EBADMSG;
		for (size_t i = 0; i < a.host.n; i++)
			if (!authority_name_byte(a.host.p[i]))
				return -EBADMSG;
		rest = slice_skip(text, end);
	}
	if (rest.n) {
		if (authority_port(slice_skip(rest, 1), &a.port) < 0)
			return -EBADMSG;
		a.has_port = true;
	}
	*ret = a;
	return 0;
}
