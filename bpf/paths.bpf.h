/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * paths.bpf.h – the names of executables and cgroups, noted when they are first seen: `executables`
 * and `cgroups`. The usual caller pays one lookup for each.
 *
 * A name is built from its end, dentry by dentry to the process's root, across mounts; that is what
 * d_path() does, which these programs may not call. It is read without locks: a rename meanwhile
 * may give a name that never was, until the file's ctime differs and it is read anew. A name that
 * is too long or too deep is left empty.
 *
 * The same inode number may be another file later. While a process runs a file its number is not
 * given out again, so an entry is right for who is alive if it is made anew whenever the file's
 * generation or ctime (`stamp`) differ from those noted. Both, since overlayfs has no generation.
 *
 * A name is not an identity: a process with a mount namespace of its own can give its files any.
 *
 * Built in a hash map by thread id: a name does not fit a stack, and one buffer for each processor
 * would be shared with whoever preempts. Needs (floor 6.1): bpf_loop 5.17.
 */
#ifndef SALLYPORT_BPF_PATHS_BPF_H
#define SALLYPORT_BPF_PATHS_BPF_H

#include "bpf/maps.bpf.h"

enum { PATHS_STEPS = 128, PATHS_END = CAPTURE_PATH - 1, PATHS_NSEC = 0x3fffffff };
static_assert((CAPTURE_PATH & (CAPTURE_PATH - 1)) == 0, "a mask is CAPTURE_PATH - 1");

/* What other kernels call the same: kernfs_node's parent until 6.14; ctime until 6.5 and 6.10. */
struct kernfs_node___6_14 {
	struct kernfs_node *parent;
} __attribute__((preserve_access_index));
struct kernfs_node___6_15 {
	struct kernfs_node *__parent;
} __attribute__((preserve_access_index));
struct inode___6_5 {
	struct timespec64 i_ctime;
} __attribute__((preserve_access_index));
struct inode___6_10 {
	struct timespec64 __i_ctime;
} __attribute__((preserve_access_index));
struct inode___6_11 {
	__s64 i_ctime_sec;
	__u32 i_ctime_nsec;
} __attribute__((preserve_access_index));

struct paths_buffer {
	char built[2 * CAPTURE_PATH]; /* ends at PATHS_END; behind it there are zeroes only */
	struct capture_path path;
	struct capture_exe_key key; /* here, as the stack is short (tests/bpf/test_stack.py) */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct paths_buffer);
} paths_buffers SEC(".maps") __weak;

/* Volatile, as in record.bpf.h. */
const volatile __u8 paths_blank[sizeof(struct paths_buffer)] __weak = {};
const volatile char paths_deleted[] __weak = " (deleted)";

struct paths_walk {
	struct paths_buffer *to;
	__u64 at; /* where the name begins so far */
	const void *node, *mount; /* a dentry and its mount, or a kernfs node */
	const void *root, *root_mount; /* where to stop */
	bool whole;
};

/* Puts "/NAME" before what is there. */
static __always_inline bool paths_prepend(struct paths_walk *w, const void *name, __u64 length)
{
	__u64 at = w->at;

	if (length == 0 || length >= CAPTURE_PATH || at < length + 1)
		return false;
	at = (at - length - 1) & (CAPTURE_PATH - 1); /* the masks are for the verifier */
	length &= CAPTURE_PATH - 1;
	if (bpf_probe_read_kernel(&w->to->built[at + 1], length, name))
		return false;
	w->to->built[at] = '/';
	w->at = at;
	return true;
}

static long paths_step_dentry(__u32 i, struct paths_walk *w)
{
	const struct dentry *dentry = w->node, *parent = BPF_CORE_READ(dentry, d_parent);
	const struct mount *mount = w->mount, *above;

	w->whole = dentry == w->root && mount == w->root_mount;
	if (w->whole)
		return 1;
	if (dentry == BPF_CORE_READ(mount, mnt.mnt_root)) {
		above = BPF_CORE_READ(mount, mnt_parent);
		w->whole = above == mount; /* the top: the process's root is not above the file */
		w->node = BPF_CORE_READ(mount, mnt_mountpoint);
		w->mount = above;
		return w->whole;
	}
	if (!paths_prepend(
		    w, BPF_CORE_READ(dentry, d_name.name), BPF_CORE_READ(dentry, d_name.len)))
		return 1;
	w->whole = parent == dentry; /* in no tree: memfd */
	w->node = parent;
	return w->whole;
}

static __always_inline const void *paths_parent(const struct kernfs_node *node)
{
	const struct kernfs_node___6_14 *old = (const void *)node;
	const struct kernfs_node___6_15 *new = (const void *)node;

	return bpf_core_field_exists(old->parent) ? BPF_CORE_READ(old, parent)
						  : BPF_CORE_READ(new, __parent);
}

static long paths_step_kernfs(__u32 i, struct paths_walk *w)
{
	const struct kernfs_node *node = w->node;
	const void *parent = paths_parent(node);
	long n;

	w->whole = !parent;
	if (w->whole)
		return 1;
	n = bpf_probe_read_kernel_str(
		w->to->path.text, sizeof(w->to->path.text), BPF_CORE_READ(node, name));
	if (n < 2 || n >= CAPTURE_PATH || !paths_prepend(w, w->to->path.text, n - 1))
		return 1;
	w->node = parent;
	return 0;
}

/* What was walked, as a map's value; nothing if it is not whole. */
static __always_inline const struct capture_path *paths_finish(struct paths_walk *w, __u64 stamp)
{
	struct capture_path *path = &w->to->path;

	w->to->built[PATHS_END] = 0;
	if (w->whole && w->at == PATHS_END)
		w->whole = paths_prepend(w, "/", 1); /* the root itself */
	if (!w->whole || bpf_probe_read_kernel(path->text, sizeof(path->text),
				 &w->to->built[w->at & (CAPTURE_PATH - 1)]))
		__builtin_memset(path->text, 0, sizeof(path->text));
	path->stamp = stamp;
	return path;
}

static __always_inline struct paths_buffer *paths_begin(__u64 thread)
{
	if (bpf_map_update_elem(&paths_buffers, &thread, (const void *)paths_blank, BPF_ANY))
		return 0;
	return bpf_map_lookup_elem(&paths_buffers, &thread);
}

static __always_inline __u64 paths_stamp(const struct inode *inode)
{
	const struct inode___6_5 *i5 = (const void *)inode;
	const struct inode___6_10 *i10 = (const void *)inode;
	const struct inode___6_11 *i11 = (const void *)inode;
	__u64 sec, nsec;

	if (bpf_core_field_exists(i11->i_ctime_sec)) {
		sec = i11->i_ctime_sec;
		nsec = i11->i_ctime_nsec;
	} else if (bpf_core_field_exists(i10->__i_ctime)) {
		sec = i10->__i_ctime.tv_sec;
		nsec = i10->__i_ctime.tv_nsec;
	} else {
		sec = i5->i_ctime.tv_sec;
		nsec = i5->i_ctime.tv_nsec;
	}
	/* above the nanoseconds newer kernels keep a flag */
	return (sec << 30 | (nsec & PATHS_NSEC)) + ((__u64)inode->i_generation << 32);
}

/* Of the current process. A global function: the verifier looks at it once. */
__weak __noinline int paths_walk_executable(__u64 ino, __u32 dev, __u64 stamp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct file *file = BPF_CORE_READ(task, mm, exe_file);
	struct fs_struct *fs = BPF_CORE_READ(task, fs);
	__u64 thread = bpf_get_current_pid_tgid(), below = bpf_core_field_offset(struct mount, mnt);
	struct paths_walk w = {.to = paths_begin(thread),
		.at = PATHS_END,
		.node = BPF_CORE_READ(file, f_path.dentry),
		.mount = (const char *)BPF_CORE_READ(file, f_path.mnt) - below,
		.root = BPF_CORE_READ(fs, root.dentry),
		.root_mount = (const char *)BPF_CORE_READ(fs, root.mnt) - below};
	const struct dentry *dentry = w.node;

	if (!w.to)
		return 0;
	w.to->key.ino = ino;
	w.to->key.dev = dev;
	if (!BPF_CORE_READ(dentry, d_hash.pprev)) {
		w.at -= sizeof(paths_deleted) - 1;
		(void)bpf_probe_read_kernel(&w.to->built[PATHS_END + 1 - sizeof(paths_deleted)],
			sizeof(paths_deleted), (const void *)paths_deleted);
	}
	bpf_loop(PATHS_STEPS, paths_step_dentry, &w, 0);
	bpf_map_update_elem(&executables, &w.to->key, paths_finish(&w, stamp), BPF_ANY);
	bpf_map_delete_elem(&paths_buffers, &thread);
	return 0;
}

__weak __noinline int paths_walk_cgroup(__u64 id)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 thread = bpf_get_current_pid_tgid();
	struct paths_walk w = {.to = paths_begin(thread),
		.at = PATHS_END,
		.node = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn)};

	if (!w.to)
		return 0;
	bpf_loop(PATHS_STEPS, paths_step_kernfs, &w, 0);
	bpf_map_update_elem(&cgroups, &id, paths_finish(&w, 0), BPF_ANY);
	bpf_map_delete_elem(&paths_buffers, &thread);
	return 0;
}

/* exe: of the current process's executable. */
static __always_inline void paths_note(const struct inode *exe, __u64 ino, __u32 dev, __u64 cgroup)
{
	struct capture_exe_key key = {.ino = ino, .dev = dev};
	const struct capture_path *known = bpf_map_lookup_elem(&executables, &key);
	__u64 stamp = paths_stamp(exe);

	if (!known || known->stamp != stamp)
		paths_walk_executable(ino, dev, stamp);
	if (!bpf_map_lookup_elem(&cgroups, &cgroup))
		paths_walk_cgroup(cgroup);
}

#endif
