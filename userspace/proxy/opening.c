/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opening.c – what a new connection is, from where it wants to be and from its first bytes: CONNECTION_NEW of connection.c.
 *
 * The host of raw bytes is the name that the asked address stands for (synthetic.h), else that address. Where a tunnel
 * rule is the first to match it, NEW is over at once and the tunnel is dialled without waiting for a byte. A ClientHello
 * whose name a rule tunnels, at an address that says nothing, becomes a tunnel to that name as well.
 * Where raw bytes are passed through (default: allow), the client has TIME_FIRST to say what it is (TIME_FIRST_PROXY at the
 * port of a proxy), since a hello is dialled by its name; then the address is dialled, and who speaks first decides: the
 * server, and these are raw bytes for good; the client, and its bytes are looked at as ever.
 *
 * A CONNECT is answered and then begins all of it anew, with its target in the place of the asked address (explicit.c).
 *
 * Owns nothing: what it finds out stands in the connection.
 */
#include <errno.h>

#include "audit/event.h"
#include "base/cleanup.h"
#include "policy/policy.h"
#include "proxy/connection.h"
#include "proxy/connection_internal.h"
#include "proxy/decide.h"
#include "proxy/first.h"
#include "proxy/leg.h"
#include "proxy/opening.h"
#include "proxy/sandbox.h"
#include "proxy/synthetic.h"
#include "proxy/worker.h"
#include "tls/engine.h"

enum { OPENING_TLS_PORT = 443 };

/* Where proxies for HTTP are. */
static const uint16_t opening_proxies[] = {3128, 8080, 8888};

static bool opening_named(const struct connection *c)
{
	return !c->to.host.is_ip;
}

struct verdict opening_judge(const struct connection *c, const struct host *h)
{
	return decide_connection(c->seat->sandbox->policy, c->seat->credentials, h, c->to.port);
}

/* The clients of a proxy speak first; what becomes of its own address, if anything is there, does not matter. */
static bool opening_proxy(uint16_t port)
{
	for (size_t i = 0; i < ARRAY_SIZE(opening_proxies); i++)
		if (port == opening_proxies[i])
			return true;
	return false;
}

/*
 * Nothing can be allowed there: the port is in no rule, or the address is one that stands for refused names or for none.
 * Who waits for the server to speak first is told at once. Not at the ports where clients speak first, and some read
 * their trust store or their code before they do (GnuTLS, Java).
 */
static bool opening_closed(const struct connection *c)
{
	uint16_t port = c->to.port;

	if (port == 80 || port == 443 || opening_proxy(port))
		return false;
	return c->to.nowhere || !policy_opens_port(c->seat->sandbox->policy, port);
}

/* What the connection is has not been told in time. */
void opening_expired(struct connection *c)
{
	if (!c->passing || c->hurried) {
		connection_refuse(c,
			opening_closed(c) ? CATEGORY_HOST_DENIED : CATEGORY_PROTOCOL_DENIED,
			"silence");
		return;
	}
	c->host = c->to.host;
	tunnel_dial(c);
}

static void opening_tunnel(struct connection *c, enum verdict_way way, bool judging)
{
	connection_to(c, CONNECTION_TUNNEL);
	tunnel_start(c, way, judging);
}

/* From the destination alone: a tunnel at once, or how long to wait for bytes. */
static void opening_route(struct connection *c)
{
	struct verdict v = opening_judge(c, &c->to.host);

	if (v.way == VERDICT_TUNNEL) {
		c->host = c->to.host;
		connection_judged(c, &v);
		opening_tunnel(c, v.way, opening_named(c) && c->to.port == OPENING_TLS_PORT);
	} else if (v.way == VERDICT_PASS && !c->to.nowhere) {
		c->passing = true;
		connection_deadline(c, opening_proxy(c->to.port) ? TIME_FIRST_PROXY : TIME_FIRST);
	} else if (opening_closed(c)) {
		connection_deadline(c, TIME_CLOSED);
	}
}

void opening_begin(struct connection *c)
{
	const struct addr *asked = &c->who.asked;

	c->to.port = asked->port;
	if (!synthetic_host(c->seat->sandbox, asked, &c->to.host)) {
		host_of_addr(asked, &c->to.host);
		c->to.nowhere = synthetic_pool(asked);
	}
	opening_route(c);
}

void opening_again(struct connection *c, const struct host *host, uint16_t port)
{
	c->to = (struct destination){.host = *host, .port = port, .connect = true};
	c->host = *host;
	c->talk = DECIDE_SESSION;
	c->protocols = AUDIT_PROTOCOL_TCP; /* what travels inside is to be found out */
	c->passing = c->hurried = c->relaxed = c->head_begun = false;
	c->scan = 0;
	connection_to(c, CONNECTION_NEW);
	opening_route(c);
}

/* Raw bytes to that host. What was dialled while the client was silent is of use if it is the same. */
static void opening_go_raw(struct connection *c, enum verdict_way way, const struct host *to)
{
	if (c->tunnel.upstream.origin && !host_same(&c->host, to))
		tunnel_drop(c);
	c->host = *to;
	opening_tunnel(c, way, false);
}

static void opening_hello(struct connection *c, const struct first *first)
{
	struct host host = first->has_name ? first->name : c->to.host;
	struct verdict verdict = opening_judge(c, &host);

	connection_judged(c, &verdict);
	if (verdict.way != VERDICT_TERMINATE) {
		c->protocols |= AUDIT_PROTOCOL_TLS;
		opening_go_raw(c, verdict.way, &host);
		return;
	}
	tunnel_drop(c);
	c->host = host;
	connection_terminate(c, &verdict);
}

/* Bytes that are neither TLS nor HTTP. */
static void opening_other(struct connection *c, const char *what)
{
	struct verdict verdict;

	if (!c->passing) {
		connection_refuse(c, CATEGORY_PROTOCOL_DENIED, what);
		return;
	}
	verdict = opening_judge(c, &c->to.host);
	connection_judged(c, &verdict);
	if (verdict.way == VERDICT_PASS) /* still: a credential may have come to name it */
		opening_go_raw(c, VERDICT_PASS, &c->to.host);
	else
		connection_refuse(c, CATEGORY_PROTOCOL_DENIED, what);
}

/* What there is says nothing yet. */
static void opening_unclear(struct connection *c)
{
	bool over = leg_over(c->leg) || c->leg->eof, some = leg_readable(c->leg).n > 0;

	if (over && c->passing && !c->leg->broken) { /* a client that only listens */
		opening_other(c, "");
	} else if (over) {
		connection_to(c, CONNECTION_DEAD);
	} else if (some && c->passing && !c->hurried) {
		c->hurried = true;
		connection_deadline(c, TIME_SNIFF);
	} else if (!some && tunnel_spoke(c)) {
		struct verdict verdict = opening_judge(c, &c->host);

		connection_judged(c, &verdict);
		if (verdict.way == VERDICT_PASS)
			opening_tunnel(c, VERDICT_PASS, true);
		else
			connection_refuse(
				c, CATEGORY_PROTOCOL_DENIED, "a credential for this host has come");
	}
}

void opening_step(struct connection *c)
{
	struct first first;
	int r = first_read(leg_readable(c->leg), &first);

	if (r == 0) {
		opening_unclear(c);
		return;
	}
	if (r < 0) {
		connection_alert(c,
			r == -EINVAL ? TLS_ALERT_UNRECOGNIZED_NAME : TLS_ALERT_DECODE_ERROR,
			CATEGORY_BAD_REQUEST, "built-in",
			r == -EINVAL ? "malformed SNI" : "malformed ClientHello");
		return;
	}
	switch (first.kind) {
	case SNIFF_TLS:
		opening_hello(c, &first);
		return;
	case SNIFF_HTTP1:
		tunnel_drop(c);
		c->host = (struct host){0};
		c->protocols |= AUDIT_PROTOCOL_HTTP1;
		connection_to(c, CONNECTION_HEAD);
		return;
	case SNIFF_H2_PREFACE:
		tunnel_drop(c);
		c->host = (struct host){0};
		connection_streams(c);
		return;
	case SNIFF_SSLV2:
		opening_other(c, "SSLv2 hello");
		return;
	case SNIFF_OTHER:
		opening_other(c, "neither TLS nor HTTP");
		return;
	}
}
