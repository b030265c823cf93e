/* SPDX-License-Identifier: Apache-2.0 */
/* probe_bpf.h – BPF instructions by hand and a scratch cgroup, for probes that attach a program. */
#ifndef SALLYPORT_PROBE_BPF_H
#define SALLYPORT_PROBE_BPF_H

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/stat.h>

#include <bpf/bpf.h>

#include "probe.h"

#define INSN(c, d, s, o, i)                                                                        \
	((struct bpf_insn){.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})
#define MOV_IMM(d, i)        INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOV_REG(d, s)        INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ADD_IMM(d, i)        INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define LOAD32(d, s, o)      INSN(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)
#define STORE32_IMM(d, o, i) INSN(BPF_ST | BPF_MEM | BPF_W, d, 0, o, i)
#define JUMP_NE(d, i, o)     INSN(BPF_JMP | BPF_JNE | BPF_K, d, 0, o, i)
#define CALL(helper)         INSN(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define EXIT()               INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* two instructions */
#define LOAD_MAP(d, fd)                                                                            \
	INSN(BPF_LD | BPF_DW | BPF_IMM, d, BPF_PSEUDO_MAP_FD, 0, fd), INSN(0, 0, 0, 0, 0)

static char probe_cgroup_path[512];

static inline void probe_cgroup_remove(void)
{
	(void)rmdir(probe_cgroup_path); /* nobody is in it by then */
}

/* A scratch cgroup v2 directory, wherever cgroup2 is mounted; removed at exit. Returns its
 * descriptor. */
static inline int probe_cgroup(void)
{
	char line[1024], where[256], kind[64] = "";
	FILE *mounts = fopen("/proc/mounts", "re");
	int fd;

	while (mounts && strcmp(kind, "cgroup2") != 0 && fgets(line, sizeof(line), mounts))
		if (sscanf(line, "%*s %255s %63s", where, kind) != 2)
			kind[0] = '\0';
	if (strcmp(kind, "cgroup2") != 0)
		probe_missing("no cgroup2 mount");
	(void)fclose(mounts);
	(void)snprintf(probe_cgroup_path, sizeof(probe_cgroup_path), "%s/sallyport-probe.%d", where,
		(int)getpid());
	probe_need(mkdir(probe_cgroup_path, 0755) == 0, "making a cgroup");
	(void)atexit(probe_cgroup_remove);
	fd = open(probe_cgroup_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	probe_need(fd >= 0, "opening the cgroup");
	return fd;
}

static inline void probe_move(int cgroup, const char *pid)
{
	int fd = openat(cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	probe_need(fd >= 0 && write(fd, pid, strlen(pid)) > 0, "entering the cgroup");
	(void)close(fd);
}

#endif
