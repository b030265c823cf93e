/* SPDX-License-Identifier: Apache-2.0 */
/* test_daemon_conf.c – the configuration, its faults, and resolv.conf. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "conf/daemon_conf.h"
#include "manual.h"

static struct daemon_conf *load(const char *text)
{
	struct fault fault = {{0}};
	struct daemon_conf *c = NULL;

	if (daemon_conf_load(slice_str(text), "f", &fault, &c) < 0)
		fail_msg("%s", fault.text);
	return c;
}

static void test_defaults(void **state)
{
	struct daemon_conf *c = load("{}");

	(void)state;
	assert_string_equal(c->state, "/run/sallyport");
	assert_string_equal(c->user, "sallyport");
	assert_int_equal(c->workers, 0);
	assert_int_equal(c->drain, 30);
	assert_int_equal(c->nresolvers, 0);
	assert_null(c->ca);
	assert_null(c->audit_file);
	assert_int_equal(c->audit_size, 64 << 20);
	daemon_conf_free(c);
	daemon_conf_free(NULL);
}

static void test_all(void **state)
{
	struct daemon_conf *c =
		load("state: /s\nuser: nobody\nworkers: 3\ndrain: 0\nca: /etc/x.pem\n"
		     "resolvers: [192.0.2.53, '192.0.2.54:5353', '2001:db8::53', "
		     "'[2001:db8::53]:5353']\n"
		     "audit: {file: /var/log/a, size: 1048576}\n"
		     "credentials:\n"
		     "  - {sandboxes: [one, 'build-*'], file: /etc/c.yaml}\n"
		     "  - {sandboxes: ['*'], descriptor: 7}\n");
	char text[ADDR_TEXT];

	(void)state;
	assert_string_equal(c->state, "/s");
	assert_string_equal(c->user, "nobody");
	assert_int_equal(c->workers, 3);
	assert_int_equal(c->drain, 0);
	assert_string_equal(c->ca, "/etc/x.pem");
	assert_int_equal(c->nresolvers, 4);
	addr_port_text(&c->resolvers[0], text);
	assert_string_equal(text, "192.0.2.53:53");
	addr_port_text(&c->resolvers[1], text);
	assert_string_equal(text, "192.0.2.54:5353");
	addr_port_text(&c->resolvers[2], text);
	assert_string_equal(text, "[2001:db8::53]:53");
	addr_port_text(&c->resolvers[3], text);
	assert_string_equal(text, "[2001:db8::53]:5353");
	assert_string_equal(c->audit_file, "/var/log/a");
	assert_int_equal(c->audit_size, 1048576);
	assert_int_equal(c->ncredentials, 2);
	assert_string_equal(c->credentials[0].file, "/etc/c.yaml");
	assert_int_equal(c->credentials[0].descriptor, -1);
	assert_int_equal(c->credentials[0].line, 9);
	assert_null(c->credentials[1].file);
	assert_int_equal(c->credentials[1].descriptor, 7);
	assert_true(daemon_conf_covers(&c->credentials[0], "one"));
	assert_true(daemon_conf_covers(&c->credentials[0], "build-17"));
	assert_true(daemon_conf_covers(&c->credentials[0], "build-"));
	assert_false(daemon_conf_covers(&c->credentials[0], "build"));
	assert_false(daemon_conf_covers(&c->credentials[0], "one1"));
	assert_true(daemon_conf_covers(&c->credentials[1], "anything"));
	daemon_conf_free(c);
}

static const struct {
	const char *text, *fault;
} bad[] = {
	{"brokers: {}", "f:1:1: `brokers` is not available in this version"},
	{"key: /x", "f:1:1: `key` is not available in this version"},
	{"helper_user: x", "f:1:1: `helper_user` is not available in this version"},
	{"worker: 3", "f:1:1: unknown key `worker` in the configuration; did you mean `workers`?"},
	{"drain: 86401", "f:1:8: `drain` must be a number from 0 to 86400"},
	{"workers: 65", "f:1:10: `workers` must be a number from 0 to 64"},
	{"state: run", "f:1:8: `state` must be an absolute path"},
	{"resolvers: [dns.example.com]",
		"f:1:13: a resolver is an address, with a port if need be (192.0.2.53, "
		"192.0.2.53:5353, [2001:db8::53]:5353)"},
	{"resolvers: ['192.0.2.1:0']", NULL},
	{"resolvers: ['192.0.2.1:65536']", NULL},
	{"resolvers: ['192.0.2.1:']", NULL},
	{"resolvers: ['[::1']", NULL},
	{"resolvers: ['[::1]53']", NULL},
	{"resolvers: [1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1]",
		"f:1:77: `resolvers` holds at most 8 addresses"},
	{"synthetic: 198.18.0.0/25", "f:1:12: `synthetic` is a range of IPv4 addresses, 256 or "
				     "more (198.18.0.0/15; the bits "
				     "behind the prefix must be 0)"},
	{"synthetic: 198.18.0.1/24", "f:1:12: `synthetic` is a range of IPv4 addresses, 256 or "
				     "more (198.18.0.0/15; the bits "
				     "behind the prefix must be 0)"},
	{"synthetic: 198.18.0.0/", "f:1:12: `synthetic` is a range of IPv4 addresses, 256 or more "
				   "(198.18.0.0/15; the bits "
				   "behind the prefix must be 0)"},
	{"synthetic: 198.18.0.0", "f:1:12: `synthetic` is a range of IPv4 addresses, 256 or more "
				  "(198.18.0.0/15; the bits "
				  "behind the prefix must be 0)"},
	{"synthetic: 198.18.0.0/015", "f:1:12: `synthetic` is a range of IPv4 addresses, 256 or "
				      "more (198.18.0.0/15; the bits "
				      "behind the prefix must be 0)"},
	{"synthetic: 198.18.0.0/33", "f:1:12: `synthetic` is a range of IPv4 addresses, 256 or "
				     "more (198.18.0.0/15; the bits "
				     "behind the prefix must be 0)"},
	{"synthetic: 198.18.0.0/1x", "f:1:12: `synthetic` is a range of IPv4 addresses, 256 or "
				     "more (198.18.0.0/15; the bits "
				     "behind the prefix must be 0)"},
	{"synthetic: 198.18.0/16", "f:1:12: `synthetic` is a range of IPv4 addresses, 256 or more "
				   "(198.18.0.0/15; the bits "
				   "behind the prefix must be 0)"},
	{"synthetic: 2001:2::/48", "f:1:12: `synthetic` is a range of IPv4 addresses, 256 or more "
				   "(198.18.0.0/15; the bits "
				   "behind the prefix must be 0)"},
	{"synthetic: '::ffff:198.18.0.0/16'", "f:1:12: `synthetic` is a range of IPv4 addresses, "
					      "256 or more (198.18.0.0/15; the bits "
					      "behind the prefix must be 0)"},
	{"synthetic: [198.18.0.0/16]", "f:1:12: `synthetic` is a range of IPv4 addresses, 256 or "
				       "more (198.18.0.0/15; the bits "
				       "behind the prefix must be 0)"},
	{"synthetic: 10.0.0.0/8", "f:1:12: `synthetic` must lie within 198.18.0.0/15: the kernel "
				  "lets a sandbox ask for these "
				  "addresses, and no server has one of them"},
	{"synthetic: 203.0.113.0/24", "f:1:12: `synthetic` must lie within 198.18.0.0/15: the "
				      "kernel lets a sandbox ask for these "
				      "addresses, and no server has one of them"},
	{"synthetic: 198.16.0.0/14", "f:1:12: `synthetic` must lie within 198.18.0.0/15: the "
				     "kernel lets a sandbox ask for these "
				     "addresses, and no server has one of them"},
	{"synthetic: 198.20.0.0/16", "f:1:12: `synthetic` must lie within 198.18.0.0/15: the "
				     "kernel lets a sandbox ask for these "
				     "addresses, and no server has one of them"},
	{"synthetic: 0.0.0.0/1", "f:1:12: `synthetic` must lie within 198.18.0.0/15: the kernel "
				 "lets a sandbox ask for these "
				 "addresses, and no server has one of them"},
	{"synthetic: 127.0.0.0/24", "f:1:12: `synthetic` must lie within 198.18.0.0/15: the kernel "
				    "lets a sandbox ask for these "
				    "addresses, and no server has one of them"},
	{"credentials: [{file: /x}]", "f:1:15: an entry of credentials has no `sandboxes`"},
	{"credentials: [{sandboxes: [a]}]",
		"f:1:15: an entry of credentials needs `file` or `descriptor`, one of them"},
	{"credentials: [{sandboxes: [a], file: /x, descriptor: 3}]",
		"f:1:15: an entry of credentials needs `file` or `descriptor`, one of them"},
	{"credentials: [{sandboxes: [a], descriptor: 2}]",
		"f:1:44: `descriptor` must be a number from 3 to 1048576"},
	{"credentials: [{sandboxes: ['a*b'], file: /x}]",
		"f:1:28: a sandbox pattern is an id, or the beginning of one and `*` (build-*)"},
	{"audit: {size: 1}", "f:1:15: `size` must be a number from 65536 to 1099511627776"},
	{"audit: /x", "f:1:8: `audit` must be a map, not text"},
};

static void test_synthetic(void **state)
{
	static const struct {
		const char *text;
		uint32_t first, last;
	} good[] = {
		{"workers: 1", 0xc6120000, 0xc613ffff},
		{"synthetic: 198.18.0.0/15", 0xc6120000, 0xc613ffff},
		{"synthetic: 198.19.0.0/16", 0xc6130000, 0xc613ffff},
		{"synthetic: 198.18.5.0/24", 0xc6120500, 0xc61205ff},
	};
	struct daemon_conf *c;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(daemon_conf_load(slice_str(good[i].text), "f", NULL, &c), 0);
		assert_int_equal(c->synthetic_first, good[i].first);
		assert_int_equal(c->synthetic_last, good[i].last);
		daemon_conf_free(c);
	}
}

static void test_bad(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		struct fault fault = {{0}};
		struct daemon_conf *c = NULL;

		assert_int_equal(
			daemon_conf_load(slice_str(bad[i].text), "f", &fault, &c), -EBADMSG);
		if (bad[i].fault)
			assert_string_equal(fault.text, bad[i].fault);
		assert_null(c);
	}
}

static void test_resolv_conf(void **state)
{
	static const char text[] =
		"# nameserver 192.0.2.9\nsearch x\nnameserver 192.0.2.1\nnameserver\t2001:db8::1 \n"
		"nameserver fe80::1%eth0\nnameserverx 192.0.2.2\nnameserver\nnameserver 192.0.2.3 "
		"# x\r\n"
		"nameserver 192.0.2.4";
	struct addr a[8];
	char t[ADDR_TEXT];

	(void)state;
	assert_int_equal(daemon_conf_system_resolvers(slice_str(text), a, 8), 4);
	addr_port_text(&a[1], t);
	assert_string_equal(t, "[2001:db8::1]:53");
	addr_port_text(&a[2], t);
	assert_string_equal(t, "192.0.2.3:53");
	assert_int_equal(daemon_conf_system_resolvers(slice_str(text), a, 2), 2);
	assert_int_equal(daemon_conf_system_resolvers(slice_str(""), a, 8), 0);
}

static void test_manual(void **state)
{
	unsigned n;
	const struct conf_table *const *tables = daemon_conf_tables(&n);

	(void)state;
	manual_check("userspace/man/sallyportd.8", tables, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_synthetic),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_resolv_conf),
		cmocka_unit_test(test_manual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
