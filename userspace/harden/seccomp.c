/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp.c – see seccomp.h. The lists are the union of the `#syscalls:` notes of what runs in that thread, what the C
 * library needs for memory, locks and the end of a thread, and for the control thread what libbpf and c-ares do.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "harden/seccomp.h"

/* both: memory, locks, time, randomness, the ring, the log, the end */
static const int seccomp_common[] = {
	SCMP_SYS(brk),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(close),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(futex),
	SCMP_SYS(getpid),
	SCMP_SYS(getrandom),
	SCMP_SYS(gettid),
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(madvise),
	SCMP_SYS(mlock),
	SCMP_SYS(mmap),
	SCMP_SYS(mprotect),
	SCMP_SYS(mremap),
	SCMP_SYS(munmap),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(rseq),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sched_yield),
	SCMP_SYS(tgkill),
	SCMP_SYS(write),
};

/* sockets that were accepted or dialled; the name server's answers */
static const int seccomp_workers[] = {
	SCMP_SYS(getsockname),
	SCMP_SYS(getsockopt),
	SCMP_SYS(sendmsg),
	SCMP_SYS(setsockopt),
	SCMP_SYS(shutdown),
};

/* files of the state directory, control socket, helper link, resolver, ring buffer, signals */
static const int seccomp_controls[] = {
	SCMP_SYS(accept4),
	SCMP_SYS(access),
	SCMP_SYS(bind),
	SCMP_SYS(connect),
	SCMP_SYS(dup3),
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(faccessat),
	SCMP_SYS(fchmod),
	SCMP_SYS(fcntl),
	SCMP_SYS(fstat),
	SCMP_SYS(fsync),
	SCMP_SYS(ftruncate),
	SCMP_SYS(getdents64),
	SCMP_SYS(getpeername),
	SCMP_SYS(getsockname),
	SCMP_SYS(getsockopt),
	SCMP_SYS(ioctl),
	SCMP_SYS(lseek),
	SCMP_SYS(mkdir),
	SCMP_SYS(newfstatat),
	SCMP_SYS(openat),
	SCMP_SYS(poll),
	SCMP_SYS(pread64),
	SCMP_SYS(read),
	SCMP_SYS(readlink),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),
	SCMP_SYS(rename),
	SCMP_SYS(rmdir),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(setsockopt),
	SCMP_SYS(socket),
	SCMP_SYS(stat),
	SCMP_SYS(statx),
	SCMP_SYS(unlink),
	SCMP_SYS(writev),
};

/* the ring buffer; the maps of paths and counters; the one of credential uses */
static const enum bpf_cmd seccomp_maps[] = {BPF_OBJ_GET_INFO_BY_FD, BPF_MAP_LOOKUP_ELEM,
	BPF_MAP_UPDATE_ELEM, BPF_MAP_DELETE_ELEM, BPF_MAP_GET_NEXT_KEY};

static int seccomp_add(scmp_filter_ctx ctx, const int *calls, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls[i], 0);

		if (r < 0)
			return r;
	}
	return 0;
}

static int seccomp_add_bpf(scmp_filter_ctx ctx, enum bpf_cmd cmd)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(bpf), 1, SCMP_A0(SCMP_CMP_EQ, cmd));
}

static int seccomp_finish(scmp_filter_ctx ctx, int r)
{
#ifndef SALLYPORT_SAN
	if (r == 0)
		r = seccomp_load(ctx);
#endif
	seccomp_release(ctx);
	return r;
}

int seccomp_worker(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r;

	if (!ctx)
		return -ENOMEM;
	r = seccomp_add(ctx, seccomp_common, ARRAY_SIZE(seccomp_common));
	r = r ? r : seccomp_add(ctx, seccomp_workers, ARRAY_SIZE(seccomp_workers));
	r = r ? r : seccomp_add_bpf(ctx, BPF_MAP_LOOKUP_ELEM);
	r = r ? r : seccomp_add_bpf(ctx, BPF_MAP_LOOKUP_AND_DELETE_ELEM);
	/* free() looks for /proc/sys/vm/overcommit_memory before it shrinks a heap, and does without */
	r = r ? r : seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(openat), 0);
	/* only what dial.c makes */
	r = r ? r
	      : seccomp_rule_add(
			ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, AF_INET));
	r = r ? r
	      : seccomp_rule_add(
			ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, AF_INET6));
	return seccomp_finish(ctx, r);
}

int seccomp_control(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r;

	if (!ctx)
		return -ENOMEM;
	r = seccomp_add(ctx, seccomp_common, ARRAY_SIZE(seccomp_common));
	r = r ? r : seccomp_add(ctx, seccomp_controls, ARRAY_SIZE(seccomp_controls));
	for (size_t i = 0; i < ARRAY_SIZE(seccomp_maps); i++)
		r = r ? r : seccomp_add_bpf(ctx, seccomp_maps[i]);
	return seccomp_finish(ctx, r);
}
