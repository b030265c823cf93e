/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_resolve.c – lookups against a real server (nameserver.h). The resolver runs on a real loop.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "dns/records.h"
#include "nameserver.h"
#include "ring/loop.h"
#include "upstream/resolve.h"

struct fixture {
	struct server server;
	struct loop *loop;
	struct resolver *resolver;
	unsigned waiting;
	bool in_call;
};

struct outcome {
	struct fixture *f;
	unsigned calls, n;
	int err;
	uint64_t ms; /* when */
	struct addr addrs[LIMIT_ADDRESSES];
};

static void start(struct fixture *f, const struct addr *servers, unsigned n)
{
	const struct loop_setup setup = {.entries = 64};

	assert_int_equal(loop_new(&setup, &f->loop), 0);
	assert_int_equal(loop_enable(f->loop), 0);
	assert_int_equal(resolve_new(f->loop, servers, n, &f->resolver), 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	server_start(&f->server);
	start(f, &f->server.at, 1);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	resolve_free(f->resolver);
	loop_free(f->loop);
	server_stop(&f->server);
	free(f);
	return 0;
}

static void done(void *arg, int err, const struct addr *addrs, unsigned n)
{
	struct outcome *o = arg;

	assert_false(o->f->in_call);
	assert_true(n <= LIMIT_ADDRESSES);
	assert_int_equal(err == 0, n > 0);
	o->calls++;
	o->err = err;
	o->n = n;
	o->ms = clock_monotonic_ms();
	if (n)
		memcpy(o->addrs, addrs, n * sizeof(*addrs));
	if (--o->f->waiting == 0)
		loop_stop(o->f->loop);
}

static int ask(struct fixture *f, const char *name, struct outcome *o)
{
	int r;

	*o = (struct outcome){.f = f};
	f->in_call = true;
	r = resolve_lookup(f->resolver, name, done, o);
	f->in_call = false;
	if (r == 0)
		f->waiting++;
	return r;
}

static void test_rows(void **state)
{
	static const struct {
		const char *name;
		int err;
		unsigned v4, v6;
	} rows[] = {
		{"a.test", 0, 2, 0},
		{"A.TEST.", 0, 2, 0},
		{"aaaa.test", 0, 0, 2},
		{"both.test", 0, 2, 2},
		{"many.test", 0, LIMIT_ADDRESSES, 0},
		{"cname.test", 0, 1, 1},
		{"dangling.test", -ENODATA, 0, 0},
		{"nx.test", -ENOENT, 0, 0},
		{"half.test", -ENODATA, 0, 0}, /* NXDOMAIN for A alone is not believed */
		{"empty.test", -ENODATA, 0, 0},
		{"servfail.test", -1 /* a fault; on a busy machine the tries may time out first */,
			0, 0},
		{"refused.test", -EIO, 0, 0},
		{"fail6.test", 0, 1, 0},
		{"slow6.test", 0, 1, 0},
		{"tc.test", 0, 1, 1},
		{"garbage.test", -1, 0, 0}, /* any failure */
		{"cut.test", -1, 0, 0},
		{"loop.test", -1, 0, 0},
		{"odd.test", -1, 0, 0},
	};
	struct fixture *f = *state;
	struct outcome o[ARRAY_SIZE(rows)];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(ask(f, rows[i].name, &o[i]), 0);
	assert_int_equal(resolve_in_flight(f->resolver), ARRAY_SIZE(rows));
	assert_int_equal(loop_run(f->loop), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned v4 = 0;

		for (unsigned k = 0; k < o[i].n; k++) {
			if (addr_is_v4(&o[i].addrs[k]))
				assert_int_equal(v4++, k); /* IPv4 first */
			assert_int_equal(o[i].addrs[k].port, 0);
			assert_int_equal(o[i].addrs[k].ip[15],
				addr_is_v4(&o[i].addrs[k]) ? k + 1 : k - v4 + 1);
		}
		if (o[i].calls != 1 || v4 != rows[i].v4 || o[i].n - v4 != rows[i].v6 ||
			(rows[i].err == -1 ? o[i].err >= 0 || o[i].err == -ENOENT
					   : o[i].err != rows[i].err))
			fail_msg("%s: %u calls, err %d, %u + %u", rows[i].name, o[i].calls,
				o[i].err, v4, o[i].n - v4);
	}
	assert_true(f->server.tcp_queries >= 2);
}

/* A answers at once, AAAA never: the addresses come after the grace, not after c-ares gives up on
 * AAAA. */
static void test_grace(void **state)
{
	struct fixture *f = *state;
	uint64_t began = clock_monotonic_ms();
	struct outcome o;

	assert_int_equal(ask(f, "slow6.test", &o), 0);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(o.err, 0);
	assert_true(o.ms - began < 600);
	assert_int_equal(resolve_in_flight(f->resolver), 1); /* AAAA goes on */
}

/* A server that says nothing is asked twice, 700 ms and then twice that. */
static void test_silent(void **state)
{
	struct fixture *f = *state;
	uint64_t began = clock_monotonic_ms();
	struct outcome o;

	assert_int_equal(ask(f, "silent.test", &o), 0);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(o.err, -ETIMEDOUT);
	assert_true(o.ms - began >= TIME_DNS_TRY && o.ms - began < TIME_DNS);
	assert_int_equal(f->server.udp_queries, 4);
	assert_int_equal(resolve_in_flight(f->resolver), 0);
}

/* Of the latest lookup, and only while it is so. */
static void test_trouble(void **state)
{
	static const struct {
		const char *name;
		int trouble;
		uint64_t times;
	} rows[] = {{"a.test", 0, 0}, {"refused.test", -EIO, 1}, {"silent.test", -ETIMEDOUT, 2},
		{"nx.test", 0, 0}, {"refused.test", -EIO, 1}, {"a.test", 0, 0}};
	struct fixture *f = *state;
	uint64_t times = 9;

	assert_int_equal(resolve_trouble(f->resolver, &times), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct outcome o;

		assert_int_equal(ask(f, rows[i].name, &o), 0);
		assert_int_equal(loop_run(f->loop), 0);
		assert_int_equal(resolve_trouble(f->resolver, &times), rows[i].trouble);
		assert_int_equal(times, rows[i].times);
	}
}

/* Servers that never answer, so many that only the deadline of the whole ends it. */
static void test_deadline(void **state)
{
	struct fixture *f = *state;
	struct addr servers[RESOLVE_SERVERS];
	uint64_t began;
	struct outcome o;

	resolve_free(f->resolver);
	for (unsigned i = 0; i < RESOLVE_SERVERS; i++)
		servers[i] = f->server.at;
	assert_int_equal(resolve_new(f->loop, servers, RESOLVE_SERVERS, &f->resolver), 0);
	began = clock_monotonic_ms();
	assert_int_equal(ask(f, "silent.test", &o), 0);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(o.err, -ETIMEDOUT);
	assert_in_range(o.ms - began, TIME_DNS - 10, TIME_DNS + 1000);
	assert_int_equal(resolve_in_flight(f->resolver), 1);
}

/* The first server's port is closed: the second answers. */
static void test_second_server(void **state)
{
	struct fixture *f = *state;
	struct addr servers[2] = {f->server.at, f->server.at};
	struct outcome o;

	servers[0].port = 9; /* nobody there */
	resolve_free(f->resolver);
	assert_int_equal(resolve_new(f->loop, servers, 2, &f->resolver), 0);
	assert_int_equal(ask(f, "a.test", &o), 0);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(o.err, 0);
	assert_int_equal(o.n, 2);
}

static void test_no_server(void **state)
{
	struct fixture *f = *state;
	struct outcome o;

	resolve_free(f->resolver);
	assert_int_equal(resolve_new(f->loop, NULL, 0, &f->resolver), 0);
	assert_int_equal(ask(f, "a.test", &o), 0);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(o.err, -EIO);
	assert_int_equal(resolve_in_flight(f->resolver), 0);
	assert_int_equal(resolve_trouble(f->resolver, &(uint64_t){0}), -EDESTADDRREQ);
}

static void test_names(void **state)
{
	static const char *const bad[] = {"", ".", "a..test", ".a", "a..", "a b.test", "a\\.b",
		"a\\046b", "a/b", "\xc3\xa9.test",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.test"};
	struct fixture *f = *state;
	char name[LIMIT_NAME + 2];
	static struct outcome o; /* told by teardown */

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(ask(f, bad[i], &o), -EINVAL);
	memset(name, 'a', sizeof(name));
	for (size_t i = 1; i < sizeof(name); i += 2)
		name[i] = '.';
	name[LIMIT_NAME + 1] = 0; /* 254 characters, the last a dot: 253 without it */
	assert_int_equal(ask(f, name, &o), 0);
	name[LIMIT_NAME] = 'a';
	assert_int_equal(ask(f, name, &o), -EINVAL);
}

/* LIMIT_LOOKUPS at once, the next is turned away; all end when the resolver goes. */
static void test_limit_and_free(void **state)
{
	static struct outcome o[LIMIT_LOOKUPS + 1];
	struct fixture *f = *state;

	for (unsigned i = 0; i < LIMIT_LOOKUPS; i++)
		assert_int_equal(ask(f, "silent.test", &o[i]), 0);
	assert_int_equal(ask(f, "silent.test", &o[LIMIT_LOOKUPS]), -EAGAIN);
	resolve_free(f->resolver);
	f->resolver = NULL;
	for (unsigned i = 0; i < LIMIT_LOOKUPS; i++) {
		assert_int_equal(o[i].calls, 1);
		assert_int_equal(o[i].err, -ECANCELED);
	}
	assert_int_equal(o[LIMIT_LOOKUPS].calls, 0);
}

static bool odd(const void *arg, const void *whom)
{
	return ((const struct outcome *)arg - (const struct outcome *)whom) % 2;
}

/* One asker's lookups end at once, the others' at their time; their places are free when the servers' time is over. */
static void test_cancel_of(void **state)
{
	static struct outcome o[6];
	struct fixture *f = *state;

	for (unsigned i = 0; i < ARRAY_SIZE(o); i++)
		assert_int_equal(ask(f, "silent.test", &o[i]), 0);
	resolve_cancel_of(f->resolver, odd, o);
	for (unsigned i = 0; i < ARRAY_SIZE(o); i++) {
		assert_int_equal(o[i].calls, i % 2);
		assert_true(!o[i].calls || o[i].err == -ECANCELED);
	}
	resolve_cancel_of(f->resolver, odd, o);
	(void)loop_run(f->loop);
	for (unsigned i = 0; i < ARRAY_SIZE(o); i++) {
		assert_int_equal(o[i].calls, 1);
		assert_int_equal(o[i].err, i % 2 ? -ECANCELED : -ETIMEDOUT);
	}
}

struct text {
	struct fixture *f;
	unsigned calls;
	int err;
	struct dns_records records;
};

static void text_done(void *arg, int err)
{
	struct text *t = arg;

	assert_false(t->f->in_call);
	t->calls++;
	t->err = err;
	if (--t->f->waiting == 0)
		loop_stop(t->f->loop);
}

static int text(struct fixture *f, const char *name, struct text *t)
{
	int r;

	*t = (struct text){.f = f};
	f->in_call = true;
	r = resolve_records(f->resolver, name, TXT, &t->records, text_done, t);
	f->in_call = false;
	if (r == 0)
		f->waiting++;
	return r;
}

static void test_records(void **state)
{
	static const struct {
		const char *name;
		int err;
	} names[] = {{"text.test", 0}, {"TEXT.test.", 0}, {"dangling.test", -ENODATA},
		{"nx.test", -ENOENT}, {"empty.test", -ENODATA}, {"refused.test", -EIO},
		{"garbage.test", -1}, {"cut.test", -1}, {"odd.test", -EBADMSG}};
	static struct text t[ARRAY_SIZE(names)];
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(text(f, names[i].name, &t[i]), 0);
	assert_int_equal(loop_run(f->loop), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (t[i].calls != 1 ||
			(names[i].err == -1 ? t[i].err >= 0 : t[i].err != names[i].err))
			fail_msg("%s: %u calls, err %d", names[i].name, t[i].calls, t[i].err);
		if (t[i].err == 0) {
			assert_int_equal(t[i].records.n, 1);
			assert_memory_equal(t[i].records.bytes, "\0\0\0\x1e\0\3\2hi", 9);
		}
	}
	assert_int_equal(text(f, "a b.test", &t[0]), -EINVAL);
}

/* What comes behind the deadline, and the end of the resolver, writes nothing to an asker who has been told. */
static void test_records_deadline(void **state)
{
	struct fixture *f = *state;
	struct text *t = calloc(2, sizeof(*t));
	struct addr servers[RESOLVE_SERVERS];

	assert_non_null(t);
	resolve_free(f->resolver);
	for (unsigned i = 0; i < RESOLVE_SERVERS; i++)
		servers[i] = f->server.at;
	assert_int_equal(resolve_new(f->loop, servers, RESOLVE_SERVERS, &f->resolver), 0);
	assert_int_equal(text(f, "silent.test", &t[0]), 0);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(t[0].err, -ETIMEDOUT);
	assert_int_equal(resolve_in_flight(f->resolver), 1);
	assert_int_equal(text(f, "silent.test", &t[1]), 0);
	resolve_free(f->resolver);
	f->resolver = NULL;
	assert_int_equal(t[0].calls, 1);
	assert_int_equal(t[1].calls, 1);
	assert_int_equal(t[1].err, -ECANCELED);
	free(t);
}

struct chain {
	struct outcome first, second;
};

/* A resolve_done that starts a lookup. */
static void chain_first(void *arg, int err, const struct addr *addrs, unsigned n)
{
	struct chain *c = arg;
	struct fixture *f = c->first.f;

	assert_int_equal(err, 0);
	assert_int_equal(ask(f, "both.test", &c->second), 0);
	done(&c->first, err, addrs, n);
}

static void test_chain(void **state)
{
	struct fixture *f = *state;
	struct chain c = {.first.f = f};

	assert_int_equal(resolve_lookup(f->resolver, "a.test", chain_first, &c), 0);
	f->waiting++;
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(c.first.n, 2);
	assert_int_equal(c.second.n, 4);
	assert_int_equal(resolve_in_flight(f->resolver), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_rows),
		TEST(test_grace),
		TEST(test_silent),
		TEST(test_trouble),
		TEST(test_deadline),
		TEST(test_second_server),
		TEST(test_no_server),
		TEST(test_names),
		TEST(test_limit_and_free),
		TEST(test_cancel_of),
		TEST(test_chain),
		TEST(test_records),
		TEST(test_records_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
