/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beat.c – see beat.h. The same two maps, and the same question, as bpf/outage.bpf.h. By the raw call: this program has
 * no use for a library of BPF's.
 *
 * #syscalls: bpf close
 */
#include <errno.h>
#include <limits.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/capture.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "ctl/beat.h"

static int beat_bpf(int command, union bpf_attr *attr)
{
	long r = syscall(SYS_bpf, command, attr, sizeof(*attr));

	return r < 0 ? -errno : (int)r;
}

/* The entry of that number in an array that is pinned under that name. 0 or -errno. */
static int beat_entry(const char *state, const char *name, uint32_t number, void *ret)
{
	char path[PATH_MAX];
	union bpf_attr attr;
	_cleanup_close_ int fd = -1;

	if (snprintf(path, sizeof(path), "%s/bpf/%s", state, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	memset(&attr, 0, sizeof(attr));
	attr.pathname = (uintptr_t)path;
	attr.file_flags = BPF_F_RDONLY;
	fd = beat_bpf(BPF_OBJ_GET, &attr);
	if (fd < 0)
		return fd;
	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)fd;
	attr.key = (uintptr_t)&number;
	attr.value = (uintptr_t)ret;
	return beat_bpf(BPF_MAP_LOOKUP_ELEM, &attr);
}

int beat_read(const char *state, struct beat *ret)
{
	struct capture_outage outage;
	struct capture_heartbeat beat;
	uint64_t now, since;
	int r = beat_entry(state, "outage", 0, &outage);

	r = r ? r : beat_entry(state, "heartbeat", outage.slot, &beat);
	if (r < 0)
		return r;
	now = clock_monotonic_ms();
	since = (outage.down ? outage.ns : beat.ns) / 1000000;
	*ret = (struct beat){
		.down = outage.down,
		.waits = outage.wait,
		.age_ms = now > since ? now - since : 0,
	};
	ret->late = !outage.down && ret->age_ms > CAPTURE_BEAT_LATE_MS;
	return 0;
}
