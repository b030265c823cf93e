// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * unix.bpf.c – which unix sockets a program in a sandbox may speak to: connect() and sendmsg() of
 * AF_UNIX on the sandbox's cgroup.
 *
 * A socket in the file system belongs to whoever made it, in whatever namespace: docker.sock, an
 * agent, a relay that passes descriptors. So a path must begin with a prefix of `unix_paths`, that
 * of the sandbox or, where it has none and in namespaces that are not attached, the default of
 * netns 0. Abstract and unnamed sockets are free: they end with the netns.
 *
 * Judged by its text: no prefix matches a path that is relative, and one with an empty, `.` or `..`
 * part is refused whatever it begins with. The kernel ends the text at the first NUL, and so does a
 * prefix that holds one (a path that is allowed alone).
 *
 * glibc asks nscd before it looks up a user or a host. That is refused like the rest (the host's
 * nscd would answer names past our DNS) and counted, but as suppressed: on record it would drown
 * what is of interest.
 *
 * It does not close: a symbolic link or a bind mount made below an allowed prefix, a root changed
 * by chroot(), a socket of the outside that lies below an allowed prefix, a descriptor that was
 * handed in or inherited. The text does not show them. They are closed by a mount namespace that
 * holds no socket of the outside, and by the capabilities that mounting and chroot() want.
 *
 * Needs bpf_strncmp 5.17, Linux 6.7 (the hooks; 49 and 50 are their attach types, set by programs.c at load, as
 * libbpf 1.1 has no name for them), bpf_cast_to_kern_ctx 6.2. Where these are missing the programs
 * are left out and the helper says so.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/record.bpf.h"

enum { UNIX_PATH_AT = 2 }; /* of sun_path in struct sockaddr_un */

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Volatile, as in record.bpf.h. */
const volatile char unix_nscd[] = "/var/run/nscd/socket";

extern void *bpf_cast_to_kern_ctx(void *ctx) __weak __ksym;

/* Of older kernels it is another struct, without the length. */
struct bpf_sock_addr_kern___6_7 {
	void *uaddr;
	__u32 uaddrlen;
} __attribute__((preserve_access_index));

/* One address, in the kernel's copy. */
struct unix_name {
	const char *path;
	__u32 length; /* of the path, NULs and all */
};

static __always_inline struct unix_name unix_name_of(struct bpf_sock_addr *ctx)
{
	const struct bpf_sock_addr_kern___6_7 *kern = bpf_cast_to_kern_ctx(ctx);
	__u32 length = BPF_CORE_READ(kern, uaddrlen);
	struct unix_name name = {.path = (const char *)BPF_CORE_READ(kern, uaddr) + UNIX_PATH_AT};

	if (length > UNIX_PATH_AT)
		name.length = length - UNIX_PATH_AT;
	if (name.length > CAPTURE_UNIX_PATH)
		name.length = CAPTURE_UNIX_PATH;
	return name;
}

/*
 * Whether no part of a path is empty, `.` or `..`. The end counts as a slash. The barrier keeps
 * clang from making two paths of each byte, which the verifier would have to walk.
 */
static __always_inline bool unix_plain(const char path[CAPTURE_UNIX_PATH])
{
	__u32 seen = 0; /* the last four bytes */

	for (__u32 i = 0; i <= CAPTURE_UNIX_PATH; i++) {
		__u32 c = i < CAPTURE_UNIX_PATH ? (__u8)path[i] : 0;
		__u32 byte = c ? c : '/';

		asm volatile("" : "+r"(byte));
		seen = seen << 8 | byte;
		if ((seen & 0xffff) == 0x2f2f || (seen & 0xffffff) == 0x2f2e2f || /* // and /./ */
			seen == 0x2f2e2e2f) /* and /../ */
			return false;
		if (!c)
			break;
	}
	return true;
}

/*
 * Whether the path, at that address in the kernel, is under a prefix of that netns. A global
 * function: the verifier looks at its loop once, and its key is not on the stack when a refusal is
 * recorded.
 */
__weak __noinline int unix_allowed(__u64 path, __u64 length, __u64 netns)
{
	struct capture_unix_key key = {.prefixlen = 64 + 8 * CAPTURE_UNIX_PATH};

	__builtin_memcpy(key.netns, &netns, sizeof(netns));
	if (length > CAPTURE_UNIX_PATH ||
		bpf_probe_read_kernel(key.path, length, (const void *)path))
		return 0;
	return unix_plain(key.path) && bpf_map_lookup_elem(&unix_paths, &key);
}

/* The end of the path: what tells the most of it. */
static __always_inline void unix_tail(const struct unix_name *name, __u8 ret[16])
{
	char text[CAPTURE_UNIX_PATH + 1];
	long n;

	if (name->length >= sizeof(text))
		return;
	n = bpf_probe_read_kernel_str(text, name->length + 1, name->path) - 1;
	if (n >= 16)
		(void)bpf_probe_read_kernel(ret, 16, name->path + (n - 16));
	else if (n > 0)
		(void)bpf_probe_read_kernel(ret, n, name->path);
}

static __always_inline bool unix_quiet(const struct unix_name *name)
{
	char text[sizeof(unix_nscd)] = "";

	return name->length >= sizeof(text) &&
	       bpf_probe_read_kernel(text, sizeof(text), name->path) == 0 &&
	       bpf_strncmp(text, sizeof(text), (const char *)unix_nscd) == 0;
}

static __always_inline int unix_decide(struct bpf_sock_addr *ctx)
{
	struct unix_name name = unix_name_of(ctx);
	struct capture_refusal r = {.reason = CAPTURE_UNIX, .error = EACCES};
	__u64 netns = bpf_get_netns_cookie(ctx), account;
	const struct capture_sandbox *s;
	char first = 0;

	(void)bpf_probe_read_kernel(&first, sizeof(first), name.path);
	if (name.length == 0 || first == 0)
		return RECORD_PASS;
	s = bpf_map_lookup_elem(&sandboxes, &netns);
	if (unix_allowed((__u64)name.path, name.length, s && s->unix_paths ? netns : 0))
		return RECORD_PASS;
	account = s ? netns : 0;
	record_count(account, CAPTURE_UNIX);
	bpf_set_retval(-EACCES);
	if (unix_quiet(&name)) {
		record_count(account, RECORD_SUPPRESSED);
		return RECORD_REFUSE;
	}
	r.netns = netns;
	unix_tail(&name, r.dst);
	record_refusal(&r, account, name.path, name.length);
	return RECORD_REFUSE;
}

SEC("cgroup/connect4")
int unix_connect(struct bpf_sock_addr *ctx)
{
	return unix_decide(ctx);
}

SEC("cgroup/connect4")
int unix_sendmsg(struct bpf_sock_addr *ctx)
{
	return unix_decide(ctx);
}
