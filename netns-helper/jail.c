/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jail.c – see jail.h.
 *
 * A list of what is refused, not of what is allowed: the sandbox runs anybody's programs, and the
 * network is confined by the namespace, not by this. What is here has a way around the namespace,
 * or reaches into the terminal: socket families other than UNIX, INET, INET6 and rtnetlink:
 * AF_VSOCK is not confined by a netns, AF_PACKET sees lo; bpf, pidfd_getfd, setns, new user and
 * network namespaces (unshare, clone; clone3, whose flags a filter cannot see, is "not there", upon
 * which libc falls back to clone), modules, kexec, perf; TIOCSTI and TIOCLINUX, which type into the
 * terminal of who started us; io_uring_setup where AF_VSOCK leads anywhere: IORING_OP_SOCKET is not
 * seen by a filter on socket(2). Errnos are those that programs take as "this kernel does not have
 * it".
 *
 * Arguments of 32 bits are compared with all 64: a register with other high bits passes for a large
 * number and is refused. Calls of another architecture are refused whole.
 *
 * #syscalls: seccomp prctl
 */
#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netns-helper/jail.h"

#include "base/cleanup.h"

static const char *const jail_vsock_signs[] = {
	"/dev/vsock", "/dev/vhost-vsock", "/sys/class/misc/vsock"};

/* Refused whatever the arguments. */
static const struct {
	int call;
	int error;
} jail_calls[] = {
	{SCMP_SYS(bpf), EPERM},
	{SCMP_SYS(pidfd_getfd), EPERM},
	{SCMP_SYS(setns), EPERM},
	{SCMP_SYS(clone3), ENOSYS},
	{SCMP_SYS(perf_event_open), EPERM},
	{SCMP_SYS(init_module), EPERM},
	{SCMP_SYS(finit_module), EPERM},
	{SCMP_SYS(delete_module), EPERM},
	{SCMP_SYS(kexec_load), EPERM},
	{SCMP_SYS(kexec_file_load), EPERM},
	{SCMP_SYS(open_by_handle_at), EPERM},
};

/* Refused where all bits of the mask that are in the value are set in that argument. */
static const struct {
	int call;
	unsigned int argument;
	scmp_datum_t mask, value;
	int error;
} jail_flags[] = {
	{SCMP_SYS(unshare), 0, CLONE_NEWUSER, CLONE_NEWUSER, EPERM},
	{SCMP_SYS(unshare), 0, CLONE_NEWNET, CLONE_NEWNET, EPERM},
	{SCMP_SYS(clone), 0, CLONE_NEWUSER, CLONE_NEWUSER, EPERM},
	{SCMP_SYS(clone), 0, CLONE_NEWNET, CLONE_NEWNET, EPERM},
	{SCMP_SYS(ioctl), 1, 0xffffffff, TIOCSTI, EPERM},
	{SCMP_SYS(ioctl), 1, 0xffffffff, TIOCLINUX, EPERM},
};

static bool jail_family(unsigned int family)
{
	return family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
}

static int jail_sockets(scmp_filter_ctx filter)
{
	const uint32_t refuse = SCMP_ACT_ERRNO(EAFNOSUPPORT);
	const unsigned int last = AF_NETLINK;
	int r = 0;

	for (unsigned int family = 0; family <= last && r == 0; family++)
		if (!jail_family(family))
			r = seccomp_rule_add(
				filter, refuse, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, family));
	if (r == 0)
		r = seccomp_rule_add(
			filter, refuse, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_GT, last));
	if (r == 0)
		r = seccomp_rule_add(filter, refuse, SCMP_SYS(socket), 2,
			SCMP_A0(SCMP_CMP_EQ, AF_NETLINK), SCMP_A2(SCMP_CMP_NE, NETLINK_ROUTE));
	if (r == 0)
		r = seccomp_rule_add(
			filter, refuse, SCMP_SYS(socketpair), 1, SCMP_A0(SCMP_CMP_NE, AF_UNIX));
	return r;
}

static int jail_rules(scmp_filter_ctx filter, bool refuse_io_uring)
{
	int r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));

	if (r == 0)
		r = jail_sockets(filter);
	for (size_t i = 0; i < ARRAY_SIZE(jail_calls) && r == 0; i++)
		r = seccomp_rule_add(
			filter, SCMP_ACT_ERRNO(jail_calls[i].error), jail_calls[i].call, 0);
	for (size_t i = 0; i < ARRAY_SIZE(jail_flags) && r == 0; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(jail_flags[i].error),
			jail_flags[i].call, 1,
			SCMP_CMP(jail_flags[i].argument, SCMP_CMP_MASKED_EQ, jail_flags[i].mask,
				jail_flags[i].value));
	if (r == 0 && refuse_io_uring)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(io_uring_setup), 0);
	return r;
}

bool jail_vsock(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(jail_vsock_signs); i++)
		if (access(jail_vsock_signs[i], F_OK) == 0)
			return true;
	return false;
}

int jail_load(bool refuse_io_uring)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int r;

	if (!filter)
		return -ENOMEM;
	r = jail_rules(filter, refuse_io_uring);
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r;
}
