/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hook_seccomp.c – see hook_seccomp.h. Each probe is a call with arguments. It is closed when no rule that lets it
 * through could match, and either the default refuses or a rule that refuses matches it for certain. Rules of a filter
 * are not ordered, so a let-through beside a refusal is taken for a let-through.
 */
#include <errno.h>
#include <jansson.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "netns-helper/hook_json.h"
#include "netns-helper/hook_seccomp.h"

#include "base/cleanup.h"

enum { HOOK_SECCOMP_ARGS = 6, HOOK_SECCOMP_TOLD = 4 };

struct hook_seccomp_probe {
	const char *call;
	uint64_t args[HOOK_SECCOMP_ARGS];
	const char *what;
	bool vsock; /* only where the machine has a vsock transport */
};

static const struct hook_seccomp_probe hook_seccomp_probes[] = {
	{"socket", {AF_VSOCK, SOCK_STREAM}, "socket(AF_VSOCK)", false},
	{"socket", {AF_PACKET, SOCK_RAW}, "socket(AF_PACKET)", false},
	{"socket", {AF_XDP, SOCK_RAW}, "socket(AF_XDP)", false},
	{"socket", {AF_KEY, SOCK_RAW}, "socket(AF_KEY)", false},
	{"socket", {AF_ALG, SOCK_SEQPACKET}, "socket(AF_ALG)", false},
	{"socket", {AF_BLUETOOTH, SOCK_RAW}, "socket(AF_BLUETOOTH)", false},
	{"socket", {AF_TIPC, SOCK_SEQPACKET}, "socket(AF_TIPC)", false},
	{"socket", {AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER}, "socket(NETLINK_NETFILTER)", false},
	{"socketpair", {AF_TIPC, SOCK_SEQPACKET}, "socketpair(AF_TIPC)", false},
	{"bpf", {0}, "bpf", false},
	{"pidfd_getfd", {0}, "pidfd_getfd", false},
	{"setns", {0}, "setns", false},
	{"unshare", {CLONE_NEWUSER}, "unshare(CLONE_NEWUSER)", false},
	{"unshare", {CLONE_NEWNET}, "unshare(CLONE_NEWNET)", false},
	{"clone", {CLONE_NEWUSER}, "clone(CLONE_NEWUSER)", false},
	{"clone3", {0}, "clone3", false},
	{"open_by_handle_at", {0}, "open_by_handle_at", false},
	{"perf_event_open", {0}, "perf_event_open", false},
	{"io_uring_setup", {0}, "io_uring_setup", true},
};

enum hook_seccomp_match { HOOK_SECCOMP_NO, HOOK_SECCOMP_PERHAPS, HOOK_SECCOMP_YES };

static bool hook_seccomp_refuses(const char *action)
{
	static const char *const refusing[] = {"SCMP_ACT_ERRNO", "SCMP_ACT_KILL",
		"SCMP_ACT_KILL_PROCESS", "SCMP_ACT_KILL_THREAD", "SCMP_ACT_TRAP"};

	for (size_t i = 0; action && i < ARRAY_SIZE(refusing); i++)
		if (strcmp(action, refusing[i]) == 0)
			return true;
	return false;
}

static bool hook_seccomp_number(json_t *rule, const char *name, uint64_t *ret)
{
	json_t *value = json_object_get(rule, name);

	*ret = (uint64_t)json_integer_value(value);
	return !value || (json_is_integer(value) && json_integer_value(value) >= 0);
}

static enum hook_seccomp_match hook_seccomp_argument(
	json_t *rule, const struct hook_seccomp_probe *probe)
{
	const char *op = hook_json_text(rule, "op");
	uint64_t index, value, second, is;
	bool yes;

	if (!op || !hook_seccomp_number(rule, "index", &index) || index >= HOOK_SECCOMP_ARGS ||
		!hook_seccomp_number(rule, "value", &value) ||
		!hook_seccomp_number(rule, "valueTwo", &second))
		return HOOK_SECCOMP_PERHAPS;
	is = probe->args[index];
	if (strcmp(op, "SCMP_CMP_EQ") == 0)
		yes = is == value;
	else if (strcmp(op, "SCMP_CMP_NE") == 0)
		yes = is != value;
	else if (strcmp(op, "SCMP_CMP_LT") == 0)
		yes = is < value;
	else if (strcmp(op, "SCMP_CMP_LE") == 0)
		yes = is <= value;
	else if (strcmp(op, "SCMP_CMP_GT") == 0)
		yes = is > value;
	else if (strcmp(op, "SCMP_CMP_GE") == 0)
		yes = is >= value;
	else if (strcmp(op, "SCMP_CMP_MASKED_EQ") == 0)
		yes = (is & value) == second;
	else
		return HOOK_SECCOMP_PERHAPS;
	return yes ? HOOK_SECCOMP_YES : HOOK_SECCOMP_NO;
}

/* A rule that names one argument twice means either, for the runtimes; here that is perhaps. */
static bool hook_seccomp_twice(json_t *args)
{
	uint64_t seen = 0, index;
	json_t *one;
	size_t i;

	json_array_foreach(args, i, one)
	{
		if (!hook_seccomp_number(one, "index", &index) || index >= HOOK_SECCOMP_ARGS ||
			(seen & 1ULL << index))
			return true;
		seen |= 1ULL << index;
	}
	return false;
}

static enum hook_seccomp_match hook_seccomp_rule(
	json_t *rule, const struct hook_seccomp_probe *probe)
{
	json_t *names = json_object_get(rule, "names"), *args = json_object_get(rule, "args"), *one;
	enum hook_seccomp_match all = HOOK_SECCOMP_YES;
	bool named = false;
	size_t i;

	json_array_foreach(names, i, one) named |=
		json_is_string(one) && strcmp(json_string_value(one), probe->call) == 0;
	if (!named)
		return HOOK_SECCOMP_NO;
	if (hook_seccomp_twice(args))
		return HOOK_SECCOMP_PERHAPS;
	json_array_foreach(args, i, one)
	{
		enum hook_seccomp_match this = hook_seccomp_argument(one, probe);

		if (this < all)
			all = this;
	}
	return all;
}

static bool hook_seccomp_closed(json_t *seccomp, const struct hook_seccomp_probe *probe)
{
	bool closed = hook_seccomp_refuses(hook_json_text(seccomp, "defaultAction"));
	json_t *rule;
	size_t i;

	json_array_foreach(json_object_get(seccomp, "syscalls"), i, rule)
	{
		enum hook_seccomp_match match = hook_seccomp_rule(rule, probe);
		bool refuses = hook_seccomp_refuses(hook_json_text(rule, "action"));

		if (match == HOOK_SECCOMP_NO)
			continue;
		if (!refuses)
			return false;
		closed |= match == HOOK_SECCOMP_YES;
	}
	return closed;
}

void hook_seccomp_open(struct json_t *seccomp, bool vsock, char *ret, size_t size)
{
	unsigned int open = 0;
	size_t n = 0;

	ret[0] = '\0';
	if (!json_is_object(seccomp)) {
		(void)snprintf(ret, size, "everything: there is no filter");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(hook_seccomp_probes); i++) {
		const struct hook_seccomp_probe *probe = &hook_seccomp_probes[i];

		if ((probe->vsock && !vsock) || hook_seccomp_closed(seccomp, probe))
			continue;
		if (open++ < HOOK_SECCOMP_TOLD && n < size)
			n += (size_t)snprintf(
				ret + n, size - n, "%s%s", n ? ", " : "", probe->what);
	}
	if (open > HOOK_SECCOMP_TOLD && n < size)
		(void)snprintf(ret + n, size - n, " and %u more", open - HOOK_SECCOMP_TOLD);
}
