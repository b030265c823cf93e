/* SPDX-License-Identifier: Apache-2.0 */
/* target.h – the four forms of a request target (RFC 9112 section 3.2). */
#ifndef SALLYPORT_TARGET_H
#define SALLYPORT_TARGET_H

#include "http/authority.h"

enum target_form {
	TARGET_ORIGIN, /* /path?query */
	TARGET_ABSOLUTE, /* http://authority/path?query: the client believes in a proxy */
	TARGET_ASTERISK, /* *, OPTIONS only */
	TARGET_AUTHORITY, /* host:port, CONNECT and nothing else */
};

struct target {
	enum target_form form;
	/*
	 * What to ask the origin for, query included. From an absolute-form without a path it is
	 * "/" ("*" for OPTIONS) or begins with '?', for which h1_write_request_line() puts the '/'
	 * in. Empty in TARGET_AUTHORITY.
	 */
	struct slice path;
	struct slice scheme; /* TARGET_ABSOLUTE: "http" or "https" as written */
	bool https; /* TARGET_ABSOLUTE: it is the second */
	struct authority
		authority; /* TARGET_ABSOLUTE, TARGET_AUTHORITY (which always has a port) */
};

/*
 * 0, or -EBADMSG: a byte outside 0x21 to 0x7e, a fragment, another scheme than http and https, a
 * bad authority, a form that the method may not have. Dot segments, escapes and backslashes are
 * left to the rules on paths. Methods compare with case. All slices are borrowed from target or
 * constant.
 */
int target_parse(struct slice target, struct slice method, struct target *ret);

#endif
