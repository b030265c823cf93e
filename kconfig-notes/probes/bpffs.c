/* SPDX-License-Identifier: Apache-2.0 */
/* bpffs.c – a bpffs of one's own can be mounted, holds folders and pins, and goes with its mount.
 */
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <bpf/bpf.h>

#include "probe.h"

#define POINT "/sys/fs/bpf"

int main(void)
{
	int map;

	probe_begin("bpffs");
	/* not "/", which in a chroot is no mount point */
	probe_need(unshare(CLONE_NEWNS) == 0 &&
			   mount(NULL, "/sys", NULL, MS_REC | MS_PRIVATE, NULL) == 0,
		"a mount namespace");
	probe_need(mount("bpf", POINT, "bpf", 0, "mode=700") == 0, "mount -t bpf");
	map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "probe", 4, 4, 1, NULL);
	probe_need(map >= 0 && mkdir(POINT "/flows", 0700) == 0, "a folder in it");
	probe_need(bpf_obj_pin(map, POINT "/flows/probe") == 0, "a pin in the folder");
	probe_need(umount(POINT) == 0, "umount");
	probe_ok();
}
