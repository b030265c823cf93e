/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first.h – what a client's first bytes say of where it wants to go: nothing, or the name in a ClientHello. Pure, like
 * tls/sniff.h, on which it stands.
 */
#ifndef SALLYPORT_PROXY_FIRST_H
#define SALLYPORT_PROXY_FIRST_H

#include "base/slice.h"
#include "policy/hosts.h"
#include "tls/sniff.h"

struct first {
	enum sniff_kind kind;
	bool has_name; /* SNIFF_TLS: the hello has an SNI */
	struct host name; /* … and this is it */
};

/*
 * Asked again with all bytes from the first one on whenever more have arrived. 1 and *ret; 0 = more are needed;
 * -EBADMSG: the ClientHello is malformed; -EINVAL: its SNI is no host.
 */
int first_read(struct slice in, struct first *ret);

/*
 * Why these first bytes may not travel in a tunnel to that host by a rule that knows it by name: a TLS client must show
 * that name. A constant for the record, or NULL: they may.
 */
const char *first_mismatch(const struct first *f, const struct host *to);

#endif
