/* SPDX-License-Identifier: Apache-2.0 */
/* test_event.c – events as lines: exact bytes of each kind, masking, hostile texts, bounds. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "audit/event.h"
#include "base/cleanup.h"

static void expect_line(const struct audit_event *e, const char *line)
{
	struct buf out;
	struct slice s;

	buf_init(&out, AUDIT_LINE);
	assert_int_equal(audit_event_json(e, NULL, &out), 0);
	s = buf_slice(&out);
	if (!slice_eq(s, slice_str(line)))
		fail_msg("%.*s expected:\n%s", SLICE_ARG(s), line);
	buf_done(&out);
}

static struct addr v4(uint16_t port)
{
	return (struct addr){.ip = {[10] = 0xff, [11] = 0xff, 203, 0, 113, 7}, .port = port};
}

static struct audit_event event(enum audit_kind kind)
{
	return (struct audit_event){
		.kind = kind,
		.time = "2026-01-31T23:59:59.999Z",
		.sandbox = "box-1",
		.client =
			{
				.attributed = true,
				.pid = 4243,
				.tgid = 4242,
				.uid = 1000,
				.start_ns = 5000000,
				.cgroup = 77,
				.exe_ino = 99,
				.exe_dev = 8 << 20 | 1,
				.comm = "curl",
			},
		.asked = v4(443),
		.host = "api.example",
	};
}

#define WHO                                                                                        \
	"\"client\":{\"pid\":4242,\"tid\":4243,\"start_ns\":5000000,\"comm\":\"curl\",\"exe\":{"   \
	"\"dev\":"                                                                                 \
	"\"8:1\",\"ino\":99},\"uid\":1000,\"cgroup\":77}"
#define BEGIN(kind)                                                                                \
	"{\"v\":1,\"time\":\"2026-01-31T23:59:59.999Z\",\"kind\":\"" kind                          \
	"\",\"sandbox\":\"box-1\","

static void test_connection(void **state)
{
	struct audit_event e = event(AUDIT_CONNECTION);

	(void)state;
	e.protocols = AUDIT_PROTOCOL_TCP | AUDIT_PROTOCOL_TLS | AUDIT_PROTOCOL_HTTP1;
	e.bytes_up = 10;
	e.bytes_down = 1ULL << 40;
	e.duration_ms = 12;
	strcpy(e.rule, "reads");
	expect_line(&e,
		BEGIN("connection") WHO ",\"asked\":\"203.0.113.7:443\",\"host\":\"api.example\","
					"\"protocols\":[\"tcp\",\"tls\",\"http/1.1\"],"
					"\"decision\":\"allow\",\"rule\":\"reads\",\"bytes_up\":10,"
					"\"bytes_down\":1099511627776,"
					"\"duration_ms\":12}\n");
}

/* The client of a proxy: where it connected to is not where it wanted to be. */
static void test_connection_of_a_proxy(void **state)
{
	struct audit_event e = event(AUDIT_CONNECTION);

	(void)state;
	strcpy(e.target, "api.example:8443");
	expect_line(&e, BEGIN("connection") WHO
		",\"asked\":\"203.0.113.7:443\",\"target\":\"api.example:8443\",\"host\":"
		"\"api.example\",\"decision\":\"allow\",\"bytes_up\":0,\"bytes_down\":0,"
		"\"duration_ms\":0}\n");
}

static void test_connection_denied(void **state)
{
	struct audit_event e = event(AUDIT_CONNECTION);

	(void)state;
	e.client.attributed = false;
	e.asked = (struct addr){.ip = {0x20, 1, 0xd, 0xb8, [15] = 1}, .port = 80};
	e.host[0] = 0;
	e.decision = AUDIT_DENY;
	e.category = CATEGORY_HOST_DENIED;
	strcpy(e.rule, "default");
	strcpy(e.reason, "X509_V_ERR_CERT_HAS_EXPIRED");
	expect_line(&e, BEGIN("connection") "\"client\":\"unattributed\",\"asked\":\"[2001:db8::1]:"
					    "80\",\"decision\":\"deny\",\"rule\":\"default\","
					    "\"category\":\"host-denied\",\"reason\":\"X509_V_ERR_"
					    "CERT_HAS_EXPIRED\",\"bytes_up\":0,"
					    "\"bytes_down\":0,\"duration_ms\":0}\n");
}

static void test_request(void **state)
{
	struct audit_event e = event(AUDIT_REQUEST);

	(void)state;
	strcpy(e.method, "GET");
	audit_path(&e, SLICE("/a?t=secret&x"));
	e.status = 200;
	audit_use(&e, "GH_TOKEN", "bearer", 1);
	audit_use(&e, "GH_TOKEN", "basic-password", 1);
	audit_use(&e, "GH_TOKEN", "bearer", 2);
	e.misdirected = 1;
	expect_line(&e, BEGIN("request") WHO
		",\"asked\":\"203.0.113.7:443\",\"host\":\"api.example\",\"method\":\"GET\","
		"\"path\":\"/a?t=***&***\","
		"\"decision\":\"allow\",\"status\":200,\"uses\":[{\"credential\":\"GH_TOKEN\","
		"\"position\":\"bearer\","
		"\"count\":3},{\"credential\":\"GH_TOKEN\",\"position\":\"basic-password\","
		"\"count\":1}],"
		"\"misdirected\":1,\"bytes_up\":0,\"bytes_down\":0,\"duration_ms\":0}\n");
}

static void test_refusal(void **state)
{
	struct audit_event e = event(AUDIT_REFUSAL);

	(void)state;
	e.host[0] = 0;
	e.protocols = AUDIT_PROTOCOL_UDP;
	e.decision = AUDIT_DENY;
	e.category = CATEGORY_METADATA_ADDRESS;
	e.error = -ENETUNREACH;
	expect_line(&e, BEGIN("refusal") WHO
		",\"asked\":\"203.0.113.7:443\",\"protocols\":[\"udp\"],\"decision\":\"deny\","
		"\"category\":\"metadata-address\",\"error\":\"ENETUNREACH\",\"count\":1}\n");
	e.error = EACCES;
	e.count = 17;
	e.asked.port = 0;
	e.client.exe_ino = 0;
	memcpy(e.client.comm, "0123456789abcdef", 16); /* no NUL */
	expect_line(&e, BEGIN("refusal") "\"client\":{\"pid\":4242,\"tid\":4243,\"start_ns\":"
					 "5000000,\"comm\":\"0123456789abcdef\",\"uid\":1000,"
					 "\"cgroup\":77},\"asked\":\"203.0.113.7\",\"protocols\":["
					 "\"udp\"],\"decision\":\"deny\","
					 "\"category\":\"metadata-address\",\"error\":\"EACCES\","
					 "\"count\":17}\n");
}

static void test_refusal_of_a_socket(void **state)
{
	struct audit_event e = event(AUDIT_REFUSAL);

	(void)state;
	e.host[0] = 0;
	e.asked = (struct addr){.port = 0};
	e.client.attributed = false;
	e.decision = AUDIT_DENY;
	e.category = CATEGORY_PROTOCOL_DENIED;
	e.error = EPROTONOSUPPORT;
	strcpy(e.rule, "kernel");
	strcpy(e.reason, "socket type or protocol");
	strcpy(e.socket, "protocol 132");
	expect_line(&e,
		BEGIN("refusal") "\"client\":\"unattributed\",\"decision\":\"deny\",\"rule\":"
				 "\"kernel\",\"category\":\"protocol-denied\",\"reason\":"
				 "\"socket type or protocol\",\"error\":\"EPROTONOSUPPORT\","
				 "\"socket\":\"protocol 132\",\"count\":1}\n");
}

static void test_losses(void **state)
{
	struct audit_event e = {.kind = AUDIT_LOSSES,
		.time = "t",
		.sandbox = "box",
		.rule = "kernel",
		.suppressed = 7};

	(void)state;
	expect_line(&e, "{\"v\":1,\"time\":\"t\",\"kind\":\"losses\",\"sandbox\":\"box\",\"rule\":"
			"\"kernel\","
			"\"suppressed\":7,\"lost\":0}\n");
}

static void test_where_executables_are(void **state)
{
	static const struct audit_paths paths = {"/usr/bin/c\"url", "/box"};
	struct audit_event e = event(AUDIT_CONNECTION);
	struct buf out;

	(void)state;
	buf_init(&out, AUDIT_LINE);
	assert_int_equal(audit_event_json(&e, &paths, &out), 0);
	assert_int_equal(buf_append(&out, slice_of("", 1)), 0);
	assert_non_null(strstr((const char *)buf_slice(&out).p,
		"\"exe\":{\"path\":\"/usr/bin/c\\\"url\",\"dev\":\"8:1\",\"ino\":99},"
		"\"uid\":1000,\"cgroup\":77,\"cgroup_path\":\"/box\"}"));
	buf_done(&out);
}

static void test_notice(void **state)
{
	struct audit_event e = {
		.kind = AUDIT_NOTICE, .time = "t", .reason = "events-lost", .lost = 3};

	(void)state;
	expect_line(&e, "{\"v\":1,\"time\":\"t\",\"kind\":\"notice\",\"reason\":\"events-lost\","
			"\"lost\":3}\n");
}

static void test_paths(void **state)
{
	static const struct {
		const char *target, *path;
	} rows[] = {
		{"/", "/"},
		{"*", "*"},
		{"", ""},
		{"/a/b%2F?", "/a/b%2F?"},
		{"/?a=b", "/?a=***"},
		{"/?a=", "/?a=***"},
		{"/?=b", "/?=***"},
		{"/?secret", "/?***"},
		{"/?a=b=c&d=e", "/?a=***&d=***"},
		{"/?a=b;c=d&e", "/?a=***;c=***&***"},
		{"/?a=b?c=d", "/?a=***"},
		{"/?&&a", "/?&&***"},
		{"/?a=b&", "/?a=***&"},
		{"http://x.test/?k=v#f", "http://x.test/?k=***"},
	};
	struct audit_event e = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		audit_path(&e, slice_str(rows[i].target));
		assert_string_equal(e.path, rows[i].path);
		assert_false(e.path_cut);
	}
}

/* Whatever its length, a path is cut within its bound and says so, and never ends in a value. */
static void test_path_bounds(void **state)
{
	struct audit_event *e = calloc(1, sizeof(*e));
	uint8_t *target = malloc(2 * AUDIT_PATH);

	(void)state;
	assert_non_null(e);
	assert_non_null(target);
	for (size_t n = AUDIT_PATH - 12; n < AUDIT_PATH + 12; n++) {
		memset(target, 'a', n);
		audit_path(e, slice_of(target, n));
		assert_int_equal(e->path_cut, n > AUDIT_PATH - 1);
		assert_int_equal(strlen(e->path), n < AUDIT_PATH ? n : AUDIT_PATH - 1);
		memcpy(target + n, "?k=SECRET", 9);
		audit_path(e, slice_of(target, n + 9));
		assert_null(strchr(e->path, 'S'));
		assert_int_equal(e->path_cut, n + 6 > AUDIT_PATH - 1);
	}
	free(target);
	free(e);
}

/* What a peer wrote cannot end the line, the string, or hide behind a NUL. */
static void test_hostile(void **state)
{
	struct audit_event e = {.kind = AUDIT_REQUEST, .time = "t"};

	(void)state;
	audit_text(e.host, sizeof(e.host), SLICE("a\"\n\\b"));
	audit_text(e.method, sizeof(e.method), SLICE("A\0B"));
	audit_path(&e, SLICE("/\xff\x1b[0m"));
	expect_line(&e,
		"{\"v\":1,\"time\":\"t\",\"kind\":\"request\",\"client\":\"unattributed\",\"host\":"
		"\"a\\\"\\u000a\\\\b\",\"method\":\"A "
		"B\",\"path\":\"/\xef\xbf\xbd\\u001b[0m\",\"decision\":\"allow\","
		"\"uses\":[],\"bytes_up\":0,\"bytes_down\":0,\"duration_ms\":0}\n");
}

static void test_uses_full(void **state)
{
	struct audit_event e = {.kind = AUDIT_REQUEST};
	char name[8];
	uint32_t sum = 0;

	(void)state;
	for (unsigned i = 0; i < AUDIT_USES + 5; i++) {
		(void)snprintf(name, sizeof(name), "c%u", i);
		audit_use(&e, name, "bearer", 1);
	}
	assert_int_equal(e.nuses, AUDIT_USES);
	for (unsigned i = 0; i < AUDIT_USES; i++)
		sum += e.uses[i].count;
	assert_int_equal(sum, AUDIT_USES + 5);
	assert_string_equal(e.uses[0].credential, "c0");
	assert_string_equal(e.uses[AUDIT_USES - 1].credential, "(others)");
}

/* The largest event, every byte escaped six times, is within AUDIT_LINE; a smaller buffer is left
 * as it was. */
static void test_bounds(void **state)
{
	struct audit_event *e = malloc(sizeof(*e));
	struct buf out;

	(void)state;
	assert_non_null(e);
	memset(e, 1, sizeof(*e)); /* no NUL in any text; all numbers large */
	e->nuses = AUDIT_USES;
	e->category = CATEGORY_HOST_DENIED;
	for (unsigned kind = 0; kind < AUDIT_KIND_COUNT; kind++) {
		e->kind = (enum audit_kind)kind;
		e->decision = AUDIT_DENY;
		buf_init(&out, AUDIT_LINE);
		assert_int_equal(audit_event_json(e, NULL, &out), 0);
		buf_done(&out);
		buf_init(&out, 100);
		assert_int_equal(buf_append(&out, SLICE("before")), 0);
		assert_true(audit_event_json(e, NULL, &out) < 0);
		assert_true(slice_eq(buf_slice(&out), SLICE("before")));
		buf_done(&out);
	}
	free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connection),
		cmocka_unit_test(test_connection_of_a_proxy),
		cmocka_unit_test(test_connection_denied),
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_refusal),
		cmocka_unit_test(test_refusal_of_a_socket),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_where_executables_are),
		cmocka_unit_test(test_notice),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_path_bounds),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_uses_full),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
