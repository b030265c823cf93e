/* SPDX-License-Identifier: Apache-2.0 */
/* test_swap.c – where a placeholder is replaced and where it never is (CRD-01, CRD-04, CRD-09,
 * CRD-12). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cred/placeholder.h"
#include "exact.h"
#include "model/msg.h"
#include "policy/hosts.h"
#include "rewrite/base64.h"
#include "rewrite/swap.h"

/* A and B are the placeholders of the credentials A and B; U is nobody's, in the same form */
#define A       "spx_0123456789abcdefghijklmnopqrstuv"
#define B       "spx_wxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01"
#define U       "spx_99999999999999999999999999999999"
#define VALUE_A "real:\xc3\xa4-value-of-a"
#define VALUE_B "real-value-of-b!"

static struct credset *set;
static struct placeholders *placeholders;
static char file[64];

static int counting(void *arg, uint8_t *to, size_t n)
{
	uint8_t *next = arg;

	for (size_t i = 0; i < n; i++)
		to[i] = (*next)++;
	return 0;
}

static int setup(void **state)
{
	const struct source_trust trust = {geteuid(), getegid()};
	struct fault fault = {{0}};
	char text[1024];
	uint8_t next = 0;
	int fd;

	(void)state;
	strcpy(file, "/tmp/sallyport-test.XXXXXX");
	fd = mkstemp(file);
	assert_int_equal(write(fd, VALUE_A "\n", sizeof(VALUE_A)), sizeof(VALUE_A));
	(void)close(fd);
	(void)snprintf(text, sizeof(text),
		"credentials:\n"
		"- {name: A, source: {file: %s}, swap: [{hosts: [a.test], in: [bearer, "
		"basic-password]},\n"
		"    {hosts: [post.test], in: [bearer], methods: [POST]}]}\n"
		"- {name: B, source: {value: " VALUE_B "}, misdirected: refuse, plain_http: true,\n"
		"    swap: [{hosts: [b.test], in: [bearer]}]}\n",
		file);
	if (credset_load(slice_str(text), "f", &trust, &fault, &set) < 0)
		fail_msg("%s", fault.text);
	assert_int_equal(placeholders_make(NULL, set, counting, &next, &placeholders), 0);
	assert_string_equal(placeholders_text(placeholders, "A"), A);
	assert_string_equal(placeholders_text(placeholders, "B"), B);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	credset_unref(set);
	placeholders_free(placeholders);
	(void)unlink(file);
	return 0;
}

struct row {
	const char *host;
	const char *name, *value; /* the second field; the first and the third say nothing */
	enum swap_result result;
	const char *sent; /* what goes out for that field; NULL = the value */
	const char *credential; /* used, misdirected or refused */
	unsigned misdirected;
	bool plain; /* not over TLS */
	const char *method, *target, *more; /* GET, /, another Authorization */
};

static const struct row rows[] = {
	{"a.test", "Authorization", "Bearer " A, SWAP_DONE, "Bearer " VALUE_A, "A", 0},
	{"a.test", "authorization", "bearer " A, SWAP_DONE, "bearer " VALUE_A, "A", 0},
	{"a.test", "Authorization", "BEARER   " A, SWAP_DONE, "BEARER " VALUE_A, "A", 0},
	{"b.test", "Authorization", "Bearer " B, SWAP_DONE, "Bearer " VALUE_B, "B", 0},
	{"b.test", "Authorization", "Bearer " B, SWAP_DONE, "Bearer " VALUE_B, "B", 0, true},
	/* never a part, never elsewhere */
	{"a.test", "Authorization", "Bearer " A "x", SWAP_NONE, NULL, "A", 1},
	{"a.test", "Authorization", "Bearer x" A, SWAP_NONE, NULL, "A", 1},
	{"a.test", "Authorization", "Bearer " A " x", SWAP_NONE, NULL, "A", 1},
	{"a.test", "Authorization", "Bearer " A "," A, SWAP_NONE, NULL, "A", 2},
	{"a.test", "Authorization", "Bearer\t" A, SWAP_NONE, NULL, "A", 1},
	{"a.test", "Authorization", "Bearer" A, SWAP_NONE, NULL, "A", 1},
	{"a.test", "Authorization", "Token " A, SWAP_NONE, NULL, "A", 1},
	{"a.test", "Authorization", A, SWAP_NONE, NULL, "A", 1},
	{"a.test", "Authorization", "Bearer " U, SWAP_NONE, NULL, NULL, 0},
	{"a.test", "Authorization", "Bearer ", SWAP_NONE, NULL, NULL, 0},
	{"a.test", "Authorization", "Bearer", SWAP_NONE, NULL, NULL, 0},
	{"a.test", "Authorization", "", SWAP_NONE, NULL, NULL, 0},
	{"a.test", "Proxy-Authorization", "Bearer " A, SWAP_NONE, NULL, "A", 1},
	{"a.test", "X-Api-Key", A, SWAP_NONE, NULL, "A", 1},
	{"a.test", "Cookie", "x=" A "; y=" A, SWAP_NONE, NULL, "A", 2},
	{"a.test", "X-Y", "z", SWAP_NONE, NULL, "A", 1, .target = "/?k=" A},
	{"a.test", "Authorization", "Bearer " A, SWAP_DONE, "Bearer " VALUE_A, "A", 1,
		.target = "/?k=" A},
	/* other hosts, other credentials, no TLS, other methods */
	{"x.a.test", "Authorization", "Bearer " A, SWAP_NONE, NULL, "A", 1},
	{"a.test.evil.test", "Authorization", "Bearer " A, SWAP_NONE, NULL, "A", 1},
	{"b.test", "Authorization", "Bearer " A, SWAP_NONE, NULL, "A", 1},
	{"a.test", "Authorization", "Bearer " A, SWAP_NONE, NULL, "A", 1, true},
	{"post.test", "Authorization", "Bearer " A, SWAP_NONE, NULL, "A", 1},
	{"post.test", "Authorization", "Bearer " A, SWAP_DONE, "Bearer " VALUE_A, "A", 0,
		.method = "POST"},
	{"a.test", "Authorization", "Bearer " A, SWAP_DONE, "Bearer " VALUE_A, "A", 0,
		.method = "DELETE"},
	/* misdirected: refuse */
	{"a.test", "Authorization", "Bearer " B, SWAP_REFUSED, NULL, "B", 1},
	{"b.test", "X-Y", B, SWAP_REFUSED, NULL, "B", 1},
	{"a.test", "Authorization", "Bearer " A, SWAP_REFUSED, NULL, "B", 1, .target = "/" B},
	/* two fields: which one counts is the server's guess */
	{"a.test", "Authorization", "Bearer " A, SWAP_NONE, NULL, "A", 2, .more = "Bearer " A},
	{"a.test", "Authorization", "Bearer " A, SWAP_NONE, NULL, "A", 1, .more = "Bearer x"},
};

static struct msg message(const struct row *r)
{
	struct msg m = {.minor = 1};

	m.method = slice_str(r->method ? r->method : "GET");
	m.target = slice_str(r->target ? r->target : "/");
	m.fields[m.nfields++] = (struct field){SLICE("Host"), slice_str(r->host)};
	m.fields[m.nfields++] = (struct field){slice_str(r->name), exact_copy(slice_str(r->value))};
	m.fields[m.nfields++] = (struct field){SLICE("Accept"), SLICE("*/*")};
	if (r->more)
		m.fields[m.nfields++] = (struct field){SLICE("AUTHORIZATION"), slice_str(r->more)};
	return m;
}

static void check(const struct row *r)
{
	struct msg m = message(r);
	struct swap_request q = {
		.msg = &m, .over_tls = !r->plain, .set = set, .placeholders = placeholders};
	struct slice sent, want = slice_str(r->sent ? r->sent : r->value);
	struct swap_plan plan;
	struct buf values;
	struct host h;

	assert_int_equal(host_canon(slice_str(r->host), &h), 0);
	q.host = &h;
	buf_init(&values, SWAP_VALUES);
	assert_int_equal(swap_judge(&q, &values, &plan), 0);
	sent = swap_value(&plan, &q, &values, 1);
	if (plan.result != r->result || !slice_eq(sent, want) ||
		plan.misdirected_total != r->misdirected)
		fail_msg("%s: %s: %s at %s: result %d, %u misdirected, sent %.*s", r->name,
			r->value, plan.credential ? plan.credential : "-", r->host, plan.result,
			plan.misdirected_total, SLICE_ARG(sent));
	assert_int_equal(plan.nreplaced, r->result == SWAP_DONE);
	assert_int_equal(plan.nuses, r->result == SWAP_DONE);
	if (r->result == SWAP_DONE)
		assert_string_equal(plan.uses[0].credential, r->credential);
	else
		assert_int_equal(buf_used(&values), 0);
	if (r->result == SWAP_REFUSED)
		assert_string_equal(plan.credential, r->credential);
	if (r->misdirected && r->credential)
		assert_string_equal(plan.misdirected[0].credential, r->credential);
	assert_true(slice_eq(swap_value(&plan, &q, &values, 0), slice_str(r->host)));
	assert_true(slice_eq(swap_value(&plan, &q, &values, 2), SLICE("*/*")));
	buf_done(&values);
	exact_free(m.fields[1].value);
}

static void test_rows(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		check(&rows[i]);
}

/* Puts the scheme and the base64 of the plain text into ret, without its padding if told so. */
static const char *basic(const char *scheme, const char *plain, bool padded, char *ret)
{
	size_t head = (size_t)sprintf(ret, "%s ", scheme), n = BASE64_ENCODED(strlen(plain));

	base64_encode(slice_str(plain), (uint8_t *)ret + head);
	ret[head + n] = '\0';
	for (size_t i = head + n; !padded && ret[i - 1] == '='; i--)
		ret[i - 1] = '\0';
	return ret;
}

static void test_basic(void **state)
{
	static const char *const users[] = {"", "u", "us", "oauth2", "x-access-token"};
	char in[512], out[512];

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(users); i++) {
		char plain[256], real[256];

		(void)snprintf(plain, sizeof(plain), "%s:" A, users[i]);
		(void)snprintf(real, sizeof(real), "%s:" VALUE_A, users[i]);
		for (unsigned padded = 0; padded < 2; padded++) {
			check(&(struct row){"a.test", "Authorization",
				basic("Basic", plain, padded, in), SWAP_DONE,
				basic("Basic", real, true, out), "A", 0});
			check(&(struct row){"a.test", "Authorization",
				basic("basic", plain, padded, in), SWAP_DONE,
				basic("basic", real, true, out), "A", 0});
		}
	}
	/* found inside, but not as the whole password */
	check(&(struct row){"a.test", "Authorization", basic("Basic", A ":x", true, in), SWAP_NONE,
		NULL, "A", 1});
	check(&(struct row){"a.test", "Authorization", basic("Basic", "u:" A "x", true, in),
		SWAP_NONE, NULL, "A", 1});
	check(&(struct row){"a.test", "Authorization", basic("Basic", "u:x:" A, true, in),
		SWAP_NONE, NULL, "A", 1});
	check(&(struct row){
		"a.test", "Authorization", basic("Basic", A, true, in), SWAP_NONE, NULL, "A", 1});
	check(&(struct row){"b.test", "Authorization", basic("Basic", "u:" A, true, in), SWAP_NONE,
		NULL, "A", 1});
	check(&(struct row){"b.test", "Authorization", basic("Basic", "u:" B, true, in),
		SWAP_REFUSED, NULL, "B", 1});
	check(&(struct row){"a.test", "Proxy-Authorization", basic("Basic", "u:" A, true, in),
		SWAP_NONE, NULL, "A", 1});
	/* in both halves: the password is a position, the user is not */
	check(&(struct row){"a.test", "Authorization", basic("Basic", A ":" A, true, in), SWAP_DONE,
		basic("Basic", A ":" VALUE_A, true, out), "A", 1});
	check(&(struct row){"a.test", "Authorization", basic("Basic", "u:" U, true, in), SWAP_NONE,
		NULL, NULL, 0});
	/* broken base64 is left alone */
	strcpy(in, "Basic !!!!");
	check(&(struct row){"a.test", "Authorization", in, SWAP_NONE, NULL, NULL, 0});
	basic("Basic", "u:" A, true, in);
	in[strlen(in) - 3] = '-';
	check(&(struct row){"a.test", "Authorization", in, SWAP_NONE, NULL, NULL, 0});
	basic("Basic", "u:" A, true, in);
	check(&(struct row){"a.test", "Authorization", strcat(in, " x"), SWAP_NONE, NULL, NULL, 0});
}

/* A head that comes in part is no head; but no cut of a value may be swapped for less than the
 * whole. */
static void test_prefixes(void **state)
{
	static const char bearer[] = "Bearer " A;
	char in[256], cut[256];
	size_t n;

	(void)state;
	for (n = 0; n < sizeof(bearer) - 1; n++) {
		(void)snprintf(cut, sizeof(cut), "%.*s", (int)n, bearer);
		check(&(struct row){"a.test", "Authorization", cut, SWAP_NONE, NULL, NULL, 0});
	}
	basic("Basic", "user:" A, false, in);
	for (n = 0; n < strlen(in); n++) {
		(void)snprintf(cut, sizeof(cut), "%.*s", (int)n, in);
		check(&(struct row){"a.test", "Authorization", cut, SWAP_NONE, NULL, NULL, 0});
	}
}

static void test_unavailable(void **state)
{
	struct credset *next = NULL;
	struct msg m = message(&rows[0]);
	struct host h;
	struct swap_request q = {&m, &h, true, NULL, placeholders};
	struct swap_plan plan;
	struct buf values;

	(void)state;
	assert_int_equal(host_canon(SLICE("a.test"), &h), 0);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(credset_refresh(set, &next), 1);
	q.set = next;
	buf_init(&values, SWAP_VALUES);
	assert_int_equal(swap_judge(&q, &values, &plan), 0);
	assert_int_equal(plan.result, SWAP_UNAVAILABLE);
	assert_string_equal(plan.credential, "A");
	assert_string_equal(plan.cause, "the source file does not exist");
	assert_int_equal(plan.nreplaced, 0);
	assert_int_equal(buf_used(&values), 0);
	/* elsewhere its placeholder is only text */
	assert_int_equal(host_canon(SLICE("other.test"), &h), 0);
	assert_int_equal(swap_judge(&q, &values, &plan), 0);
	assert_int_equal(plan.result, SWAP_NONE);
	/* no room: nothing is told to be done */
	q.set = set;
	assert_int_equal(host_canon(SLICE("a.test"), &h), 0);
	buf_init(&values, 10);
	plan.nreplaced = 77;
	assert_int_equal(swap_judge(&q, &values, &plan), -ENOMEM);
	assert_int_equal(plan.nreplaced, 77);
	assert_int_equal(buf_used(&values), 0);
	credset_unref(next);
	exact_free(m.fields[1].value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_basic, setup, teardown),
		cmocka_unit_test_setup_teardown(test_prefixes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unavailable, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
