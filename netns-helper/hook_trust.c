/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hook_trust.c – see hook_trust.h. By a child, since the way into a mount namespace is one without return.
 *
 * At createRuntime the container's mounts are in place below its root and nothing has been changed into it yet. The
 * root's content is hostile: every path in it is resolved with the root as its root and without links of /proc
 * (openat2(2), RESOLVE_IN_ROOT), and mounted on by descriptor, so that neither a symbolic link nor a race leads to the
 * machine's own files. What is read of it, its bundle, goes back to the container alone, and is nothing but a stored
 * file. A place whose mount is shared with the machine is refused: what is mounted there would show there.
 *
 * #syscalls: fork waitid setns fsopen fsconfig fsmount move_mount open_tree mount_setattr openat2 statx fstatfs mkdirat
 * openat read write
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netns-helper/handout.h"
#include "netns-helper/hook_trust.h"
#include "netns-helper/keystore.h"

#include "base/cleanup.h"

enum { HOOK_TRUST_BYTES = 8 << 20 }; /* of the container's own bundle */

/* Those that exist are covered; the first is what the bundle is made of. Relative to the root. */
static const char *const hook_trust_bundles[] = {
	"etc/ssl/certs/ca-certificates.crt", /* Debian, Alpine, Arch */
	"etc/pki/tls/certs/ca-bundle.crt", /* Fedora, RHEL */
	"etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* ... what that leads to */
	"etc/ssl/ca-bundle.pem", /* openSUSE */
	"etc/ssl/cert.pem", /* Alpine, and whoever links it */
};

static const char *const hook_trust_keystores[] = {
	"etc/ssl/certs/java/cacerts", /* Debian, Alpine */
	"etc/pki/ca-trust/extracted/java/cacerts", /* Fedora, RHEL */
	"var/lib/ca-certificates/java-cacerts", /* openSUSE */
};

struct hook_trust_inside {
	const struct hook_trust_spec *spec;
	struct fault *fault;
	int process; /* /proc/self, of before */
	int root;
	int own; /* our directory's mount */
	char *bundle; /* owned; room for HOOK_TRUST_BYTES and the CA */
	size_t nbundle;
};

/* ---- paths in the container's root */

static int hook_trust_open(int root, const char *path, unsigned int flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.mode = flags & O_CREAT ? 0644 : 0,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* The directory at the path, made if need be with those above it. A descriptor, or -errno. */
static int hook_trust_directory(int root, const char *path)
{
	_cleanup_close_ int at = hook_trust_open(root, ".", O_PATH | O_DIRECTORY);
	char part[PATH_MAX];

	for (size_t n = 0; at >= 0 && path[n];) {
		int next;
		size_t to = n + strcspn(path + n, "/");

		(void)snprintf(part, sizeof(part), "%.*s", (int)to, path); /* ours are short */
		next = hook_trust_open(root, part, O_PATH | O_DIRECTORY);
		if (next == -ENOENT) {
			(void)snprintf(part, sizeof(part), "%.*s", (int)(to - n), path + n);
			if (mkdirat(at, part, 0755) < 0)
				return -errno;
			(void)snprintf(part, sizeof(part), "%.*s", (int)to, path);
			next = hook_trust_open(root, part, O_PATH | O_DIRECTORY);
		}
		if (next < 0)
			return next;
		cleanup_close(&at);
		at = next;
		n = to + (path[to] == '/');
	}
	return TAKE_FD(at);
}

/* Whether a mount on that place would show on the machine. */
static bool hook_trust_shared(const struct hook_trust_inside *in, int place)
{
	_cleanup_close_ int fd = openat(in->process, "mountinfo", O_RDONLY | O_CLOEXEC);
	char line[2 * PATH_MAX + 512], id[32];
	bool shared = true; /* unless its line says otherwise */
	struct statx st;
	FILE *f;

	if (fd < 0 || statx(place, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0 ||
		!(st.stx_mask & STATX_MNT_ID))
		return true;
	f = fdopen(fd, "r");
	if (!f)
		return true;
	fd = -1;
	(void)snprintf(id, sizeof(id), "%llu ", (unsigned long long)st.stx_mnt_id);
	while (fgets(line, sizeof(line), f)) {
		char *optional = strstr(line, " - ");

		if (strncmp(line, id, strlen(id)) != 0 || !optional)
			continue;
		*optional = '\0';
		shared = strstr(line, " shared:") != NULL;
		break;
	}
	(void)fclose(f); /* only read */
	return shared;
}

static int hook_trust_mount(
	const struct hook_trust_inside *in, int tree, int place, const char *path)
{
	if (hook_trust_shared(in, place))
		return fault_set(in->fault, -EINVAL,
			"/%s of the container lies in a mount that is shared with the machine: "
			"give it "
			"private or slave propagation",
			path);
	if (move_mount(tree, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return fault_set(in->fault, -errno, "cannot mount on /%s of the container: %s",
			path, strerror(errno));
	return 0;
}

/* Our file over that of the container; what is not there needs no cover. */
static int hook_trust_cover(const struct hook_trust_inside *in, const char *name, const char *path)
{
	_cleanup_close_ int place = hook_trust_open(in->root, path, O_PATH);
	_cleanup_close_ int tree = -1;
	struct stat st;

	if (place < 0 || fstat(place, &st) < 0 || S_ISDIR(st.st_mode))
		return 0;
	tree = open_tree(in->own, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0)
		return fault_set(in->fault, -errno, "cannot take %s: %s", name, strerror(errno));
	return hook_trust_mount(in, tree, place, path);
}

/* ---- what is in our directory */

static int hook_trust_write(
	const struct hook_trust_inside *in, const char *name, const void *bytes, size_t n)
{
	_cleanup_close_ int fd =
		openat(in->own, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	const char *p = bytes;

	if (fd < 0 || fchmod(fd, 0644) < 0)
		return fault_set(in->fault, -errno, "cannot make %s: %s", name, strerror(errno));
	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0)
			return fault_set(
				in->fault, -errno, "cannot write %s: %s", name, strerror(errno));
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

/*
 * Whether it is a file that somebody stored, for everybody to read. We read with root's capabilities, and before the
 * runtime has masked anything: a link to what the kernel makes up (of /proc and /sys, which have no blocks), or to a
 * file that the container's user may not read, would hand that to the container.
 */
static bool hook_trust_public(int place)
{
	struct statfs fs;
	struct stat st;

	return fstat(place, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IROTH) &&
	       st.st_size <= HOOK_TRUST_BYTES && fstatfs(place, &fs) == 0 && fs.f_blocks > 0;
}

/* The container's own bundle, if it has a plain file for one that is not too long. The text's length. */
static size_t hook_trust_read(int root, const char *path, char *ret)
{
	_cleanup_close_ int place = hook_trust_open(root, path, O_PATH);
	_cleanup_close_ int fd = -1;
	char link[64];
	size_t n = 0;

	if (place < 0 || !hook_trust_public(place))
		return 0;
	(void)snprintf(
		link, sizeof(link), "/proc/self/fd/%d", place); /* of one that was looked at */
	fd = open(link, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && n < HOOK_TRUST_BYTES) {
		ssize_t got = read(fd, ret + n, HOOK_TRUST_BYTES - n);

		if (got < 0)
			return 0;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	return n;
}

static int hook_trust_bundle(struct hook_trust_inside *in)
{
	const struct handout *handout = in->spec->handout;

	in->bundle = malloc(HOOK_TRUST_BYTES + 1 + HANDOUT_BYTES);
	if (!in->bundle)
		return fault_set(in->fault, -ENOMEM, "out of memory");
	for (size_t i = 0; i < ARRAY_SIZE(hook_trust_bundles) && in->nbundle == 0; i++)
		in->nbundle = hook_trust_read(in->root, hook_trust_bundles[i], in->bundle);
	in->bundle[in->nbundle++] = '\n'; /* its last line may lack the end */
	memcpy(in->bundle + in->nbundle, handout->ca, handout->ca_n);
	in->nbundle += handout->ca_n;
	return hook_trust_write(in, HOOK_TRUST_BUNDLE, in->bundle, in->nbundle);
}

static int hook_trust_keystore(const struct hook_trust_inside *in)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t n = 0;
	int r = keystore_make(slice_of(in->bundle, in->nbundle), &bytes, &n);

	if (r < 0)
		return fault_set(
			in->fault, r, "cannot make the certificates for Java: %s", strerror(-r));
	return hook_trust_write(in, HOOK_TRUST_KEYSTORE, bytes, n);
}

static int hook_trust_environment(const struct hook_trust_inside *in)
{
	const struct handout *handout = in->spec->handout;
	char text[HANDOUT_BYTES + 1];
	size_t n = 0;

	for (size_t i = 0; i < handout->nvariables; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s=%s\n",
			handout->variables[i].name,
			handout->variables[i].value); /* they were cut out of as much */
	return hook_trust_write(in, HOOK_TRUST_ENVIRONMENT, text, n);
}

static int hook_trust_resolver(const struct hook_trust_inside *in)
{
	char text[64 + PROTO_SEARCH * (PROTO_NAME + 1)];
	size_t n = (size_t)snprintf(text, sizeof(text), "nameserver " PROTO_OWN4 "\n");

	for (size_t i = 0; i < PROTO_SEARCH && in->spec->search[i][0]; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s%s", i ? " " : "search ",
			in->spec->search[i],
			i + 1 == PROTO_SEARCH || !in->spec->search[i + 1][0] ? "\n" : "");
	return hook_trust_write(in, "resolv.conf", text, n);
}

/* An empty file for the mount, where the image has none. Without one, libraries ask 127.0.0.1, where the sandbox's name
 * server answers too: only the search domains need it. */
static int hook_trust_resolver_place(const struct hook_trust_inside *in)
{
	static const char path[] = "etc/resolv.conf";
	_cleanup_close_ int place = hook_trust_open(in->root, path, O_PATH);

	if (place == -ENOENT)
		place = hook_trust_open(in->root, path, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY);
	if (place < 0 && in->spec->search[0][0])
		return fault_set(in->fault, place,
			"/%s of the container cannot be made, which its search domains need: %s",
			path, strerror(-place));
	return 0;
}

/* ---- in the namespace */

/* A small file system that nobody has mounted. A descriptor, or -errno. */
static int hook_trust_tmpfs(void)
{
	_cleanup_close_ int context = fsopen("tmpfs", FSOPEN_CLOEXEC);
	int fd;

	if (context < 0 || fsconfig(context, FSCONFIG_SET_STRING, "source", "sallyport", 0) < 0 ||
		fsconfig(context, FSCONFIG_SET_STRING, "mode", "0755", 0) < 0 ||
		fsconfig(context, FSCONFIG_SET_STRING, "size", "32m", 0) < 0 ||
		fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = fsmount(
		context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	return fd < 0 ? -errno : fd;
}

static int hook_trust_files(struct hook_trust_inside *in)
{
	const struct handout *handout = in->spec->handout;
	int r = hook_trust_write(in, HOOK_TRUST_CA, handout->ca, handout->ca_n);

	r = r ? r : hook_trust_bundle(in);
	r = r ? r : hook_trust_keystore(in);
	r = r ? r : hook_trust_environment(in);
	return r ? r : hook_trust_resolver(in);
}

static int hook_trust_place(struct hook_trust_inside *in)
{
	static const char path[] = HOOK_TRUST_DIRECTORY;
	struct mount_attr readonly = {.attr_set = MOUNT_ATTR_RDONLY};
	_cleanup_close_ int place = hook_trust_directory(in->root, path + 1);

	if (place < 0)
		return fault_set(in->fault, place, "%s of the container cannot be made: %s", path,
			strerror(-place));
	if (mount_setattr(in->own, "", AT_EMPTY_PATH, &readonly, sizeof(readonly)) < 0)
		return fault_set(
			in->fault, -errno, "cannot make %s read-only: %s", path, strerror(errno));
	return hook_trust_mount(in, in->own, place, path + 1);
}

static int hook_trust_covers(const struct hook_trust_inside *in)
{
	int r = hook_trust_resolver_place(in);

	r = r ? r : hook_trust_cover(in, "resolv.conf", "etc/resolv.conf");
	for (size_t i = 0; i < ARRAY_SIZE(hook_trust_bundles) && r == 0; i++)
		r = hook_trust_cover(in, HOOK_TRUST_BUNDLE, hook_trust_bundles[i]);
	for (size_t i = 0; i < ARRAY_SIZE(hook_trust_keystores) && r == 0; i++)
		r = hook_trust_cover(in, HOOK_TRUST_KEYSTORE, hook_trust_keystores[i]);
	return r;
}

static int hook_trust_steps(struct hook_trust_inside *in)
{
	const struct hook_trust_spec *spec = in->spec;
	int r;

	in->process = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	in->own = hook_trust_tmpfs();
	if (in->process < 0 || in->own < 0)
		return fault_set(in->fault, in->own < 0 ? in->own : -errno,
			"cannot make a file system for the container: %s",
			strerror(in->own < 0 ? -in->own : errno));
	if (setns(spec->mounts, CLONE_NEWNS) < 0)
		return fault_set(in->fault, -errno, "cannot enter the container's mounts: %s",
			strerror(errno));
	in->root = open(spec->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (in->root < 0)
		return fault_set(in->fault, -errno, "the container's root %.200s: %s", spec->root,
			strerror(errno));
	r = hook_trust_files(in);
	r = r ? r : hook_trust_place(in);
	return r ? r : hook_trust_covers(in);
}

/* The child. Its outcome and, if it is bad, the reason. */
static void hook_trust_child(const struct hook_trust_spec *spec, int out) __attribute__((noreturn));
static void hook_trust_child(const struct hook_trust_spec *spec, int out)
{
	struct fault fault = {""};
	struct hook_trust_inside in = {
		.spec = spec, .fault = &fault, .process = -1, .root = -1, .own = -1};
	int r = hook_trust_steps(&in);

	if (r < 0 && write(out, fault.text, sizeof(fault.text)) < 0)
		_exit(2); /* the parent says that much */
	_exit(r < 0 ? 1 : 0);
}

int hook_trust(const struct hook_trust_spec *spec, struct fault *fault)
{
	struct fault inside = {""};
	siginfo_t info = {.si_pid = 0};
	int ends[2];
	pid_t child;
	ssize_t n;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fault_set(fault, -errno, "cannot make a pipe: %s", strerror(errno));
	child = fork();
	if (child == 0)
		hook_trust_child(spec, ends[1]);
	(void)close(ends[1]); /* the child's */
	n = child < 0 ? 0 : read(ends[0], &inside, sizeof(inside));
	(void)close(ends[0]); /* was read */
	if (child < 0 || waitid(P_PID, (id_t)child, &info, WEXITED) < 0)
		return fault_set(fault, -ECHILD, "cannot start a process: %s", strerror(errno));
	if (info.si_code == CLD_EXITED && info.si_status == 0)
		return 0;
	inside.text[sizeof(inside.text) - 1] = '\0';
	return fault_set(fault, -EIO, "%s",
		n == (ssize_t)sizeof(inside) ? inside.text
					     : "what enters the container's mounts was killed");
}
