/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve.c – names to addresses, see resolve.h.
 *
 * Owns: one c-ares channel, a watch for each of its sockets, one timer for its retries, and a slab
 * of lookups.
 *
 * A lookup of addresses is two queries, A and AAAA, sent together. It is told when both have ended;
 * RESOLVE_GRACE after A brought addresses (RFC 8305 section 3: a server that is slow with AAAA must
 * not hold back the rest); or at TIME_DNS. It is freed when both queries have ended, which may be
 * later, since c-ares has no way to end one query. A lookup of records is one query; its answer is parsed where it
 * comes, into the asker's memory, unless the asker has been told of the deadline by then.
 *
 * c-ares calls back from within its own functions, sometimes from within ares_query(). Callbacks
 * here only note the outcome and put the lookup into `ended`; resolve_pump() tells it afterwards,
 * when c-ares is not on the stack. So a resolve_done may start lookups, and never runs inside
 * resolve_lookup().
 *
 * ares_query() rather than ares_getaddrinfo(): the latter reads the hosts file, knows localhost by
 * itself and tells nothing before both families are there.
 *
 * Sockets live while a query is in flight, so bursts get new source ports. Servers that answer
 * SERVFAIL, NOTIMP or REFUSED are passed over as long as there is another one.
 *
 * #syscalls: socket connect fcntl setsockopt getsockname sendto recvfrom read writev close; in
 * resolve_new() also openat, of /dev/urandom and of /etc/resolv.conf, whose servers are then
 * replaced
 */
#include <ares.h>
#include <arpa/nameser.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/slab.h"
#include "dns/records.h"
#include "ring/loop.h"
#include "upstream/resolve.h"

enum {
	RESOLVE_TRIES = 2,
	RESOLVE_GRACE = 50, /* milliseconds */
	RESOLVE_UDP_SIZE = 1232, /* RFC 9715 */
	RESOLVE_SOCKETS = 4 * RESOLVE_SERVERS, /* UDP and TCP for each, with room for one closing */
	RESOLVE_PORT = 53,
};

enum resolve_family { RESOLVE_A, RESOLVE_AAAA, RESOLVE_FAMILIES };

/* What one query brought. */
struct resolve_part {
	struct resolve_entry *entry;
	int err; /* 0 with n ≥ 1, or -errno */
	unsigned n;
	struct addr addrs[LIMIT_ADDRESSES];
};

struct resolve_entry {
	struct resolver *resolver;
	struct resolve_entry *next; /* in resolver.ended */
	struct timer timer; /* the deadline, later the grace */
	struct resolve_part parts[RESOLVE_FAMILIES];
	uint8_t pending; /* queries in flight */
	bool told, cancelled;
	resolve_done done; /* NULL: of records, */
	resolve_records_done records_done;
	struct dns_records *records; /* the asker's, until it is told */
	uint16_t type;
	char name[LIMIT_NAME + 2];
	void *arg;
};

struct resolver {
	struct loop *loop;
	ares_channel channel;
	struct timer retry;
	struct watch sockets[RESOLVE_SOCKETS];
	struct slab entries;
	struct resolve_entry *ended; /* nothing pending: to be told and freed */
	bool no_servers, closing;
	int trouble; /* of the latest lookup: -errno, 0 = answered */
	uint64_t times; /* … in a row */
};

/* ---- the outcome of a lookup */

/* Of two failures the one that says less about the name: a fault, then "no address", then "no such
 * name". */
static int resolve_worse(int a, int b)
{
	static const int order[] = {-ECANCELED, -ETIMEDOUT, -EIO, -ENODATA, -ENOENT};

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return -EIO;
}

static void resolve_note(struct resolver *r, int err)
{
	bool answered = err == 0 || err == -ENOENT || err == -ENODATA;

	r->trouble = answered ? 0 : err;
	r->times = answered ? 0 : r->times + 1;
}

static void resolve_tell(struct resolve_entry *e)
{
	const struct resolve_part *a = &e->parts[RESOLVE_A], *aaaa = &e->parts[RESOLVE_AAAA];
	struct addr all[LIMIT_ADDRESSES];
	unsigned n = 0;
	int err;

	e->told = true;
	timer_stop(e->resolver->loop, &e->timer);
	if (e->records_done) {
		e->records_done(e->arg, e->cancelled ? -ECANCELED : a->err);
		return;
	}
	if (e->cancelled) {
		e->done(e->arg, -ECANCELED, NULL, 0);
		return;
	}
	for (unsigned i = 0; i < a->n && n < LIMIT_ADDRESSES; i++)
		all[n++] = a->addrs[i];
	for (unsigned i = 0; i < aaaa->n && n < LIMIT_ADDRESSES; i++)
		all[n++] = aaaa->addrs[i];
	err = n ? 0 : resolve_worse(a->err, aaaa->err);
	resolve_note(e->resolver, err);
	e->done(e->arg, err, n ? all : NULL, n);
}

static void resolve_arm(struct resolver *r)
{
	struct timeval tv, *wait = ares_timeout(r->channel, NULL, &tv);

	if (r->ended)
		timer_start(r->loop, &r->retry, 0);
	else if (wait)
		timer_start(r->loop, &r->retry,
			(uint64_t)wait->tv_sec * 1000 + (uint64_t)wait->tv_usec / 1000 + 1);
	else
		timer_stop(r->loop, &r->retry);
}

/* Tells and frees what has ended, then looks when c-ares wants to be called next. */
static void resolve_pump(struct resolver *r)
{
	while (r->ended) {
		struct resolve_entry *e = r->ended;

		r->ended = e->next;
		if (!e->told)
			resolve_tell(e);
		slab_give(&r->entries, e);
	}
	resolve_arm(r);
}

static void resolve_late(struct timer *t)
{
	resolve_tell(container_of(t, struct resolve_entry, timer));
}

/* ---- c-ares calls */

static int resolve_errno(int status)
{
	switch (status) {
	case ARES_SUCCESS:
		return 0;
	case ARES_ENOTFOUND:
		return -ENOENT;
	case ARES_ENODATA:
		return -ENODATA;
	case ARES_ETIMEOUT:
		return -ETIMEDOUT;
	default:
		return -EIO;
	}
}

static void resolve_part_ended(struct resolve_part *part, int status)
{
	struct resolve_entry *e = part->entry;

	part->err = resolve_errno(status);
	if (part->err == 0 && part->n == 0)
		part->err = -ENODATA;
	if (part->err != 0)
		part->n = 0;
	if (--e->pending == 0) {
		e->next = e->resolver->ended;
		e->resolver->ended = e;
	} else if (!e->told && e->parts[RESOLVE_A].n) {
		timer_start(e->resolver->loop, &e->timer, RESOLVE_GRACE);
	}
}

static void resolve_a(void *arg, int status, int timeouts, unsigned char *bytes, int length)
{
	struct resolve_part *part = arg;
	struct ares_addrttl found[LIMIT_ADDRESSES];
	int n = LIMIT_ADDRESSES;

	(void)timeouts;
	if (status == ARES_SUCCESS)
		status = ares_parse_a_reply(bytes, length, NULL, found, &n);
	for (int i = 0; status == ARES_SUCCESS && i < n; i++) {
		struct addr *a = &part->addrs[part->n++];

		*a = (struct addr){.ip = {[10] = 0xff, [11] = 0xff}};
		memcpy(a->ip + 12, &found[i].ipaddr, 4);
	}
	resolve_part_ended(part, status);
}

static void resolve_aaaa(void *arg, int status, int timeouts, unsigned char *bytes, int length)
{
	struct resolve_part *part = arg;
	struct ares_addr6ttl found[LIMIT_ADDRESSES];
	int n = LIMIT_ADDRESSES;

	(void)timeouts;
	if (status == ARES_SUCCESS)
		status = ares_parse_aaaa_reply(bytes, length, NULL, found, &n);
	for (int i = 0; status == ARES_SUCCESS && i < n; i++) {
		struct addr *a = &part->addrs[part->n++];

		*a = (struct addr){.port = 0};
		memcpy(a->ip, &found[i].ip6addr, 16);
	}
	resolve_part_ended(part, status);
}

static void resolve_other(void *arg, int status, int timeouts, unsigned char *bytes, int length)
{
	struct resolve_part *part = arg;
	struct resolve_entry *e = part->entry;

	(void)timeouts;
	part->err = resolve_errno(status);
	if (part->err == 0 && !e->told) {
		part->err = dns_records_parse(
			slice_of(bytes, (size_t)length), e->name, e->type, e->records);
		if (part->err == 0 && e->records->n == 0)
			part->err = -ENODATA;
	}
	e->pending = 0;
	e->next = e->resolver->ended;
	e->resolver->ended = e;
}

/* c-ares opened a socket, wants other events of it, or (neither) is about to close it. */
static void resolve_socket(void *arg, ares_socket_t fd, int readable, int writable)
{
	struct resolver *r = arg;
	uint32_t events = (readable ? POLLIN : 0) | (writable ? POLLOUT : 0);
	struct watch *idle = NULL;

	for (size_t i = 0; i < RESOLVE_SOCKETS; i++) {
		struct watch *w = &r->sockets[i];

		if (w->id && w->fd == fd) {
			if (events)
				watch_change(r->loop, w, events);
			else
				watch_stop(r->loop, w);
			return;
		}
		if (!w->id)
			idle = w;
	}
	/* without a watch its queries end by their deadline */
	if (events && idle)
		(void)watch_start(r->loop, idle, fd, events);
}

/* ---- the loop calls */

static void resolve_ready(struct watch *w, uint32_t revents)
{
	struct resolver *r = w->arg;
	ares_socket_t fd = w->fd;
	bool broken = revents & (POLLERR | POLLHUP);

	ares_process_fd(r->channel, revents & POLLIN || broken ? fd : ARES_SOCKET_BAD,
		revents & POLLOUT ? fd : ARES_SOCKET_BAD);
	resolve_pump(r);
}

static void resolve_retry(struct timer *t)
{
	struct resolver *r = container_of(t, struct resolver, retry);

	ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	resolve_pump(r);
}

/* ---- the interface */

static int resolve_set_servers(struct resolver *r, const struct addr *servers, unsigned n)
{
	struct ares_addr_port_node nodes[RESOLVE_SERVERS] = {0};

	if (n > RESOLVE_SERVERS)
		n = RESOLVE_SERVERS;
	for (unsigned i = 0; i < n; i++) {
		const struct addr *s = &servers[i];

		nodes[i].next = i + 1 < n ? &nodes[i + 1] : NULL;
		nodes[i].udp_port = nodes[i].tcp_port = s->port ? s->port : RESOLVE_PORT;
		nodes[i].family = addr_is_v4(s) ? AF_INET : AF_INET6;
		if (addr_is_v4(s))
			memcpy(&nodes[i].addr.addr4, s->ip + 12, 4);
		else
			memcpy(&nodes[i].addr.addr6, s->ip, 16);
	}
	r->no_servers = n == 0;
	return n == 0 || ares_set_servers_ports(r->channel, nodes) == ARES_SUCCESS ? 0 : -ENOMEM;
}

int resolve_new(struct loop *loop, const struct addr *servers, unsigned n, struct resolver **ret)
{
	static char lookups[] = "b"; /* DNS only */
	struct resolver *r = calloc(1, sizeof(*r));
	struct ares_options options = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_EDNS,
		.timeout = TIME_DNS_TRY,
		.tries = RESOLVE_TRIES,
		.lookups = lookups,
		.ednspsz = RESOLVE_UDP_SIZE,
		.sock_state_cb = resolve_socket,
		.sock_state_cb_data = r,
	};
	int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
		   ARES_OPT_EDNSPSZ | ARES_OPT_SOCK_STATE_CB | ARES_OPT_DOMAINS | ARES_OPT_NOROTATE;

	if (!r)
		return -ENOMEM;
	if (slab_init(&r->entries, sizeof(struct resolve_entry), LIMIT_LOOKUPS) < 0)
		goto no_slab;
	if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS)
		goto no_library;
	if (ares_init_options(&r->channel, &options, mask) != ARES_SUCCESS)
		goto no_channel;
	if (resolve_set_servers(r, servers, n) < 0)
		goto no_servers;
	r->loop = loop;
	r->retry.fire = resolve_retry;
	for (size_t i = 0; i < RESOLVE_SOCKETS; i++) {
		r->sockets[i].ready = resolve_ready;
		r->sockets[i].arg = r;
	}
	*ret = r;
	return 0;

no_servers:
	ares_destroy(r->channel);
no_channel:
	ares_library_cleanup();
no_library:
	slab_done(&r->entries);
no_slab:
	free(r);
	return -ENOMEM;
}

/* Labels of 1 to 63 letters, digits, '-' and '_'; one last dot may stand. */
static bool resolve_is_name(const char *name)
{
	size_t n = strlen(name), label = 0;

	if (n && name[n - 1] == '.')
		n--;
	if (n == 0 || n > LIMIT_NAME)
		return false;
	for (size_t i = 0; i < n; i++) {
		uint8_t c = slice_lower((uint8_t)name[i]);

		if (c == '.') {
			if (label == 0)
				return false;
			label = 0;
		} else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
			   c == '_') {
			if (++label > 63)
				return false;
		} else {
			return false;
		}
	}
	return label > 0;
}

/* 0 and *ret, with its deadline set; -EINVAL, -EAGAIN. */
static int resolve_entry_take(
	struct resolver *r, const char *name, void *arg, struct resolve_entry **ret)
{
	struct resolve_entry *e;

	if (!resolve_is_name(name))
		return -EINVAL;
	e = r->closing ? NULL : slab_take(&r->entries);
	if (!e)
		return -EAGAIN;
	e->resolver = r;
	e->arg = arg;
	e->timer.fire = resolve_late;
	for (unsigned i = 0; i < RESOLVE_FAMILIES; i++)
		e->parts[i] = (struct resolve_part){.entry = e, .err = -ETIMEDOUT};
	timer_start(r->loop, &e->timer, TIME_DNS);
	*ret = e;
	return 0;
}

int resolve_records(struct resolver *r, const char *name, uint16_t type, struct dns_records *ret,
	resolve_records_done done, void *arg)
{
	struct resolve_part *part;
	struct resolve_entry *e;
	int err = resolve_entry_take(r, name, arg, &e);

	if (err < 0)
		return err;
	e->records_done = done;
	e->records = ret;
	e->type = type;
	(void)snprintf(
		e->name, sizeof(e->name), "%s", name); /* resolve_is_name() has measured it */
	if (e->name[strlen(e->name) - 1] == '.')
		e->name[strlen(e->name) - 1] = 0;
	e->pending = 1;
	part = &e->parts[RESOLVE_A];
	if (r->no_servers)
		resolve_other(part, ARES_ECONNREFUSED, 0, NULL, 0);
	else
		ares_query(r->channel, e->name, ns_c_in, type, resolve_other, part);
	resolve_arm(r);
	return 0;
}

int resolve_lookup(struct resolver *r, const char *name, resolve_done done, void *arg)
{
	struct resolve_entry *e;
	int err = resolve_entry_take(r, name, arg, &e);

	if (err < 0)
		return err;
	e->done = done;
	e->pending = RESOLVE_FAMILIES;
	if (r->no_servers) {
		resolve_part_ended(&e->parts[RESOLVE_A], ARES_ECONNREFUSED);
		resolve_part_ended(&e->parts[RESOLVE_AAAA], ARES_ECONNREFUSED);
	} else {
		ares_query(r->channel, name, ns_c_in, ns_t_a, resolve_a, &e->parts[RESOLVE_A]);
		ares_query(r->channel, name, ns_c_in, ns_t_aaaa, resolve_aaaa,
			&e->parts[RESOLVE_AAAA]);
	}
	resolve_arm(r);
	return 0;
}

int resolve_trouble(const struct resolver *r, uint64_t *ret_times)
{
	*ret_times = r->times;
	return r->no_servers ? -EDESTADDRREQ : r->trouble;
}

unsigned resolve_in_flight(const struct resolver *r)
{
	return r->entries.used;
}

void resolve_cancel_of(
	struct resolver *r, bool (*of)(const void *arg, const void *whom), const void *whom)
{
	for (uint32_t i = 0; i < r->entries.made; i++) {
		struct resolve_entry *e = slab_at(&r->entries, i);

		if (!e || e->told || !of(e->arg, whom))
			continue;
		e->cancelled = true;
		resolve_tell(e);
	}
}

static bool resolve_any(const void *arg, const void *whom)
{
	(void)arg;
	(void)whom; /* all of them */
	return true;
}

void resolve_cancel(struct resolver *r)
{
	r->closing = true;
	resolve_cancel_of(r, resolve_any, NULL);
	ares_cancel(r->channel); /* every query ends here, by its callback */
	resolve_pump(r);
}

void resolve_free(struct resolver *r)
{
	if (!r)
		return;
	resolve_cancel(r);
	ares_destroy(r->channel);
	ares_library_cleanup();
	timer_stop(r->loop, &r->retry);
	for (size_t i = 0; i < RESOLVE_SOCKETS; i++)
		watch_stop(r->loop, &r->sockets[i]);
	slab_done(&r->entries);
	free(r);
}
