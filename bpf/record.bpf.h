/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * record.bpf.h – what the programs leave behind: who the caller is, the counters, and the refusals
 * on record. The programs that refuse share it.
 */
#ifndef SALLYPORT_BPF_RECORD_BPF_H
#define SALLYPORT_BPF_RECORD_BPF_H

#include "bpf/maps.bpf.h"
#include "bpf/paths.bpf.h"

/* of errno.h and socket.h, which do not mix with vmlinux.h */
enum {
	EPERM = 1,
	EACCES = 13,
	EPROTONOSUPPORT = 93,
	EAFNOSUPPORT = 97,
	ENETUNREACH = 101,
	ECONNREFUSED = 111
};
/* What a cgroup program returns. */
enum { RECORD_REFUSE = 0, RECORD_PASS = 1 };
/* the counters behind those of the reasons */
enum { RECORD_SUPPRESSED = CAPTURE_REASON_COUNT, RECORD_LOST, RECORD_COUNTERS };

/*
 * The errno of a refusal, by its reason; 0 = passes. Volatile, as all tables in these files:
 * otherwise clang moves it into a mergeable section that its BTF does not describe, and the kernel
 * refuses the whole BTF. Weak, as several files that are linked into one object have it.
 */
const volatile __u8 record_errno[CAPTURE_REASON_COUNT] __weak = {
#define X(name, field, error) [CAPTURE_##name] = error,
	CAPTURE_REASONS(X)
#undef X
};

/* Inode number of the helper's pid namespace, set at load; 0 = not known. */
const volatile __u32 record_pidns __weak = 0;

enum { RECORD_PIDNS_LEVELS = 33 }; /* MAX_PID_NS_LEVEL of the kernel, and the initial one */
enum { RECORD_IO_WORKER = 0x10 }; /* PF_IO_WORKER of the kernel: a thread made by io_uring */

static __always_inline struct upid record_upid(struct pid *pid, unsigned level)
{
	struct upid u = {.nr = 0};

	(void)bpf_probe_read_kernel(&u, sizeof(u),
		(const char *)&pid->numbers + level * sizeof(u)); /* zeroes on failure */
	return u;
}

/* The level at which the helper's pid namespace was found last: it is looked at first. */
__u32 record_level __weak = 0;

static __always_inline bool record_ids_at(
	struct pid *thread, struct pid *process, __u32 level, struct capture_client *c)
{
	struct upid u = record_upid(process, level);

	if (BPF_CORE_READ(u.ns, ns.inum) != record_pidns)
		return false;
	c->tgid = u.nr;
	c->pid = thread == process ? u.nr : record_upid(thread, level).nr;
	return true;
}

/*
 * The ids of a thread and its process as the helper's pid namespace numbers them: those that the
 * people who read them find in their /proc. Who is not in it, nor below, has those of the initial
 * one.
 */
static __always_inline void record_ids(
	struct pid *thread, struct pid *process, struct capture_client *c)
{
	__u32 depth = process->level, level = record_level;

	if (level < RECORD_PIDNS_LEVELS && level <= depth &&
		record_ids_at(thread, process, level, c))
		return;
	for (level = 0; level < RECORD_PIDNS_LEVELS && level <= depth; level++)
		if (record_ids_at(thread, process, level, c)) {
			record_level = level;
			return;
		}
	c->tgid = record_upid(process, 0).nr;
	c->pid = record_upid(thread, 0).nr;
}

/*
 * The caller's facts. For a thread that io_uring has made for a process (a worker, the poller of
 * SQPOLL) they are those of the process's first thread: its own id and name are the kernel's, while
 * its credentials are those of who submitted or set up the ring, its executable and cgroup the
 * process's own. A global function: the verifier looks at it once, not at each call. What typed
 * pointers lead to from the task is read by plain loads: a helper's call takes ten times as long.
 */
__weak __noinline int record_client(struct capture_client *c)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_struct *leader = task->group_leader;
	struct inode *exe =
		task->mm->exe_file->f_inode; /* a kernel thread: NULL, like all behind NULL */

	if (!c)
		return 0;
	record_ids(task->flags & RECORD_IO_WORKER ? leader->thread_pid : task->thread_pid,
		leader->thread_pid, c);
	c->start_ns = leader->start_boottime;
	c->uid = (__u32)bpf_get_current_uid_gid();
	c->exe_dev = exe ? exe->i_sb->s_dev : 0;
	c->exe_ino = exe ? exe->i_ino : 0;
	c->cgroup = bpf_get_current_cgroup_id();
	if (task->flags & RECORD_IO_WORKER)
		BPF_CORE_READ_STR_INTO(&c->comm, leader, comm);
	else
		(void)bpf_get_current_comm(c->comm, sizeof(c->comm)); /* cannot fail: that size */
	if (exe)
		paths_note(exe, c->exe_ino, c->exe_dev, c->cgroup);
	return 0;
}

/* Whose counters and budget a netns has: its own, or account 0 when it is not attached. */
static __always_inline __u64 record_account(__u64 netns)
{
	return bpf_map_lookup_elem(&sandboxes, &netns) ? netns : 0;
}

/*
 * One row of `verdicts`, by number: the struct is counters only, in the order of the reasons. The
 * barrier makes the register that is checked the one that is added: the verifier does not see that
 * a copy is bounded too.
 */
static __always_inline void record_count(__u64 account, __u64 reason)
{
	struct capture_verdicts *v = bpf_map_lookup_elem(&verdicts, &account);

	asm volatile("" : "+r"(reason));
	if (v && reason < RECORD_COUNTERS)
		__sync_fetch_and_add((__u64 *)v + reason, 1);
}

/* Address class → reason. Volatile and weak as above. */
const volatile __u8 record_class_reason[RANGE_COUNT] __weak = {
	[RANGE_PUBLIC] = CAPTURE_PASSED,
	[RANGE_LOOPBACK] = CAPTURE_LOOPBACK,
	[RANGE_PRIVATE] = CAPTURE_PRIVATE,
	[RANGE_LINK_LOCAL] = CAPTURE_LINK_LOCAL,
	[RANGE_METADATA] = CAPTURE_METADATA,
	[RANGE_CGNAT] = CAPTURE_CGNAT,
	[RANGE_MULTICAST] = CAPTURE_MULTICAST,
	[RANGE_RESERVED] = CAPTURE_RESERVED,
	[RANGE_BENCHMARK] = CAPTURE_BENCHMARK,
	[RANGE_HOST] = CAPTURE_HOST_ADDRESS,
};

/* What an address class is refused with; the barrier as in record_count(). */
static __always_inline unsigned record_of_class(__u64 class)
{
	asm volatile("" : "+r"(class));
	return class < RANGE_COUNT ? record_class_reason[class] : CAPTURE_RESERVED;
}

enum { RECORD_QUARTER = CAPTURE_EVENTS_BYTES / 4, RECORD_CROSSED = 1024 /* a few events */ };
static_assert((RECORD_QUARTER & (RECORD_QUARTER - 1)) == 0, "a mask is RECORD_QUARTER - 1");

/* The second in which the reader was woken last. */
__u64 record_woken __weak = 0;

/*
 * Does an event wake the reader? That costs more than the whole refusal, so only the first one in
 * each second does it, whosever it is: the reader goes on looking for longer than that second
 * (userspace/capture/refusals.c). And the few that find the ring just filled by a further quarter,
 * not all behind them: a reader that has been woken and does not run yet is not woken sooner by more.
 */
static __always_inline __u64 record_wake(__u64 second)
{
	__u64 waiting;

	if (record_woken != second) {
		record_woken = second; /* racing processors may both */
		return BPF_RB_FORCE_WAKEUP;
	}
	waiting = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA);
	return waiting >= RECORD_QUARTER && (waiting & (RECORD_QUARTER - 1)) < RECORD_CROSSED
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

/* May this account raise an event now? Racing processors may overspend it by a few. */
static __always_inline bool record_budget(__u64 account, __u64 second)
{
	struct budget *b = account ? bpf_map_lookup_elem(&budgets, &account)
				   : bpf_get_local_storage(&nested, 0);

	if (!b)
		return false;
	if (b->second != second) {
		b->second = second;
		b->used = 0;
	}
	return __sync_fetch_and_add(&b->used, 1) < CAPTURE_EVENTS_PER_SECOND;
}

/* Raises the event; with a path, which is in the kernel's memory, as a struct capture_unix_refusal. */
static __always_inline bool record_event(
	const struct capture_refusal *r, const char *path, __u32 length, __u64 flags)
{
	struct capture_unix_refusal *u;

	if (!path)
		return bpf_ringbuf_output(&events, (void *)r, sizeof(*r), flags) == 0;
	u = bpf_ringbuf_reserve(&events, sizeof(*u), 0);
	if (!u)
		return false;
	__builtin_memset(u->path, 0, sizeof(u->path));
	if (length < sizeof(u->path))
		(void)bpf_probe_read_kernel_str(u->path, length + 1, path); /* stays empty */
	u->refusal = *r;
	bpf_ringbuf_submit(u, flags);
	return true;
}

/*
 * Puts the refusal on record. The caller has filled in what was tried and what became of it; who,
 * when and how often is filled in here. Over its budget a sandbox only refreshes destinations that
 * are remembered already: it can push the others' out of the LRU at no more than its share of
 * events.
 */
static __always_inline void record_refusal(
	struct capture_refusal *r, __u64 account, const char *path, __u32 length)
{
	struct capture_refusal_key key = {.netns = r->netns, .dport = r->dport, .proto = r->proto};
	struct capture_refusal *known;
	__u64 second;

	__builtin_memcpy(key.dst, r->dst, sizeof(key.dst));
	known = bpf_map_lookup_elem(&refusals, &key);
	r->ns = bpf_ktime_get_ns();
	r->count = 1;
	second = r->ns / 1000000000;
	if (!record_budget(account, second)) {
		if (known)
			__sync_fetch_and_add(&known->count, 1);
		record_count(account, RECORD_SUPPRESSED);
		return;
	}
	record_client(&r->client);
	if (!record_event(r, path, length, record_wake(second)))
		record_count(account, RECORD_LOST);
	if (!known) {
		bpf_map_update_elem(&refusals, &key, r, BPF_ANY);
		return;
	}
	/* in place: a new entry would be taken from the LRU and the old one given back */
	__sync_fetch_and_add(&known->count, 1);
	known->ns = r->ns;
	known->reason = r->reason;
	known->error = r->error;
	known->client = r->client;
}

#endif
