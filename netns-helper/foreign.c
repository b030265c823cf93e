/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * foreign.c – see foreign.h.
 *
 * Why each matters: a socket of a process outside is a relay in waiting: what the sandbox says to it on
 * loopback leaves by that process's own network. A table may redirect before ours is asked, a rule may
 * send what our route should catch elsewhere. With interfaces, a raw or packet socket sends below the table: it is refused
 * whoever has it, since a process that has dropped every capability keeps what it opened before.
 *
 * A socket is the sandbox's when it was made in the sandbox's cgroup, which sock_diag tells, or when every
 * process that has it open is inside, which only a walk through /proc tells: that walk is made only when
 * the first question leaves something over. In the good case: half a millisecond, no process looked at.
 *
 * #syscalls: those of the parts
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "netns-helper/foreign_internal.h"

void foreign_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

static int foreign_refuse(const struct foreign_socket *s, struct fault *fault)
{
	if (!s->pid)
		return fault_set(fault, -EBUSY,
			"--netns: has a %s socket at %s that was made outside --cgroup and that no "
			"visible process has open: close it first",
			s->kind, s->address);
	return fault_set(fault, -EBUSY,
		"--netns: %s (pid %d), which is outside --cgroup, has a %s socket in it, at %s: "
		"end it "
		"first, or start it in the cgroup",
		s->comm, s->pid, s->kind, s->address);
}

static int foreign_refuse_below(const struct foreign_socket *s, struct fault *fault)
{
	return fault_set(fault, -EBUSY,
		"--netns: has a %s socket in it, at %s, which sends past the sandbox, whatever "
		"capabilities are left to who has it open: close it first, or use sealed mode",
		s->kind, s->address);
}

static int foreign_verify_sockets(
	const struct foreign_spec *spec, struct foreign_sockets *s, struct fault *fault)
{
	int r = foreign_sockets_list(spec, s);

	if (r == -E2BIG)
		return fault_set(fault, r,
			"--netns: has over %d sockets that were not made in --cgroup itself: "
			"attach "
			"before it is put to work",
			FOREIGN_SOCKETS);
	if (r == 0 && s->n)
		r = foreign_holders_find(spec->cgroup, s);
	if (r < 0)
		return fault_set(fault, r, "cannot list the sockets of the network namespace: %s",
			strerror(-r));
	for (size_t i = 0; i < s->n; i++)
		if (s->list[i].pid || !s->list[i].inside)
			return foreign_refuse(&s->list[i], fault);
	for (size_t i = 0; i < s->n && spec->uplink; i++)
		if (s->list[i].below)
			return foreign_refuse_below(&s->list[i], fault);
	return 0;
}

int foreign_verify(const struct foreign_spec *spec, struct fault *fault, bool *ret_resolver)
{
	struct foreign_sockets sockets = {NULL};
	int r = foreign_verify_sockets(spec, &sockets, fault);
	bool resolver = sockets.resolver;

	foreign_sockets_free(&sockets);
	if (r == 0)
		r = foreign_tables_verify(fault, &resolver);
	if (r == 0)
		r = foreign_rules_verify(fault);
	if (r == 0 && spec->uplink)
		r = foreign_links_verify(fault);
	if (r == 0)
		*ret_resolver = resolver;
	return r;
}
