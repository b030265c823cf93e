/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_connection.c – what becomes of a live connection when the policy or the credentials are others
 * (connection_review()), and of a tunnel of which one side has ended. Connection, worker and legs are put together here;
 * a ring is there for their timers, and never run, so that no time passes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/limits.h"
#include "cred/credset.h"
#include "policy_text.h"
#include "proxy/connection.h"
#include "proxy/leg.h"
#include "proxy/origin.h"
#include "proxy/sandbox.h"
#include "proxy/tunnel.h"
#include "proxy/worker.h"

enum { FIRED_LATE = 2 * 16 }; /* two ticks of the wheel */

struct rig {
	struct worker w;
	struct sandbox *s;
	struct seat seat;
	struct leg client, server;
	struct origin origin;
	struct connection c;
};

static void rig_leg(struct rig *r, struct leg *l)
{
	*l = (struct leg){.worker = &r->w, .seat = &r->seat, .fd = -1, .window = LIMIT_RX};
	l->receiving = true; /* nothing is to be armed */
	buf_init(&l->rx, LIMIT_RX);
	buf_init(&l->tx, LIMIT_RX);
	buf_init(&l->out, LIMIT_RX);
}

/* An established tunnel to ok.test, port 443. */
static void rig_tunnel(struct rig *r, enum verdict_way way)
{
	if (r->c.timer.next)
		timer_stop(r->w.loop, &r->c.timer);
	r->w.dead = NULL;
	rig_leg(r, &r->client);
	rig_leg(r, &r->server);
	r->origin = (struct origin){.seat = &r->seat, .leg = &r->server};
	r->c = (struct connection){
		.seat = &r->seat,
		.state = CONNECTION_TUNNEL,
		.leg = &r->client,
		.who.asked.port = 443,
		.tunnel = {.origin = &r->origin, .way = way, .ready = true},
	};
	assert_int_equal(host_canon(SLICE("ok.test"), &r->c.host), 0);
}

static int set_up(void **state)
{
	static const loop_handler none[LOOP_OP_MAX] = {NULL};
	const struct loop_setup setup = {.entries = 64, .handlers = none};
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	assert_int_equal(loop_new(&setup, &r->w.loop), 0);
	r->s = calloc(1, sizeof(*r->s));
	assert_non_null(r->s);
	r->seat = (struct seat){.worker = &r->w, .sandbox = r->s};
	*state = r;
	return 0;
}

static int tear_down(void **state)
{
	struct rig *r = *state;

	if (r->c.timer.next)
		timer_stop(r->w.loop, &r->c.timer);
	loop_free(r->w.loop);
	free(r->s);
	free(r);
	return 0;
}

#define PASSES "version: 1\nname: a\ndefault: allow\n"
#define TUNNELS                                                                                    \
	"version: 1\nname: a\nrules:\n- {name: t, hosts: [ok.test], ports: [443], action: "        \
	"tunnel}\n"

static struct credset *binding(const char *host)
{
	struct source_trust trust = {0};
	struct credset *set = NULL;
	struct fault fault = {""};
	char text[256];

	(void)snprintf(text, sizeof(text),
		"credentials:\n- name: K\n  source: {value: 0123456789abcdefghij}\n  env: K\n"
		"  swap:\n  - {hosts: [%s], in: [bearer]}\n",
		host);
	if (credset_load(slice_str(text), "f", &trust, &fault, &set) < 0)
		fail_msg("%s", fault.text);
	return set;
}

static void test_review(void **state)
{
	static const struct {
		const char *what, *policy;
		const char *bound; /* a credential's host */
		enum verdict_way was;
		bool ends;
	} rows[] = {
		{"nothing has changed", PASSES, NULL, VERDICT_PASS, false},
		{"another host is denied",
			PASSES "rules:\n- {name: d, hosts: [no.test], action: deny}\n", NULL,
			VERDICT_PASS, false},
		{"it is denied", PASSES "rules:\n- {name: d, hosts: [ok.test], action: deny}\n",
			NULL, VERDICT_PASS, true},
		{"a rule reads it", PASSES "rules:\n- {name: a, hosts: [ok.test], action: allow}\n",
			NULL, VERDICT_PASS, true},
		{"a rule tunnels what passed", TUNNELS, NULL, VERDICT_PASS, true},
		{"all is terminated", PASSES "default_tls: terminate\n", NULL, VERDICT_PASS, true},
		{"a credential for it", PASSES, "ok.test", VERDICT_PASS, true},
		{"a credential for another", PASSES, "api.test", VERDICT_PASS, false},
		{"the tunnel's rule is there", TUNNELS, NULL, VERDICT_TUNNEL, false},
		{"… and a credential besides", TUNNELS, "ok.test", VERDICT_TUNNEL, false},
		{"the tunnel's rule is gone", "version: 1\nname: a\n", NULL, VERDICT_TUNNEL, true},
		{"it would pass without the rule", PASSES, NULL, VERDICT_TUNNEL, true},
		{"another port",
			"version: 1\nname: a\nrules:\n- {name: t, hosts: [ok.test], ports: [22], "
			"action: tunnel}\n",
			NULL, VERDICT_TUNNEL, true},
	};
	struct rig *r = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		rig_tunnel(r, rows[i].was);
		r->s->policy = load(rows[i].policy);
		r->seat.credentials = rows[i].bound ? binding(rows[i].bound) : NULL;
		connection_review(&r->c);
		if ((r->c.state == CONNECTION_DEAD) != rows[i].ends)
			fail_msg("%s: %s", rows[i].what,
				rows[i].ends ? "it goes on" : "it has ended");
		if (rows[i].ends) {
			assert_true(r->c.reset);
			assert_string_equal(r->c.reason,
				"a rule or a credential for this host has come or gone");
			assert_ptr_equal(r->w.dead, &r->c);
		}
		credset_unref(TAKE_PTR(r->seat.credentials));
		policy_unref(TAKE_PTR(r->s->policy));
	}
}

/* Requests are judged one by one: the next one will be. */
static void test_review_of_what_is_no_tunnel(void **state)
{
	static const enum connection_state states[] = {CONNECTION_NEW, CONNECTION_HANDSHAKE,
		CONNECTION_HEAD, CONNECTION_EXCHANGE, CONNECTION_DNS, CONNECTION_DRAIN};
	struct rig *r = *state;

	r->s->policy = load("version: 1\nname: a\n"); /* denies all */
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		rig_tunnel(r, VERDICT_PASS);
		r->c.state = states[i];
		connection_review(&r->c);
		assert_int_equal(r->c.state, states[i]);
	}
	policy_unref(TAKE_PTR(r->s->policy));
}

/* Milliseconds until the deadline of the connection; -1: it has none. */
static int64_t left(const struct rig *r)
{
	return r->c.timer.next ? (int64_t)(r->c.timer.due - loop_now(r->w.loop)) : -1;
}

static void test_half_closed_and_silent(void **state)
{
	struct rig *r = *state;

	assert_int_equal(TIME_TUNNEL_HALF, 15 * 60 * 1000);
	rig_tunnel(r, VERDICT_TUNNEL);
	tunnel_step(&r->c);
	assert_false(r->c.tunnel.half);
	assert_int_equal(left(r), -1); /* a whole one may be silent for ever */
	tunnel_expired(&r->c); /* what it may have is the time until its buffers are given back */
	assert_int_equal(r->c.state, CONNECTION_TUNNEL);

	r->server.ended = true;
	tunnel_step(&r->c);
	assert_true(r->c.tunnel.half && r->client.shut && !r->server.shut);
	assert_in_range(left(r), TIME_TUNNEL_HALF - FIRED_LATE, TIME_TUNNEL_HALF + FIRED_LATE);

	/* a step in which nothing moves gives it no time */
	connection_deadline(&r->c, 5000);
	tunnel_step(&r->c);
	assert_in_range(left(r), 5000 - FIRED_LATE, 5000 + FIRED_LATE);
	/* a byte does */
	assert_int_equal(buf_append(&r->client.rx, SLICE("x")), 0);
	r->client.receiving = true;
	tunnel_step(&r->c);
	assert_in_range(left(r), TIME_TUNNEL_HALF - FIRED_LATE, TIME_TUNNEL_HALF + FIRED_LATE);
	assert_int_equal(r->c.state, CONNECTION_TUNNEL);

	tunnel_expired(&r->c);
	assert_int_equal(r->c.state, CONNECTION_DEAD);
	assert_true(r->c.reset);
	assert_string_equal(r->c.reason, "half-closed and silent");
	assert_int_equal(left(r), -1);
	buf_done(&r->client.rx);
	buf_done(&r->server.tx);
	r->server.out.lent = false; /* nothing was submitted */
	buf_done(&r->server.out);
}

/* One sandbox may have all; of several each has its part at least, and whoever asks takes what nobody has. */
static void test_share(void **state)
{
	static const struct {
		uint32_t used, own, seats;
		bool refused;
	} rows[] = {
		{0, 0, 2, false},
		{8191, 8191, 1, false}, /* alone: all */
		{7167, 7167, 2, false}, /* an eighth is free */
		{7168, 7168, 2, true}, /* it is not any more, and it has more than its half */
		{7168, 4096, 2, true},
		{7168, 4095, 2, false},
		{8191, 1, 2, false}, /* the last one, for who has few */
		{8191, 0, 1000, false},
		{8191, 8, 1000, true},
		{7168, 1024, 8, true},
		{7168, 1023, 8, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (worker_share_used(rows[i].used, 8192, rows[i].own, rows[i].seats) !=
			rows[i].refused)
			fail_msg("%u used, %u own, %u seats", rows[i].used, rows[i].own,
				rows[i].seats);
}

/* Two that fill a worker of 64 slots, one after the other, until neither gets any: both have half of it, or had it. */
static void test_shares_of_two(void **state)
{
	uint32_t own[2] = {0}, max = 64, turns = 0;

	(void)state;
	while (own[0] + own[1] < max && !worker_share_used(own[0] + own[1], max, own[0], 2))
		own[0]++; /* the greedy one comes first */
	assert_int_equal(own[0], 56);
	while (own[0] + own[1] < max && !worker_share_used(own[0] + own[1], max, own[1], 2))
		own[1]++;
	assert_int_equal(own[1], 8);
	/* tunnels of the greedy one end one by one: who takes the place? */
	while (own[0] > 32 && turns++ < 100) {
		own[0]--;
		if (!worker_share_used(own[0] + own[1], max, own[0], 2))
			own[0]++;
		else if (!worker_share_used(own[0] + own[1], max, own[1], 2))
			own[1]++;
	}
	assert_int_equal(own[0], 32);
	assert_int_equal(own[1], 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_review, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_review_of_what_is_no_tunnel, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_half_closed_and_silent, set_up, tear_down),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_shares_of_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
