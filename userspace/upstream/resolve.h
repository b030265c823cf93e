/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve.h – names to addresses by the daemon's own servers (c-ares), on the control thread's
 * loop. No search domains, no hosts file, no cache. What the addresses are is not judged here; the
 * policy does that for each of them.
 *
 * Everything is called in the thread of the loop.
 */
#ifndef SALLYPORT_UPSTREAM_RESOLVE_H
#define SALLYPORT_UPSTREAM_RESOLVE_H

#include "model/addr.h"

struct dns_records;
struct loop;
struct resolver;

enum { RESOLVE_SERVERS = 8 }; /* more are left out */

/*
 * The end of a lookup. err: 0 with n ≥ 1 addresses (at most LIMIT_ADDRESSES, IPv4 first, port 0);
 * -ENOENT no such name; -ENODATA the name has neither A nor AAAA; -ETIMEDOUT nobody answered in
 * time; -EIO servers failed or spoke nonsense; -ECANCELED one of the cancels. addrs is borrowed for the
 * call.
 */
typedef void (*resolve_done)(void *arg, int err, const struct addr *addrs, unsigned n);

/* Servers in order of preference; a port of 0 is 53. With none, every lookup fails. 0 or -errno.
 * c-ares reads /dev/urandom and /etc/resolv.conf here (and nowhere later): before the filter. */
int resolve_new(struct loop *loop, const struct addr *servers, unsigned n, struct resolver **ret);

/*
 * Starts a lookup of A and AAAA. The name is text without escapes, with or without the last dot; it
 * is copied. 0: done will be called exactly once, later, never from inside this call, at the latest
 * after TIME_DNS. -EAGAIN: LIMIT_LOOKUPS in flight; -EINVAL: not a name; done is not called then.
 * done may start other lookups.
 */
int resolve_lookup(struct resolver *r, const char *name, resolve_done done, void *arg);

/*
 * What became of the latest lookup: 0 when servers answered, whatever it was; -ETIMEDOUT nobody did, -EIO they failed,
 * -EDESTADDRREQ there are none. And how many have ended like that, one after the other.
 */
int resolve_trouble(const struct resolver *r, uint64_t *ret_times);

/* The end of resolve_records(). err as above, but -ENOENT and -ENODATA both say that there are no such records;
 * -EBADMSG the answer was malformed, -EMSGSIZE too long. 0: there is at least one. */
typedef void (*resolve_records_done)(void *arg, int err);

/* Starts a lookup of records of that type (dns_records_type()), as resolve_lookup() in all else. *ret is the resolver's
 * until done is called. */
int resolve_records(struct resolver *r, const char *name, uint16_t type, struct dns_records *ret,
	resolve_records_done done, void *arg);

/* Lookups that still hold something. */
unsigned resolve_in_flight(const struct resolver *r);

/* Ends with -ECANCELED the lookups for whose arg of() says that they are whom's. Not from inside a resolve_done. */
void resolve_cancel_of(
	struct resolver *r, bool (*of)(const void *arg, const void *whom), const void *whom);
/* Ends all lookups with -ECANCELED, and no other is taken any more. Not from inside a resolve_done. */
void resolve_cancel(struct resolver *r);
/* The same, and frees. NULL is allowed. */
void resolve_free(struct resolver *r);

#endif
