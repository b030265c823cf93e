/* SPDX-License-Identifier: Apache-2.0 */
/* capset.c – see capset.h. Bounding set first: dropping from it needs SETPCAP, which goes last. */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/battery/capset.h"

#define BIT(cap) (1ULL << (cap))

enum { CAPSET_NOBODY = 65534 };

static const uint64_t capset_docker =
	BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FOWNER) | BIT(CAP_FSETID) | BIT(CAP_KILL) |
	BIT(CAP_SETGID) | BIT(CAP_SETUID) | BIT(CAP_SETPCAP) | BIT(CAP_NET_BIND_SERVICE) |
	BIT(CAP_NET_RAW) | BIT(CAP_SYS_CHROOT) | BIT(CAP_MKNOD) | BIT(CAP_AUDIT_WRITE) |
	BIT(CAP_SETFCAP);

static int capset_mask(const char *name, uint64_t *ret)
{
	const struct {
		const char *name;
		uint64_t mask;
	} rows[] = {{"full", ~0ULL}, {"default", capset_docker},
		{"noraw", capset_docker & ~BIT(CAP_NET_RAW)}, {"none", 0}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, name) == 0) {
			*ret = rows[i].mask;
			return 0;
		}
	return -EINVAL;
}

static int capset_apply(uint64_t mask)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct have[2], data[2] = {0};

	if (syscall(SYS_capget, &head, have) < 0)
		return -errno;
	for (int i = 0; i < 2; i++) {
		data[i].permitted = have[i].permitted & (uint32_t)(mask >> (32 * i));
		data[i].effective = data[i].permitted;
	}
	return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

int capset_become(const char *name)
{
	uint64_t mask;
	int r;

	if (strcmp(name, "kept") == 0)
		return 0;
	r = capset_mask(name, &mask);
	if (r < 0)
		return r;
	if (mask == ~0ULL)
		return 0;
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (!(mask & BIT(cap)) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 &&
			errno != EINVAL)
			return -errno;
	if (mask == 0) {
		if (setgroups(0, NULL) < 0 ||
			setresgid(CAPSET_NOBODY, CAPSET_NOBODY, CAPSET_NOBODY) < 0 ||
			setresuid(CAPSET_NOBODY, CAPSET_NOBODY, CAPSET_NOBODY) < 0 ||
			prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
			return -errno;
	}
	return capset_apply(mask);
}
