/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.c – see names.h.
 *
 * A question is parsed and decided at once. What needs no lookup is answered at once; the others wait as a query, which
 * knows where its answer goes: to a UDP peer (from the very address that was asked, or the client drops it) or to a TCP
 * connection, which asks its next question when this one is answered. A query waits for one thing: a lookup (addresses,
 * records) or a naming (the synthetic address of a name that has none yet). A datagram is received into one of the ring's
 * buffers, taken when it is there: a sandbox that asks nothing keeps none.
 *
 * #syscalls: sendmsg
 */
#include <assert.h>
#include <errno.h>
#include <liburing.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "dns/answers.h"
#include "policy/policy.h"
#include "proxy/connection.h"
#include "proxy/leg.h"
#include "proxy/lookup.h"
#include "proxy/names.h"
#include "proxy/naming.h"
#include "proxy/record.h"
#include "proxy/sandbox.h"
#include "proxy/synthetic.h"
#include "proxy/worker.h"

/* Where a UDP answer goes, and from which address. */
struct names_peer {
	int fd;
	struct sockaddr_storage to;
	socklen_t n;
	struct addr from;
};

struct names_query {
	struct seat *seat;
	struct lookup *lookup; /* NULL while it waits for a naming */
	struct naming naming;
	bool tcp;
	struct connection *stream; /* with tcp; NULL when it is gone */
	struct names_peer peer;
	struct host host;
	struct dns_question question;
};

static_assert(sizeof(struct names_query) <= NAMES_QUERY, "fits its slot");
static_assert((int)DNS_PACKET_MAX <= (int)LIMIT_RECV_CHUNK, "a question fits a provided buffer");

union names_control {
	struct cmsghdr align;
	uint8_t bytes[256];
};

struct names_socket {
	int fd; /* borrowed from the sandbox; -1: there is no such series */
	bool receiving;
	struct sockaddr_storage from;
	union names_control control;
	struct iovec iov;
	struct msghdr msg;
};

struct names {
	struct seat *seat;
	bool stopping;
	struct names_socket sockets[2];
};

/* ---- answers */

static void names_send_udp(const struct names_peer *peer, const uint8_t *packet, size_t n)
{
	union names_control control = {0};
	struct iovec iov = {(void *)packet, n};
	struct msghdr m = {.msg_name = (void *)&peer->to,
		.msg_namelen = peer->n,
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes};
	struct cmsghdr *c;

	if (peer->to.ss_family == AF_INET) {
		struct in_pktinfo info = {0};

		memcpy(&info.ipi_spec_dst, peer->from.ip + 12, 4);
		m.msg_controllen = CMSG_SPACE(sizeof(info));
		c = CMSG_FIRSTHDR(&m);
		*c = (struct cmsghdr){CMSG_LEN(sizeof(info)), IPPROTO_IP, IP_PKTINFO};
		memcpy(CMSG_DATA(c), &info, sizeof(info));
	} else {
		struct in6_pktinfo info = {0};

		memcpy(&info.ipi6_addr, peer->from.ip, 16);
		m.msg_controllen = CMSG_SPACE(sizeof(info));
		c = CMSG_FIRSTHDR(&m);
		*c = (struct cmsghdr){CMSG_LEN(sizeof(info)), IPPROTO_IPV6, IPV6_PKTINFO};
		memcpy(CMSG_DATA(c), &info, sizeof(info));
	}
	/* a datagram may be lost: the client asks again */
	(void)sendmsg(peer->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void names_send_stream(struct connection *c, const uint8_t *packet, size_t n)
{
	uint8_t head[2];

	dns_frame_head(n, head);
	if (leg_room(c->leg) < n + sizeof(head) ||
		leg_write(c->leg, slice_of(head, sizeof(head))) < 0 ||
		leg_write(c->leg, slice_of(packet, n)) < 0)
		connection_break(c);
}

static void names_answer(const struct names_query *q, const struct dns_reply *reply)
{
	uint8_t packet[DNS_ANSWER_LONGEST];
	size_t n = dns_answer_write(
		&q->question, reply, packet, q->tcp ? sizeof(packet) : q->question.udp_size);

	if (q->stream)
		names_send_stream(q->stream, packet, n);
	else if (!q->tcp)
		names_send_udp(&q->peer, packet, n);
}

static void names_query_done(struct names_query *q)
{
	struct seat *seat = q->seat;

	slab_give(&seat->worker->queries, q);
	seat->queries--;
}

/* A candidate that the dialler would refuse at every port is not worth an answer. */
static bool names_accept(void *arg, const struct addr *a)
{
	struct names_query *q = arg;

	return policy_address(q->seat->sandbox->policy, &q->host, a) == CATEGORY_NONE;
}

/* The query that waited is over. */
static void names_told(struct names_query *q, const struct dns_reply *reply)
{
	struct connection *stream = q->stream;

	names_answer(q, reply);
	names_query_done(q);
	if (stream) {
		stream->query = NULL;
		connection_step(stream);
	}
}

static void names_resolved(void *arg, int err, const struct addr *addrs, unsigned n)
{
	struct names_query *q = arg;
	struct dns_reply reply;

	q->lookup = NULL;
	(void)dns_resolved(q->question.type, err, addrs, n, names_accept, q, &reply);
	names_told(q, &reply);
}

/* That there is no such record is no news of the name, whatever the server says of it: NXDOMAIN for a type that it does
 * not know would take its addresses away too. */
static void names_recorded(void *arg, int err, const struct dns_records *records)
{
	struct names_query *q = arg;
	struct dns_reply reply = {.rcode = DNS_NOERROR};

	q->lookup = NULL;
	if (records) {
		reply.nrecords = records->n;
		reply.records = slice_of(records->bytes, records->used);
	} else if (err != -ENOENT && err != -ENODATA) {
		reply.rcode = DNS_SERVFAIL;
	}
	names_told(q, &reply);
}

/* What the name is told now that it has an address, or cannot have one: that is said where the client connects, and in
 * the audit. */
static void names_named(struct naming *n)
{
	struct names_query *q = container_of(n, struct names_query, naming);
	struct dns_reply reply = {.rcode = DNS_SERVFAIL};

	if (n->err == 0)
		dns_synthetic(&n->addr, &reply);
	else if (n->err == -E2BIG)
		dns_settle(DNS_SAY_SHARED, q->question.type, &reply);
	if (n->err == -E2BIG)
		record_limit_name(q->seat, &q->host, q->tcp);
	names_told(q, &reply);
}

/* ---- questions */

static enum dns_action names_decide(struct names_query *q)
{
	struct sandbox *sb = q->seat->sandbox;
	struct dns_facts facts = {.search = sb->at.search, .nsearch = sb->at.nsearch};
	enum policy_dns dns = policy_dns(sb->policy);
	struct addr pointed;

	facts.off = dns == POLICY_DNS_OFF;
	facts.pool = dns_reverse(q->question.name, &pointed) && synthetic_pool(&pointed);
	if (q->question.plain && host_canon(slice_str(q->question.name), &q->host) == 0 &&
		!q->host.is_ip) {
		facts.opened = policy_opens_name(sb->policy, &q->host);
		facts.exact = policy_names_exactly(sb->policy, &q->host);
		facts.synthetic =
			dns == POLICY_DNS_SYNTHETIC || policy_tunnels_name(sb->policy, &q->host);
	}
	return dns_decide(&q->question, &facts);
}

static void names_pointer(const struct names_query *q)
{
	uint8_t record[DNS_RECORD_NAME];
	struct dns_reply reply = {.rcode = DNS_NOERROR};
	struct host named;
	struct addr a;

	if (dns_reverse(q->question.name, &a) && synthetic_host(q->seat->sandbox, &a, &named)) {
		reply.records = slice_of(record, dns_records_name(named.text, DNS_TTL, record));
		reply.nrecords = reply.records.n ? 1 : 0;
	}
	names_answer(q, &reply);
}

/* Whether it could be answered at once. */
static bool names_now(const struct names_query *q, enum dns_action action)
{
	struct dns_reply reply;
	struct addr a;

	switch (action) {
	case DNS_RESOLVE:
	case DNS_FORWARD:
		return false;
	case DNS_SYNTHETIC:
		if (!synthetic_address(&q->seat->sandbox->synthetic, &q->host, &a))
			return false;
		dns_synthetic(&a, &reply);
		break;
	case DNS_POINTER:
		names_pointer(q);
		return true;
	default:
		dns_settle(action, q->question.type, &reply);
	}
	names_answer(q, &reply);
	return true;
}

/* Sends the query, which is in its slot, where its answer comes from. Whether there was room. */
static bool names_send(struct names_query *q, enum dns_action action)
{
	struct seat *seat = q->seat;

	if (action == DNS_SYNTHETIC)
		return naming_start(seat, &q->naming, &q->host, names_named) == 0;
	if (action == DNS_FORWARD)
		q->lookup = lookup_start_records(
			seat, q->host.text, q->question.type, names_recorded, q);
	else
		q->lookup = lookup_start(seat, q->host.text, names_resolved, q);
	return q->lookup != NULL;
}

/* Answers now, or leaves the query waiting in its slot. Returns the waiting query or NULL. */
static struct names_query *names_ask(const struct names_query *asked)
{
	struct worker *w = asked->seat->worker;
	struct names_query *q;
	struct names_query now = *asked;
	enum dns_action action = names_decide(&now);

	if (names_now(&now, action))
		return NULL;
	q = slab_take(&w->queries);
	if (q)
		*q = now;
	if (!q || !names_send(q, action)) {
		names_answer(&now, &(struct dns_reply){.rcode = DNS_SERVFAIL});
		if (q)
			slab_give(&w->queries, q);
		return NULL;
	}
	q->seat->queries++;
	return q;
}

/* Parses and answers or starts one question. */
static struct names_query *names_packet(struct names_query *asked, struct slice packet)
{
	int r = dns_question_parse(packet, &asked->question);

	if (r < 0)
		return NULL;
	if (r > 0) {
		names_answer(asked, &(struct dns_reply){.rcode = (enum dns_rcode)r});
		return NULL;
	}
	return names_ask(asked);
}

/* ---- UDP */

static void names_receive(struct names *n, unsigned i)
{
	struct names_socket *s = &n->sockets[i];
	struct worker *w = n->seat->worker;
	struct io_uring_sqe *sqe;

	if (s->fd < 0)
		return;
	s->iov = (struct iovec){NULL, DNS_PACKET_MAX}; /* the buffer is one of the ring's */
	s->msg = (struct msghdr){.msg_name = &s->from,
		.msg_namelen = sizeof(s->from),
		.msg_iov = &s->iov,
		.msg_iovlen = 1,
		.msg_control = s->control.bytes,
		.msg_controllen = sizeof(s->control.bytes)};
	sqe = loop_sqe(w->loop, (union ring_ref){.op = WORKER_OP_NAMES,
					.leg = (uint8_t)i,
					.gen = slab_generation(n->seat),
					.slot = slab_slot(n->seat)});
	sqe->opcode = IORING_OP_RECVMSG;
	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->fd = s->fd;
	sqe->addr = (uintptr_t)&s->msg;
	sqe->len = 1;
	s->receiving = true;
}

/* The address that was asked, from the packet information. */
static bool names_asked(struct names_socket *s, struct addr *ret)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&s->msg); c; c = CMSG_NXTHDR(&s->msg, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo info;
			struct sockaddr_in sin = {.sin_family = AF_INET};

			memcpy(&info, CMSG_DATA(c), sizeof(info));
			sin.sin_addr = info.ipi_addr;
			return addr_from_sockaddr((struct sockaddr *)&sin, sizeof(sin), ret) == 0;
		}
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			struct in6_pktinfo info;
			struct sockaddr_in6 sin6 = {.sin6_family = AF_INET6};

			memcpy(&info, CMSG_DATA(c), sizeof(info));
			sin6.sin6_addr = info.ipi6_addr;
			return addr_from_sockaddr((struct sockaddr *)&sin6, sizeof(sin6), ret) == 0;
		}
	}
	return false;
}

static void names_datagram(struct names *n, struct names_socket *s, struct slice packet)
{
	struct names_query q = {
		.seat = n->seat, .peer = {.fd = s->fd, .to = s->from, .n = s->msg.msg_namelen}};

	if (s->msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || !names_asked(s, &q.peer.from))
		return;
	(void)names_packet(&q, packet); /* a waiting query answers by itself */
}

struct names *names_start(struct seat *seat)
{
	struct names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->seat = seat;
	n->sockets[0].fd = seat->sandbox->at.dns[0];
	n->sockets[1].fd = seat->sandbox->at.dns[1];
	names_receive(n, 0);
	names_receive(n, 1);
	return n;
}

static void names_check(struct names *n)
{
	struct seat *seat = n->seat;

	if (!n->stopping || n->sockets[0].receiving || n->sockets[1].receiving)
		return;
	seat->names = NULL;
	free(n);
	worker_seat_check(seat);
}

void names_stop(struct names *n)
{
	n->stopping = true;
	for (unsigned i = 0; i < 2; i++) {
		struct io_uring_sqe *sqe;

		if (!n->sockets[i].receiving)
			continue;
		sqe = loop_sqe(n->seat->worker->loop, (union ring_ref){.op = LOOP_OP_NONE});
		sqe->opcode = IORING_OP_ASYNC_CANCEL;
		sqe->fd = -1;
		sqe->addr = ((union ring_ref){.op = WORKER_OP_NAMES,
				     .leg = (uint8_t)i,
				     .gen = slab_generation(n->seat),
				     .slot = slab_slot(n->seat)})
				    .u64;
	}
	names_check(n);
}

static void names_took(struct worker *w, union ring_ref ref, int res, uint32_t flags)
{
	struct seat *seat = slab_find(&w->seats, ref.slot, ref.gen);
	struct names_socket *s;

	if (!seat || !seat->names || ref.leg > 1)
		return;
	s = &seat->names->sockets[ref.leg];
	s->receiving = false;
	if (seat->names->stopping) {
		/* a question that came before is answered, unless its sandbox is gone */
		if (res > 0 && !seat->leaving)
			names_datagram(
				seat->names, s, slice_of(loop_buffer(w->loop, flags), (size_t)res));
		names_check(seat->names);
		return;
	}
	if (res > 0)
		names_datagram(seat->names, s, slice_of(loop_buffer(w->loop, flags), (size_t)res));
	names_receive(seat->names, ref.leg);
}

void names_received(void *worker, union ring_ref ref, int res, uint32_t flags)
{
	struct worker *w = worker;

	names_took(w, ref, res, flags);
	if (flags & IORING_CQE_F_BUFFER)
		loop_buffer_give(w->loop, flags);
}

/* ---- TCP */

void names_stream_step(struct connection *c)
{
	/* the next answer must have room: a client that asks and does not read is not asked on */
	while (!c->query && c->state == CONNECTION_DNS &&
		(c->leg->broken || leg_room(c->leg) >= DNS_ANSWER_LONGEST + 2)) {
		struct names_query q = {.seat = c->seat, .tcp = true, .stream = c};
		struct slice in = leg_readable(c->leg), packet;
		size_t used;
		int r = dns_frame_next(in, &packet, &used);

		if (r < 0 || (r == 0 && (c->leg->broken || c->leg->ended))) {
			connection_finish(c);
			return;
		}
		if (r == 0)
			return;
		connection_deadline(c, c->seat->worker->draining ? TIME_RELAX : TIME_IDLE);
		c->query = names_packet(&q, packet);
		leg_consume(c->leg, used);
	}
}

void names_stream_forget(struct connection *c)
{
	struct names_query *q = TAKE_PTR(c->query);

	q->stream = NULL;
	if (!q->lookup)
		return; /* the control thread has it: names_named() ends it */
	lookup_cancel(q->lookup);
	names_query_done(q);
}
