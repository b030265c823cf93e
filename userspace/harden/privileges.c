/* SPDX-License-Identifier: Apache-2.0 */
/*
 * privileges.c – see privileges.h. Giving up uid 0 by setresuid(2) clears the permitted and effective sets
 * (capabilities(7)); the bounding set is emptied while we still may, so that nothing that is executed gets any back.
 */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harden/privileges.h"

int privileges_limits(void)
{
	struct rlimit none = {0, 0}, files;

	if (setrlimit(RLIMIT_CORE, &none) < 0 || getrlimit(RLIMIT_NOFILE, &files) < 0)
		return -errno;
	files.rlim_cur = files.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &files) < 0 ? -errno : 0;
}

static int privileges_bounding(void)
{
	for (int cap = 0; cap <= 63; cap++)
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) > 0 &&
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return -errno;
	return 0;
}

/* 0 when no capability is left in any set. */
static int privileges_verify(uid_t uid)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};
	uid_t r, e, s;

	if (syscall(SYS_capget, &head, data) < 0 || getresuid(&r, &e, &s) < 0)
		return -errno;
	if (r != uid || e != uid || s != uid)
		return -EPERM;
	for (int i = 0; i < 2; i++)
		if (data[i].effective || data[i].permitted || data[i].inheritable)
			return -EPERM;
	return setuid(0) == 0 && uid != 0 ? -EPERM : 0;
}

int privileges_drop(uid_t uid, gid_t gid)
{
	int r = privileges_bounding();

	if (r < 0)
		return r;
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
#ifndef SALLYPORT_SAN
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
#endif
	return privileges_verify(uid);
}
