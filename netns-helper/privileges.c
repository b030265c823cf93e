/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * privileges.c – see privileges.h. The machine may not hold every capability (containers, hardened
 * hosts): what is not held is not missed here, and shows where it is needed. #syscalls: capset
 * prctl setgroups setgid setuid prlimit64
 */
#include <errno.h>
#include <grp.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "netns-helper/privileges.h"

#include "base/cleanup.h"

/* What serving needs, and for what. */
static const cap_value_t privileges_serving[] = {
	CAP_SYS_ADMIN, /* setns, mount and unmount of the bpffs */
	CAP_NET_ADMIN, /* rtnetlink, nf_tables, BPF on cgroup and netns */
	CAP_BPF, /* maps and programs */
	CAP_PERFMON, /* the verifier's leave to read task structures for attribution */
	CAP_NET_BIND_SERVICE, /* port 53 inside the sandbox */
	CAP_KILL, /* the processes of a held sandbox, and a private daemon */
	CAP_SYS_PTRACE, /* which process has a socket open: the links in /proc/PID/fd of other users */
	CAP_DAC_OVERRIDE, /* rmdir in the root of the cgroup tree, which nobody may write; a private
			     STATE */
};

/* Adds those of the list that the process holds. */
static int privileges_add(cap_t to, const cap_value_t *list, size_t n)
{
	static const cap_flag_t flags[] = {CAP_PERMITTED, CAP_EFFECTIVE};
	cap_t held = cap_get_proc();
	int r = held ? 0 : -errno;

	for (size_t i = 0; i < n && r == 0; i++) {
		cap_flag_value_t value = CAP_CLEAR;

		if (cap_get_flag(held, list[i], CAP_PERMITTED, &value) < 0 || value == CAP_CLEAR)
			continue;
		for (size_t f = 0; f < ARRAY_SIZE(flags) && r == 0; f++)
			if (cap_set_flag(to, flags[f], 1, &list[i], CAP_SET) < 0)
				r = -errno;
	}
	if (held)
		(void)cap_free(held); /* cannot fail for what cap_get_proc() gave */
	return r;
}

/* Takes every capability that `kept` does not have out of the bounding set; without CAP_SETPCAP
 * that is impossible. */
static int privileges_bound(cap_t kept)
{
	for (cap_value_t c = 0; CAP_IS_SUPPORTED(c); c++) {
		cap_flag_value_t value = CAP_CLEAR;

		if (cap_get_flag(kept, c, CAP_PERMITTED, &value) == 0 && value == CAP_SET)
			continue;
		if (cap_get_bound(c) == 1 && cap_drop_bound(c) < 0)
			return -errno;
	}
	return 0;
}

static int privileges_apply(cap_t kept)
{
	int r = privileges_bound(kept);

	if (r < 0)
		return r;
	if (cap_reset_ambient() < 0)
		return -errno;
	return cap_set_proc(kept) < 0 ? -errno : 0;
}

/* A sandbox takes more than ten descriptors, a login session's soft limit is 1,024. */
static int privileges_descriptors(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return -errno;
	files.rlim_cur = files.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &files) < 0 ? -errno : 0;
}

int privileges_serve(void)
{
	cap_t kept = cap_init();
	int r;

	if (!kept)
		return -errno;
	r = privileges_descriptors();
	if (r == 0)
		r = privileges_add(kept, privileges_serving, ARRAY_SIZE(privileges_serving));
	if (r == 0)
		r = privileges_apply(kept);
	(void)cap_free(kept); /* cannot fail for what cap_init() gave */
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = -errno;
	return r;
}

/*
 * uid 0 too ends with nothing: the bounding set is empty, so that an execve(2) as root gives
 * nothing back. It still owns what root owns.
 */
int privileges_sandbox(const char *user, uid_t uid, gid_t gid)
{
	cap_t none = cap_init();
	int r;

	if (!none)
		return -errno;
	r = privileges_bound(none);
	if (r == 0 && (initgroups(user, gid) < 0 || setgid(gid) < 0 || setuid(uid) < 0))
		r = -errno;
	if (r == 0)
		r = privileges_apply(none);
	(void)cap_free(none); /* cannot fail for what cap_init() gave */
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = -errno;
	return r;
}
