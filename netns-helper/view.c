/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view.c – the mounts of a sandbox. Files stay the host's: this confines the network, and here only
 * what leads around it is taken away: state directories, unix sockets of services that would act
 * for the caller outside (with the directories in which anybody may make some, scratch.c), other
 * processes, control of the own cgroup.
 *
 * The state directory is covered by a small tmpfs in which resolv.conf, the sandbox's CA, the bundle
 * with it and the caller's trust directory are: all of it ends with the mount namespace. Everything
 * is mounted read-only where it is ours.
 *
 * #syscalls: mount mount_setattr open_tree move_mount mkdirat openat write chroot fchdir
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netns-helper/cgroup.h"
#include "netns-helper/scratch.h"
#include "netns-helper/view.h"

#include "base/cleanup.h"

static const char *const view_states[] = {"/run/sallyport*", "/var/run/sallyport*"};

/* System bundles of the distributions; those that exist are covered. */
static const char *const view_bundles[] = {
	"/etc/ssl/certs/ca-certificates.crt", /* Debian, Alpine, Arch */
	"/etc/pki/tls/certs/ca-bundle.crt", /* Fedora, RHEL */
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* … what that leads to */
	"/etc/ssl/ca-bundle.pem", /* openSUSE */
	"/etc/ssl/cert.pem", /* Alpine, and whoever links it */
};

/* Services that would resolve names, start processes or open connections outside for whoever may
 * connect. */
static const char *const view_sockets[] = {
	"/run/nscd/socket",
	"/run/systemd/resolve/io.systemd.Resolve",
	"/run/systemd/private",
	"/run/dbus/system_bus_socket",
	"/run/docker.sock",
	"/run/containerd/containerd.sock",
	"/run/crio/crio.sock",
	"/run/podman/podman.sock",
};

static const char *const view_directories[] = {"/run/libvirt"};

/* Kernel settings, which a root without capabilities still owns. */
static const char *const view_kernel[] = {
	"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"};

static int view_readonly(const char *path, unsigned int flags)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};

	return mount_setattr(AT_FDCWD, path, flags, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

/* Covers a file or directory with another, read-only. What is not there needs no cover. */
static int view_cover(const char *with, const char *target)
{
	if (access(target, F_OK) < 0)
		return 0;
	if (mount(with, target, NULL, MS_BIND, NULL) < 0)
		return -errno;
	return view_readonly(target, 0);
}

static int view_hide(const char *directory)
{
	if (access(directory, F_OK) < 0)
		return 0;
	return mount("sallyport", directory, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		       "mode=0755,size=4m") < 0
		       ? -errno
		       : 0;
}

/*
 * Nothing that is mounted from here on shows outside. In a chroot "/" is no mount point: what it
 * lies in may be shared, and is found on the way up, which leads out of the root and back into it.
 */
static int view_private(void)
{
	_cleanup_close_ int root = -1;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || chroot("/proc") < 0 || fchdir(root) < 0)
		return -errno;
	while (mount(NULL, ".", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		if (errno != EINVAL || chdir("..") < 0) /* the topmost is always a mount point */
			return -errno;
	return fchdir(root) < 0 || chroot(".") < 0 ? -errno : 0;
}

/* Whether `inner` is the directory or lies in it. */
static bool view_holds(const char *directory, const char *inner)
{
	size_t n = strlen(directory);

	return strncmp(directory, inner, n) == 0 && (inner[n] == '\0' || inner[n] == '/');
}

/* Other instances' directories too: a root inside would be uid 0 to their sockets. */
static int view_hide_states(const char *own)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(view_states) && r == 0; i++) {
		glob_t found;

		if (glob(view_states[i], GLOB_ONLYDIR, NULL, &found) != 0)
			continue;
		for (size_t j = 0; j < found.gl_pathc && r == 0; j++) {
			char real[PATH_MAX];

			if (realpath(found.gl_pathv[j], real) && !view_holds(real, own))
				r = view_hide(real);
		}
		globfree(&found);
	}
	return r;
}

/* A new file of ours, for everybody to read. A descriptor, or -errno. */
static int view_create(const char *path)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0 || fchmod(fd, 0644) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static int view_write(int fd, struct slice text)
{
	ssize_t n = write(fd, text.p, text.n);

	return n < 0 ? -errno : (size_t)n == text.n ? 0 : -EIO;
}

static int view_file(const char *path, struct slice text)
{
	_cleanup_close_ int fd = view_create(path);

	return fd < 0 ? fd : view_write(fd, text);
}

static int view_resolver(const struct view_spec *spec)
{
	char text[64 + PROTO_SEARCH * PROTO_NAME + PROTO_SEARCH], path[2 * PATH_MAX];
	size_t n = (size_t)snprintf(text, sizeof(text), "nameserver " PROTO_OWN4 "\n");
	int r;

	for (size_t i = 0; i < PROTO_SEARCH && spec->search[i][0]; i++)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n, "%s%s", i ? " " : "search ", spec->search[i]);
	if (spec->search[0][0])
		(void)snprintf(text + n, sizeof(text) - n, "\n");
	(void)snprintf(path, sizeof(path), "%s/resolv.conf", spec->state);
	r = view_file(path, slice_str(text));
	return r < 0 ? r : view_cover(path, "/etc/resolv.conf");
}

/* Appends the first bundle that the machine has; one without any has a bundle of the CA alone. */
static int view_system_bundle(int to)
{
	_cleanup_close_ int from = -1;
	char bytes[16384];
	ssize_t n;

	for (size_t i = 0; i < ARRAY_SIZE(view_bundles) && from < 0; i++)
		from = open(view_bundles[i], O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return 0;
	while ((n = read(from, bytes, sizeof(bytes))) > 0) {
		int r = view_write(to, slice_of(bytes, (size_t)n));

		if (r < 0)
			return r;
	}
	return n < 0 ? -errno : view_write(to, SLICE("\n")); /* its last line may lack the end */
}

/* The CA alone, and the machine's bundle with it. */
static int view_authorities(const struct view_spec *spec)
{
	_cleanup_close_ int bundle = -1;
	char path[2 * PATH_MAX];
	int r;

	(void)snprintf(path, sizeof(path), "%s/" VIEW_CA, spec->state);
	r = view_file(path, spec->ca);
	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "%s/" VIEW_BUNDLE, spec->state);
	bundle = view_create(path);
	if (bundle < 0)
		return bundle;
	r = view_system_bundle(bundle);
	return r < 0 ? r : view_write(bundle, spec->ca);
}

static int view_trust(const struct view_spec *spec, int tree)
{
	char path[2 * PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/" VIEW_TRUST, spec->state);
	if (mkdir(path, 0755) < 0 || chmod(path, 0755) < 0)
		return -errno;
	if (move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -errno;
	return view_readonly(path, 0);
}

bool view_find(const char *state, const char *name, char ret[VIEW_PATH])
{
	static const char *const places[] = {"/" VIEW_TRUST, ""};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		(void)snprintf(ret, VIEW_PATH, "%s%s/%s", state, places[i], name);
		if (access(ret, F_OK) == 0)
			return true;
	}
	return false;
}

static int view_cover_bundles(const struct view_spec *spec)
{
	char path[VIEW_PATH];
	int r = 0;

	if (!view_find(spec->state, VIEW_BUNDLE, path))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(view_bundles) && r == 0; i++)
		r = view_cover(path, view_bundles[i]);
	return r;
}

/* trust: the trust directory, a mount that is nowhere yet; -1 = none. */
static int view_own_state(const struct view_spec *spec, const struct scratch *scratch, int trust)
{
	int r = scratch_directory(scratch, spec->state);

	if (r == 0)
		r = view_hide(spec->state);
	if (r == 0)
		r = view_resolver(spec);
	if (r == 0 && spec->ca.n)
		r = view_authorities(spec);
	if (r == 0 && trust >= 0)
		r = view_trust(spec, trust);
	if (r == 0)
		r = view_cover_bundles(spec);
	return r < 0 ? r : view_readonly(spec->state, 0);
}

static int view_services(void)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(view_sockets) && r == 0; i++)
		r = view_cover("/dev/null", view_sockets[i]);
	for (size_t i = 0; i < ARRAY_SIZE(view_directories) && r == 0; i++)
		r = view_hide(view_directories[i]);
	return r;
}

static int view_processes(void)
{
	int r = 0;

	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(view_kernel) && r == 0; i++)
		r = view_cover(view_kernel[i], view_kernel[i]);
	return r;
}

/* mount_setattr() of what is no mount point is EINVAL: there is nothing to protect then. */
static int view_cgroups(void)
{
	char path[PATH_MAX];
	int r = view_readonly("/sys", AT_RECURSIVE);

	if (r < 0 && r != -EINVAL && r != -ENOENT)
		return r;
	if (cgroup_mount(path) < 0)
		return 0;
	return view_readonly(path, 0);
}

/* What others made comes first, and what of that is shared; what is covered whatever is shared, behind it. */
static int view_mounts(
	const struct view_spec *spec, struct scratch *scratch, int trust, struct fault *fault)
{
	int r = view_cgroups();

	if (r < 0)
		return fault_set(
			fault, r, "cannot make the cgroup tree read-only: %s", strerror(-r));
	r = scratch_mount(scratch, fault);
	if (r < 0)
		return r;
	r = view_hide_states(spec->state);
	if (r == 0)
		r = view_own_state(spec, scratch, trust);
	if (r < 0)
		return fault_set(fault, r, "cannot cover %s, resolv.conf and the trust bundle: %s",
			spec->state, strerror(-r));
	for (size_t i = 0; i < spec->nhide; i++) {
		r = view_cover("/dev/null", spec->hide[i]);
		if (r < 0)
			return fault_set(fault, r, "--hide: %s: %s", spec->hide[i], strerror(-r));
	}
	r = view_services();
	if (r < 0)
		return fault_set(fault, r, "cannot hide the sockets of services: %s", strerror(-r));
	r = view_processes();
	if (r < 0)
		return fault_set(fault, r, "cannot mount /proc: %s", strerror(-r));
	return 0;
}

int view_set_up(const struct view_spec *spec, struct fault *fault)
{
	_cleanup_close_ int trust = -1;
	struct scratch scratch;
	int r = view_private();

	if (r < 0)
		return fault_set(fault, r, "cannot make the mounts private: %s", strerror(-r));
	if (spec->trust) {
		trust = open_tree(AT_FDCWD, spec->trust, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
		if (trust < 0)
			return fault_set(
				fault, -errno, "--trust: %s: %s", spec->trust, strerror(errno));
	}
	r = scratch_open(&scratch, spec->share, spec->nshare, spec->directory, fault);
	if (r < 0)
		return r;
	r = view_mounts(spec, &scratch, trust, fault);
	scratch_close(&scratch);
	return r;
}
