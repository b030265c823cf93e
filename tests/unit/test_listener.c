/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_listener.c – both ends of an accepted socket, who is behind it, and connections to a listener's own address. All on
 * the loopback: a socket that was asked for by another address needs the steering program (tests/bpf), but port 53 is
 * steered there too. What needs a privilege that is missing is skipped.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "bpf/capture.h"
#include "capture/flows.h"
#include "capture/listener.h"

static const struct flows nowhere = {.live = -1, .closed = -1};

/* A connection to ip:port (0: any port), or -errno of what could not be bound; asked and peer as the program sees them. */
struct link {
	int listener, program, accepted;
	struct addr asked, peer;
};

static struct addr name_of(int fd)
{
	struct sockaddr_storage sa;
	socklen_t n = sizeof(sa);
	struct addr a;

	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &n), 0);
	assert_int_equal(addr_from_sockaddr((struct sockaddr *)&sa, n, &a), 0);
	return a;
}

static int link_open(struct link *l, const char *ip, uint16_t port)
{
	struct sockaddr_storage sa;
	socklen_t n;
	int one = 1; /* what is left of an earlier run does not hold the port */

	*l = (struct link){-1, -1, -1};
	assert_int_equal(addr_parse(slice_str(ip), &l->asked), 0);
	l->asked.port = port;
	n = addr_to_sockaddr(&l->asked, &sa);
	l->listener = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (l->listener < 0 ||
		setsockopt(l->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
		bind(l->listener, (struct sockaddr *)&sa, n) < 0)
		return -errno;
	assert_int_equal(listen(l->listener, 1), 0);
	l->asked = name_of(l->listener);
	n = addr_to_sockaddr(&l->asked, &sa);
	l->program = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(l->program, (struct sockaddr *)&sa, n), 0);
	l->accepted = accept(l->listener, NULL, NULL);
	assert_true(l->accepted >= 0);
	l->peer = name_of(l->program);
	return 0;
}

static void link_close(struct link *l)
{
	cleanup_close(&l->listener);
	cleanup_close(&l->program);
	cleanup_close(&l->accepted);
}

static void assert_ends(const struct captured *who, const struct link *l)
{
	assert_true(addr_same_ip(&who->asked, &l->asked));
	assert_int_equal(who->asked.port, l->asked.port);
	assert_true(addr_same_ip(&who->peer, &l->peer));
	assert_int_equal(who->peer.port, l->peer.port);
	assert_int_not_equal(who->peer.port, 0);
}

static void test_own_address(void **state)
{
	static const char *const ips[] = {"127.0.0.1", "127.83.7.2", "127.255.255.254", "::1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ips); i++) {
		struct captured who = {.attributed = true};
		struct link l;
		int r = link_open(&l, ips[i], 0);

		if (r == -EADDRNOTAVAIL || r == -EAFNOSUPPORT) { /* no IPv6 here */
			link_close(&l);
			continue;
		}
		assert_int_equal(r, 0);
		assert_int_equal(listener_captured(l.accepted, &nowhere, &who), -ELOOP);
		assert_ends(&who, &l);
		assert_false(who.attributed);
		link_close(&l);
	}
}

static void test_dns(void **state)
{
	struct captured who;
	struct link l;
	int r = link_open(&l, "127.83.7.1", 53);

	(void)state;
	if (r < 0) {
		link_close(&l);
		print_message("port 53 cannot be bound here: %s\n", strerrordesc_np(-r));
		skip();
	}
	assert_int_equal(listener_captured(l.accepted, &nowhere, &who), 0);
	assert_ends(&who, &l);
	assert_false(who.attributed);
	link_close(&l);
}

static int new_map(enum bpf_map_type type, uint32_t key, uint32_t value)
{
	int map = bpf_map_create(type, "test_flows", key, value, 4, NULL);

	if (map < 0) {
		print_message("no map can be made here: %s\n", strerrordesc_np(errno));
		skip();
	}
	return map;
}

static struct capture_flow_key key_of(const struct link *l)
{
	struct capture_flow_key key = {
		.prefixlen = CAPTURE_FLOW_PREFIX, .sport = l->peer.port, .dport = l->asked.port};

	memcpy(key.src, l->peer.ip, sizeof(key.src));
	memcpy(key.dst, l->asked.ip, sizeof(key.dst));
	return key;
}

/* The record under exactly this 4-tuple, and no other. */
static void test_attribution(void **state)
{
	const struct capture_client known = {
		.pid = 11, .tgid = 10, .start_ns = 5, .uid = 1000, .comm = "program"};
	struct capture_flow_key key, other;
	struct flows flows = {
		.live = new_map(BPF_MAP_TYPE_HASH, sizeof(key), sizeof(known)), .closed = -1};
	int map = flows.live;
	struct captured who;
	struct link l;

	(void)state;
	assert_int_equal(link_open(&l, "127.0.0.1", 0), 0);
	key = key_of(&l);
	other = key;
	other.sport ^= 1;
	assert_int_equal(bpf_map_update_elem(map, &other, &known, BPF_ANY), 0);
	assert_int_equal(listener_captured(l.accepted, &flows, &who), -ELOOP);
	assert_false(who.attributed);
	assert_int_equal(bpf_map_update_elem(map, &key, &known, BPF_ANY), 0);
	assert_int_equal(listener_captured(l.accepted, &flows, &who), -ELOOP);
	assert_true(who.attributed);
	assert_memory_equal(&who.client, &known, sizeof(known));
	link_close(&l);
	close(map);
}

static uint64_t now(void)
{
	struct timespec t;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &t), 0);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A client that is gone: found once, of this namespace, and not after a minute. A live one is found before it. */
static void test_attribution_of_the_gone(void **state)
{
	struct capture_closed gone = {.ns = now(), .client = {.tgid = 10, .comm = "gone"}};
	const struct capture_client living = {.tgid = 11, .comm = "living"};
	struct capture_closed_key key = {.netns = 7};
	struct flows flows = {
		.live = new_map(BPF_MAP_TYPE_HASH, sizeof(key.flow), sizeof(living)),
		.closed = new_map(BPF_MAP_TYPE_LRU_HASH, sizeof(key), sizeof(gone)),
		.netns = 7,
	};
	struct captured who;
	struct link l;

	(void)state;
	assert_int_equal(link_open(&l, "127.0.0.1", 0), 0);
	key.flow = key_of(&l);
	assert_int_equal(bpf_map_update_elem(flows.closed, &key, &gone, BPF_ANY), 0);
	flows.netns = 8;
	assert_int_equal(listener_captured(l.accepted, &flows, &who), -ELOOP);
	assert_false(who.attributed);
	flows.netns = 7;
	assert_int_equal(listener_captured(l.accepted, &flows, &who), -ELOOP);
	assert_true(who.attributed);
	assert_memory_equal(&who.client, &gone.client, sizeof(gone.client));
	assert_int_equal(listener_captured(l.accepted, &flows, &who), -ELOOP);
	assert_false(who.attributed);

	gone.ns -= 62 * 1000000000ULL;
	assert_int_equal(bpf_map_update_elem(flows.closed, &key, &gone, BPF_ANY), 0);
	assert_int_equal(listener_captured(l.accepted, &flows, &who), -ELOOP);
	assert_false(who.attributed);

	gone.ns = now();
	assert_int_equal(bpf_map_update_elem(flows.closed, &key, &gone, BPF_ANY), 0);
	assert_int_equal(bpf_map_update_elem(flows.live, &key.flow, &living, BPF_ANY), 0);
	assert_int_equal(listener_captured(l.accepted, &flows, &who), -ELOOP);
	assert_memory_equal(&who.client, &living, sizeof(living));
	link_close(&l);
	close(flows.live);
	close(flows.closed);
}

/* Reset before we looked: both ends are still known. */
static void test_reset(void **state)
{
	static const struct linger hard = {.l_onoff = 1, .l_linger = 0};
	struct captured who;
	struct link l;

	(void)state;
	assert_int_equal(link_open(&l, "127.0.0.1", 0), 0);
	assert_int_equal(setsockopt(l.program, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)), 0);
	cleanup_close(&l.program);
	l.program = -1;
	assert_int_equal(listener_captured(l.accepted, &nowhere, &who), -ELOOP);
	assert_ends(&who, &l);
	link_close(&l);
}

static void test_what_is_no_connection(void **state)
{
	struct captured who;
	int pair[2], fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(listener_captured(-1, &nowhere, &who), -EBADF);
	assert_int_equal(listener_captured(fd, &nowhere, &who), -ENOTCONN); /* never was one */
	assert_int_equal(close(fd), 0);
	assert_int_equal(pipe(pair), 0);
	assert_int_equal(listener_captured(pair[0], &nowhere, &who), -ENOTSOCK);
	close(pair[0]), close(pair[1]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(listener_captured(pair[0], &nowhere, &who), -EAFNOSUPPORT);
	close(pair[0]), close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_address),
		cmocka_unit_test(test_dns),
		cmocka_unit_test(test_attribution),
		cmocka_unit_test(test_attribution_of_the_gone),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_what_is_no_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
