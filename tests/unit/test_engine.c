/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_engine.c – engines of both sides against each other: bytes, alerts, ends, new keys. What the server and the
 * client each insist on is in test_server.c and test_client.c.
 */
#include "tls_rig.h"

enum { MIB = 1 << 20 };

/* ---- bytes ---- */

static uint8_t pattern(size_t i, unsigned salt)
{
	return (uint8_t)((i * 2654435761u >> 13) + salt);
}

struct flow {
	size_t sent, got, refused;
	unsigned salt;
};

static bool flow_write(struct side *side, struct flow *f, size_t chunk)
{
	uint8_t bytes[40000];
	size_t n = MIB - f->sent < chunk ? MIB - f->sent : chunk;
	long r;

	if (n == 0)
		return false;
	for (size_t i = 0; i < n; i++)
		bytes[i] = pattern(f->sent + i, f->salt);
	r = tls_engine_write(side->e, slice_of(bytes, n));
	memset(bytes, 0xee,
		sizeof(bytes)); /* what was taken was taken, what was not is not looked at again */
	if (r == -EAGAIN) {
		f->refused++;
		return false;
	}
	assert_true(r > 0 && (size_t)r <= n);
	f->sent += (size_t)r;
	return true;
}

static void flow_read(struct side *side, struct flow *f, size_t chunk)
{
	uint8_t bytes[40000];
	long r;

	while ((r = tls_engine_read(side->e, bytes, chunk)) > 0) {
		for (long i = 0; i < r; i++)
			if (bytes[i] != pattern(f->got + (size_t)i, f->salt))
				fail_msg("byte %zu", f->got + (size_t)i);
		f->got += (size_t)r;
	}
	assert_int_equal(r, -EAGAIN);
}

/* A mebibyte both ways at once. */
static void pair_flows(struct pair *p, size_t chunk, size_t at_once)
{
	struct flow up = {.salt = 1}, down = {.salt = 2};

	while (up.got < MIB || down.got < MIB) {
		size_t before = up.got + down.got + up.sent + down.sent;
		bool moved = false;

		while (flow_write(&p->c, &up, chunk))
			;
		while (flow_write(&p->s, &down, chunk))
			;
		assert_true(buf_used(&p->c.tx) <= p->c.tx.max);
		for (int i = 0; i < 40; i++) {
			moved |= move(&p->c, &p->s, at_once);
			moved |= move(&p->s, &p->c, at_once);
			flow_read(&p->s, &up, 3000);
			flow_read(&p->c, &down, 40000);
		}
		assert_true(moved || before != up.got + down.got + up.sent + down.sent);
	}
	assert_true(up.refused > 0 && down.refused > 0); /* tx was full at some time */
	assert_int_equal(up.got, MIB);
	assert_int_equal(down.got, MIB);
}

static void a_mebibyte_both_ways(void **state)
{
	static const struct {
		size_t tx, chunk, at_once;
		int version;
	} rows[] = {
		{TX, 40000, 700, TLS1_3_VERSION},
		{TX, 40000, 700, TLS1_2_VERSION},
		{TX, 777, 20000, TLS1_3_VERSION},
		{300, 5000, 700, TLS1_3_VERSION},
		{65536, 40000, 65536, TLS1_3_VERSION},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pair p;

		pair_init(&p, rows[i].tx);
		leaf_for(&p, "api.example.com");
		if (rows[i].version == TLS1_2_VERSION)
			pair_odd_client(
				&p, odd_context(TLS1_2_VERSION, TLS1_2_VERSION), "api.example.com");
		else
			pair_client(&p, "api.example.com", NULL);
		pair_connect(&p);
		assert_string_equal(p.sni, "api.example.com");
		assert_int_equal(p.asked, 1);
		pair_flows(&p, rows[i].chunk, rows[i].at_once);
		pair_done(&p);
	}
}

static void handshakes_through_a_keyhole(void **state)
{
	static const size_t sizes[] = {1, 2, 7, 64, 500};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct pair p;

		pair_init(&p, sizes[i]);
		p.step = sizes[i];
		leaf_for(&p, "api.example.com");
		pair_client(&p, "api.example.com", NULL);
		pair_connect(&p);
		pair_done(&p);
	}
}

/* ---- alerts ---- */

static void alerts_arrive(void **state)
{
	static const struct {
		int alert; /* 0: choose() says NULL and nothing else */
		bool early; /* before a byte was read */
		const char *name;
	} rows[] = {
		{0, false, "unrecognized_name"},
		{TLS_ALERT_ACCESS_DENIED, false, "access_denied"},
		{TLS_ALERT_ACCESS_DENIED, true, "access_denied"},
		{TLS_ALERT_UNRECOGNIZED_NAME, true, "unrecognized_name"},
		{TLS_ALERT_INTERNAL_ERROR, false, "internal_error"},
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		int version = i % 2 ? TLS1_3_VERSION : TLS1_2_VERSION, c, s;
		struct pair p;

		pair_init(&p, TX);
		p.alert = rows[i / 2].early ? 0 : rows[i / 2].alert;
		pair_odd_client(&p, odd_context(version, version), "a.test");
		if (rows[i / 2].early) {
			assert_int_equal(
				tls_engine_alert(p.s.e, (enum tls_alert)rows[i / 2].alert), 0);
			assert_int_equal(tls_engine_alert(p.s.e, TLS_ALERT_INTERNAL_ERROR), -EBUSY);
		}
		pair_handshake(&p, &c, &s);
		assert_int_equal(s, -EPROTO);
		assert_int_equal(c, -EPROTO);
		assert_int_equal(p.asked, !rows[i / 2].early);
		assert_int_equal(tls_engine_failure(p.s.e), TLS_FAILURE_REFUSED);
		assert_string_equal(tls_engine_reason(p.s.e), rows[i / 2].name);
		assert_int_equal(tls_engine_failure(p.c.e), TLS_FAILURE_ALERT);
		assert_string_equal(tls_engine_reason(p.c.e), rows[i / 2].name);
		pair_done(&p);
	}
}

static void alert_without_engine(void **state)
{
	struct pair p;
	struct buf small;

	(void)state;
	pair_init(&p, TX);
	pair_client(&p, "a.test", NULL);
	assert_int_equal(tls_engine_handshake(p.c.e), 0);
	assert_int_equal(tls_engine_alert(p.c.e, TLS_ALERT_ACCESS_DENIED), -EBUSY);
	assert_int_equal(tls_engine_refuse(&p.s.tx, TLS_ALERT_ACCESS_DENIED), 0);
	(void)move(&p.s, &p.c, STEP);
	assert_int_equal(tls_engine_handshake(p.c.e), -EPROTO);
	assert_string_equal(tls_engine_reason(p.c.e), "access_denied");
	pair_done(&p);
	buf_init(&small, 6);
	assert_int_equal(tls_engine_refuse(&small, TLS_ALERT_ACCESS_DENIED), -ENOBUFS);
}

static void what_is_not_tls(void **state)
{
	static const struct {
		struct slice bytes;
		const char *reason;
	} rows[] = {
		{{(const uint8_t *)"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", 32},
			"unexpected_message"},
		{{(const uint8_t *)"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03", 10}, "decode_error"},
		{{(const uint8_t *)"\x17\x03\x03\x00\x05hello", 10}, "unexpected_message"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pair p;

		pair_init(&p, TX);
		assert_int_equal(buf_append(&p.s.rx, rows[i].bytes), 0);
		assert_int_equal(tls_engine_handshake(p.s.e), -EPROTO);
		assert_int_equal(tls_engine_failure(p.s.e), TLS_FAILURE_PROTOCOL);
		assert_string_equal(tls_engine_reason(p.s.e), rows[i].reason);
		assert_int_equal(p.asked, 0);
		pair_done(&p);
	}
}

/* ---- ends ---- */

static void both_ends(void **state)
{
	struct pair p;
	uint8_t byte;

	(void)state;
	pair_init(&p, TX);
	leaf_for(&p, "a.test");
	pair_client(&p, "a.test", NULL);
	assert_int_equal(tls_engine_close(p.c.e), -EPROTO); /* nothing to close yet */
	pair_connect(&p);
	assert_int_equal(tls_engine_write(p.c.e, slice_of(NULL, 0)), 0);
	assert_int_equal(tls_engine_write(p.c.e, SLICE("x")), 1);
	assert_int_equal(tls_engine_close(p.c.e), 0);
	assert_int_equal(tls_engine_close(p.c.e), 0);
	assert_int_equal(tls_engine_write(p.c.e, SLICE("y")), -EPROTO);
	(void)move(&p.c, &p.s, 4096);
	assert_int_equal(tls_engine_read(p.s.e, &byte, 1), 1);
	assert_int_equal(tls_engine_read(p.s.e, &byte, 1), 0);
	assert_int_equal(tls_engine_read(p.s.e, &byte, 1), 0);
	assert_int_equal(tls_engine_failure(p.s.e), TLS_FAILURE_NONE);
	/* half-closed: the other direction goes on */
	assert_int_equal(tls_engine_write(p.s.e, SLICE("z")), 1);
	assert_int_equal(tls_engine_close(p.s.e), 0);
	(void)move(&p.s, &p.c, 4096);
	assert_int_equal(tls_engine_read(p.c.e, &byte, 1), 1);
	assert_int_equal(byte, 'z');
	assert_int_equal(tls_engine_read(p.c.e, &byte, 1), 0);
	tls_engine_eof(p.c.e);
	assert_int_equal(tls_engine_read(p.c.e, &byte, 1), 0);
	pair_done(&p);
}

static void cut_off(void **state)
{
	struct pair p;
	uint8_t byte;
	int c, s;

	(void)state;
	pair_init(&p, TX);
	leaf_for(&p, "a.test");
	pair_client(&p, "a.test", NULL);
	pair_connect(&p);
	assert_int_equal(tls_engine_write(p.c.e, SLICE("xy")), 2);
	(void)move(&p.c, &p.s, 4096);
	assert_int_equal(tls_engine_write(p.c.e, SLICE("never whole")), 11);
	(void)move(&p.c, &p.s, 10);
	tls_engine_eof(p.s.e);
	assert_int_equal(tls_engine_read(p.s.e, &byte, 1), 1); /* what had arrived is read */
	assert_int_equal(tls_engine_read(p.s.e, &byte, 1), 1);
	assert_int_equal(tls_engine_read(p.s.e, &byte, 1), -EPROTO);
	assert_int_equal(tls_engine_failure(p.s.e), TLS_FAILURE_EOF);
	assert_string_equal(tls_engine_reason(p.s.e), "unexpected_eof");
	assert_int_equal(buf_used(&p.s.tx), 0);
	pair_done(&p);
	/* and in a handshake */
	pair_init(&p, TX);
	pair_client(&p, "a.test", NULL);
	c = tls_engine_handshake(p.c.e);
	assert_int_equal(c, 0);
	(void)move(&p.c, &p.s, 100);
	s = tls_engine_handshake(p.s.e);
	assert_int_equal(s, 0);
	tls_engine_eof(p.s.e);
	assert_int_equal(tls_engine_handshake(p.s.e), -EPROTO);
	assert_int_equal(tls_engine_failure(p.s.e), TLS_FAILURE_EOF);
	pair_done(&p);
}

static void a_flipped_bit(void **state)
{
	struct pair p;
	uint8_t byte;

	(void)state;
	pair_init(&p, TX);
	leaf_for(&p, "a.test");
	pair_client(&p, "a.test", NULL);
	pair_connect(&p);
	assert_int_equal(tls_engine_write(p.c.e, SLICE("abc")), 3);
	p.c.tx.data[p.c.tx.end - 1] ^= 1;
	(void)move(&p.c, &p.s, 4096);
	assert_int_equal(tls_engine_read(p.s.e, &byte, 1), -EPROTO);
	assert_string_equal(tls_engine_reason(p.s.e), "bad_record_mac");
	(void)move(&p.s, &p.c, 4096);
	assert_int_equal(tls_engine_read(p.c.e, &byte, 1), -EPROTO);
	assert_int_equal(tls_engine_failure(p.c.e), TLS_FAILURE_ALERT);
	assert_string_equal(tls_engine_reason(p.c.e), "bad_record_mac");
	pair_done(&p);
}

/* ---- in the middle ---- */

static void new_keys(void **state)
{
	struct pair p;
	uint8_t bytes[16];

	(void)state;
	pair_init(&p, TX);
	leaf_for(&p, "a.test");
	pair_client(&p, "a.test", NULL);
	pair_connect(&p);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(
			SSL_key_update(tls_engine_ssl(p.c.e), SSL_KEY_UPDATE_REQUESTED), 1);
		assert_int_equal(tls_engine_write(p.c.e, SLICE("up")), 2);
		(void)move(&p.c, &p.s, 4096);
		assert_int_equal(tls_engine_read(p.s.e, bytes, sizeof(bytes)), 2);
		assert_int_equal(tls_engine_write(p.s.e, SLICE("down")), 4);
		(void)move(&p.s, &p.c, 4096);
		assert_int_equal(tls_engine_read(p.c.e, bytes, sizeof(bytes)), 4);
	}
	assert_int_equal(SSL_get_key_update_type(tls_engine_ssl(p.s.e)), SSL_KEY_UPDATE_NONE);
	pair_done(&p);
}

/* Engines go on when the leaf, the CA and both sides' contexts are gone. */
static void what_may_go_first(void **state)
{
	struct tls_server *own_server;
	struct tls_client *own_client;
	struct tls_trust *own_trust;
	struct leaf *leaf;
	struct ca *own_ca;
	struct pair p = {.step = STEP};
	int64_t now = time(NULL);

	(void)state;
	buf_init(&p.c.rx, RX), buf_init(&p.s.rx, RX), buf_init(&p.c.tx, TX), buf_init(&p.s.tx, TX);
	assert_int_equal(ca_new("Sallyport CA brief", now, &own_ca), 0);
	assert_int_equal(trust_of(own_ca, &own_trust), 0);
	assert_int_equal(tls_server_new(&own_server), 0);
	assert_int_equal(tls_client_new(own_trust, &own_client), 0);
	tls_trust_unref(own_trust);
	assert_int_equal(tls_server_engine(own_server, &p.s.rx, &p.s.tx, choose, &p, &p.s.e), 0);
	assert_int_equal(tls_client_engine(own_client, &p.c.rx, &p.c.tx, SLICE("a.test"), NULL,
				 false, &p.c.e),
		0);
	tls_server_free(own_server);
	tls_client_free(own_client);
	assert_int_equal(mint_leaf(own_ca, SLICE("a.test"), NULL, now, &leaf), 0);
	p.leaf = leaf;
	ca_free(own_ca);
	assert_int_equal(tls_engine_handshake(p.c.e), 0);
	while (p.asked == 0) {
		(void)move(&p.c, &p.s, 100);
		(void)tls_engine_handshake(p.s.e);
	}
	mint_leaf_free(leaf); /* evicted in the middle of the handshake */
	p.leaf = NULL;
	pair_connect(&p);
	pair_flows(&p, 5000, 5000);
	pair_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mebibyte_both_ways),
		cmocka_unit_test(handshakes_through_a_keyhole),
		cmocka_unit_test(alerts_arrive),
		cmocka_unit_test(alert_without_engine),
		cmocka_unit_test(what_is_not_tls),
		cmocka_unit_test(both_ends),
		cmocka_unit_test(cut_off),
		cmocka_unit_test(a_flipped_bit),
		cmocka_unit_test(new_keys),
		cmocka_unit_test(what_may_go_first),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
