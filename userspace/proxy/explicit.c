/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explicit.c – clients that believe in a proxy (HTTPS_PROXY, http.proxy, …). Whatever address they have for it, they are
 * captured here; it is ignored, and what they ask it for is judged and dialled by us (CAP-09).
 *
 *	CONNECT host:port	judged like a connection there (decide.c); refused in words, or answered with 200. Then the
 *				same leg is a new connection (opening.c) whose destination is the target: TLS in it is
 *				terminated, passed or tunnelled as policy says, a server may speak first, bytes that the
 *				client did not wait to send are there. Once: nothing in it may be a CONNECT.
 *	GET http://host/path	an exchange like any other, but with the host and port of its target; when the first
 *				request has that form every one on the connection has, each for a server of its own.
 *
 * The 200 is not a server's: nothing has been dialled. It has neither body nor framing fields (RFC 9110 section 9.3.6).
 * What such a client says to its proxy (Proxy-Authorization) is hop-by-hop and ends here.
 *
 * Owns nothing: connection->to is where the client wants to be, connection->talk what it believes.
 */
#include "proxy/connection.h"
#include "proxy/exchange.h"
#include "proxy/explicit.h"
#include "proxy/leg.h"
#include "proxy/opening.h"
#include "proxy/record.h"
#include "proxy/sandbox.h"
#include "proxy/worker.h"

struct decide_facts explicit_facts(const struct connection *c)
{
	return (struct decide_facts){
		.policy = c->seat->sandbox->policy,
		.names = &c->seat->sandbox->synthetic,
		.port = c->to.port,
		.tls = c->tls,
		.talk = c->tls ? DECIDE_SESSION : c->talk,
		.server = !c->tls && c->to.connect ? &c->to.host : &c->host,
	};
}

bool explicit_connect(struct connection *c, const struct msg *m, size_t used)
{
	static const char answer[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	struct decide_facts facts = explicit_facts(c);
	struct decision d;

	if (!slice_eq(m->method, SLICE("CONNECT")))
		return false;
	decide_request(&facts, m, &d);
	if (!d.verdict.allow)
		return false; /* the exchange will be told the same, and tells the client */
	leg_consume(c->leg, used);
	if (leg_write(c->leg, slice_str(answer)) < 0)
		connection_break(c);
	else
		opening_again(c, &d.host, d.port);
	return true;
}

void explicit_judged(struct exchange *x, const struct decision *d)
{
	struct connection *c = x->c;

	if (c->talk == DECIDE_ANYBODY)
		c->talk = d->proxied ? DECIDE_PROXY : DECIDE_SERVER;
	if (!d->proxied)
		return;
	record_target(&x->event, &d->host, d->port);
	if (d->path.n)
		audit_path(&x->event, d->path);
}
