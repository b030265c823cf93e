/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view.c – the mounts of a sandbox. Files stay the host's: this confines the network, and here only
 * what leads around it is taken away: state directories, unix sockets of services that would act
 * for the caller outside, other processes, control of the own cgroup.
 *
 * The state directory is covered by a small tmpfs in which the trust directory and resolv.conf are,
 * at the path at which the launcher knows them. Everything is mounted read-only where it is ours.
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

static const char *const view_directories[] = {"/run/user", "/run/libvirt"};

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
		       "mode=0755,size=1m") < 0
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

static int view_write(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	size_t n = strlen(text);

	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0644) < 0)
		return -errno;
	return write(fd, text, n) == (ssize_t)n ? 0 : -EIO;
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
	r = view_write(path, text);
	return r < 0 ? r : view_cover(path, "/etc/resolv.conf");
}

static int view_trust(const struct view_spec *spec, int tree)
{
	char path[2 * PATH_MAX], bundle[2 * PATH_MAX + 16];
	int r;

	(void)snprintf(path, sizeof(path), "%s/" VIEW_TRUST, spec->state);
	(void)snprintf(bundle, sizeof(bundle), "%s/bundle.pem", path);
	if (mkdir(path, 0755) < 0 || chmod(path, 0755) < 0)
		return -errno;
	if (move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -errno;
	r = view_readonly(path, 0);
	for (size_t i = 0; i < ARRAY_SIZE(view_bundles) && r == 0; i++)
		r = view_cover(bundle, view_bundles[i]);
	return r;
}

static int view_own_state(const struct view_spec *spec)
{
	_cleanup_close_ int tree = -1;
	int r;

	if (spec->trust) {
		tree = open_tree(AT_FDCWD, spec->trust, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
		if (tree < 0)
			return -errno;
	}
	r = view_hide(spec->state);
	if (r == 0)
		r = view_resolver(spec);
	if (r == 0 && tree >= 0)
		r = view_trust(spec, tree);
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

int view_set_up(const struct view_spec *spec, struct fault *fault)
{
	int r = view_private();

	if (r < 0)
		return fault_set(fault, r, "cannot make the mounts private: %s", strerror(-r));
	r = view_cgroups();
	if (r < 0)
		return fault_set(
			fault, r, "cannot make the cgroup tree read-only: %s", strerror(-r));
	r = view_hide_states(spec->state);
	if (r == 0)
		r = view_own_state(spec);
	if (r < 0)
		return fault_set(fault, r, "cannot cover %s, resolv.conf and the trust bundle: %s",
			spec->state, strerror(-r));
	r = view_services();
	if (r < 0)
		return fault_set(fault, r, "cannot hide the sockets of services: %s", strerror(-r));
	r = view_processes();
	if (r < 0)
		return fault_set(fault, r, "cannot mount /proc: %s", strerror(-r));
	return 0;
}
