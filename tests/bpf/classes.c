/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classes.c – the address classes in both kernel programs. The cgroup programs have IPv4's rows as instructions and the
 * rest as a tree, sk_lookup has all of them as a tree (match_class.bpf.h): at the borders of every row of bpf/ranges.h
 * both must say the same, and what the table in userspace says.
 *
 * Each address is asked for twice: by a process in the cgroup, of which the counters tell what its programs say; and by
 * one outside, which only sk_lookup judges. It is asked for as IPv6 too where it is IPv4 (v4-mapped), and inside of NAT64
 * and 6to4. There are addresses for which the kernel itself has no connection (multicast, broadcast, link-local without an
 * interface): they never come to sk_lookup, which is seen, and counted.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "model/range.h"
#include "tests/bpf/battery.h"

enum { CLASSES_PORT = 443 };

enum says { TO_US, STAYS, REFUSES, NOT_ASKED };
static const char *const says_words[] = {"to us", "stays inside", "refuses", "is not asked"};

struct classes {
	struct battery *b;
	unsigned asked, unreachable, wrong;
	char first_wrong[160];
};

/* Whether a connection has come to one of our listeners. */
static bool classes_arrived(const struct battery *b)
{
	struct pollfd p[WORLD_SLOTS];

	for (unsigned i = 0; i < WORLD_SLOTS; i++)
		p[i] = (struct pollfd){.fd = b->w.listeners[i], .events = POLLIN};
	if (poll(p, WORLD_SLOTS, 2000) <= 0)
		return false;
	for (unsigned i = 0; i < WORLD_SLOTS; i++)
		if (p[i].revents) {
			_cleanup_close_ int fd = accept(p[i].fd, NULL, NULL);

			return fd >= 0;
		}
	return false;
}

static enum says classes_table(const struct addr *to)
{
	static const uint8_t any4[16] = {[10] = 0xff, [11] = 0xff}, any6[16] = {0},
			     own6[16] = {[15] = 1};

	if (memcmp(to->ip, any4, 16) == 0 || memcmp(to->ip, any6, 16) == 0 ||
		memcmp(to->ip, own6, 16) == 0 || (addr_is_v4(to) && to->ip[12] == 127))
		return STAYS;
	return range_sandbox(to) == RANGE_PUBLIC ? TO_US : REFUSES;
}

/* By the process in the cgroup: what its programs have counted. */
static enum says classes_cgroup(const struct battery *b, const struct attempt *a)
{
	struct capture_verdicts before = battery_counters(b, b->w.cookie), after;
	struct outcome o = client_try(&b->inside, a);

	after = battery_counters(b, b->w.cookie);
	if (after.passed != before.passed) {
		if (o.error == 0)
			(void)classes_arrived(b); /* looked at with the other one */
		return TO_US;
	}
	if (after.local != before.local)
		return STAYS;
	return o.error == EACCES || (o.error == ECONNREFUSED && after.metadata != before.metadata)
		       ? REFUSES
		       : NOT_ASKED;
}

/* By the one outside of it. */
static enum says classes_lookup(const struct battery *b, const struct attempt *a)
{
	struct capture_verdicts before = battery_counters(b, b->w.cookie), after;
	struct outcome o = client_try(&b->outside, a);

	after = battery_counters(b, b->w.cookie);
	if (o.error == 0)
		return classes_arrived(b) ? TO_US : NOT_ASKED;
	if (o.error != ECONNREFUSED)
		return NOT_ASKED;
	return after.dropped != before.dropped ? REFUSES : STAYS;
}

static void classes_try(struct classes *c, const uint8_t ip[16], bool v6_socket)
{
	struct attempt a = {.op = CLIENT_CONNECT, .v6_socket = v6_socket};
	enum says table, cgroup, lookup;
	char text[ADDR_TEXT];

	memcpy(a.to.ip, ip, 16);
	a.to.port = CLASSES_PORT;
	table = classes_table(&a.to);
	cgroup = classes_cgroup(c->b, &a);
	lookup = classes_lookup(c->b, &a);
	c->asked++;
	if (lookup == NOT_ASKED && table != TO_US) {
		c->unreachable++;
		lookup = table;
	}
	if (cgroup == table && lookup == table)
		return;
	if (c->wrong++)
		return;
	addr_text(&a.to, text);
	(void)snprintf(c->first_wrong, sizeof(c->first_wrong),
		"%s%s: the table %s, the cgroup %s, sk_lookup %s", text,
		v6_socket && addr_is_v4(&a.to) ? " (mapped)" : "", says_words[table],
		says_words[cgroup], says_words[lookup]);
}

/* In every form in which it can be asked for. */
static void classes_address(struct classes *c, const uint8_t ip[16])
{
	const struct addr as = {
		.ip = {ip[0], ip[1], ip[2], ip[3], ip[4], ip[5], ip[6], ip[7], ip[8], ip[9], ip[10],
			ip[11], ip[12], ip[13], ip[14], ip[15]}};
	uint8_t nat64[16] = {0, 0x64, 0xff, 0x9b}, sixtofour[16] = {0x20, 0x02, [15] = 1};

	classes_try(c, ip, true);
	if (!addr_is_v4(&as))
		return;
	classes_try(c, ip, false);
	memcpy(nat64 + 12, ip + 12, 4);
	classes_try(c, nat64, true);
	memcpy(sixtofour + 2, ip + 12, 4);
	classes_try(c, sixtofour, true);
}

/* One more or less; false: there is none. */
static bool classes_step(uint8_t ip[16], bool up)
{
	for (int i = 15; i >= 0; i--) {
		ip[i] = (uint8_t)(up ? ip[i] + 1 : ip[i] - 1);
		if (ip[i] != (up ? 0 : 0xff))
			return true;
	}
	return false;
}

static void classes_borders(struct classes *c, const struct range_row *row)
{
	uint8_t first[16], last[16];

	memcpy(first, row->ip, 16);
	memcpy(last, row->ip, 16);
	for (unsigned i = row->prefix; i < 128; i++)
		last[i / 8] |= (uint8_t)(0x80 >> i % 8);
	classes_address(c, first);
	classes_address(c, last);
	if (classes_step(first, false))
		classes_address(c, first);
	if (classes_step(last, true))
		classes_address(c, last);
}

void battery_check_classes(struct battery *b)
{
	size_t n;
	const struct range_row *rows = range_rows(&n);
	unsigned asked = 0, unreachable = 0;

	for (size_t i = 0; i < n; i++) {
		struct classes c = {.b = b};
		struct addr at = {.port = 0};
		char text[ADDR_TEXT];

		classes_borders(&c, &rows[i]);
		memcpy(at.ip, rows[i].ip, 16);
		addr_text(&at, text);
		battery_report(b, !c.wrong, "classes at the borders of %s, %u bits: %u of %u%s%s",
			text, rows[i].prefix, c.asked - c.wrong, c.asked, c.wrong ? "; " : "",
			c.first_wrong);
		asked += c.asked;
		unreachable += c.unreachable;
	}
	battery_report(b, asked > 400 && unreachable < asked / 8,
		"classes: %u addresses, %u without a connection to them", asked, unreachable);
}
