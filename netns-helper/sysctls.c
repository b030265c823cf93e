/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sysctls.c – see sysctls.h. #syscalls: openat getdents64 read write close */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "netns-helper/sysctls.h"

#include "base/cleanup.h"

static const char sysctls_conf[] = "/proc/sys/net/ipv4/conf";

static const struct {
	const char *name;
	int value;
} sysctls_names[] = {
	{"accept_local", 1},
	{"rp_filter", 0},
	{"arp_ignore", 1},
};

static_assert(ARRAY_SIZE(sysctls_names) == SYSCTLS_NAMES, "a saved value for each");

/* One group in each report, so that the table can judge it (nft_uplink.c); holds for every interface. */
static const char sysctls_mld[] = "/proc/sys/net/ipv6/conf/all/force_mld_version";

enum { SYSCTLS_PATH = sizeof(sysctls_conf) + IFNAMSIZ + 32 };

static void sysctls_path(const char *folder, size_t name, char ret[SYSCTLS_PATH])
{
	(void)snprintf(ret, SYSCTLS_PATH, "%s/%.*s/%s", sysctls_conf, IFNAMSIZ, folder,
		sysctls_names[name].name);
}

static int sysctls_get(const char *path, int *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[16] = "";
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	*ret = atoi(text);
	return 0;
}

static int sysctls_put(const char *path, int value)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
	char text[16];
	int n = snprintf(text, sizeof(text), "%d", value);

	if (fd < 0)
		return -errno;
	return write(fd, text, (size_t)n) < 0 ? -errno : 0;
}

static int sysctls_read(const char *folder, size_t name, int *ret)
{
	char path[SYSCTLS_PATH];

	sysctls_path(folder, name, path);
	return sysctls_get(path, ret);
}

static int sysctls_write(const char *folder, size_t name, int value)
{
	char path[SYSCTLS_PATH];

	sysctls_path(folder, name, path);
	return sysctls_put(path, value);
}

/* A namespace without IPv6 has none. */
static int sysctls_groups(struct sysctls *s)
{
	int r = sysctls_get(sysctls_mld, &s->mld);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	s->mld_set = true;
	return sysctls_put(sysctls_mld, 1);
}

/* Reads all first: what is noted is complete whenever anything has been written. */
static int sysctls_folder(void *arg, const char *folder)
{
	struct sysctls *s = arg;
	struct sysctls_saved *saved = &s->saved[s->n];
	int r = 0;

	if (s->n == SYSCTLS_INTERFACES)
		return -E2BIG;
	(void)snprintf(saved->folder, sizeof(saved->folder), "%.*s", IFNAMSIZ - 1, folder);
	for (size_t i = 0; i < SYSCTLS_NAMES && r == 0; i++)
		r = sysctls_read(folder, i, &saved->values[i]);
	if (r < 0)
		return r;
	s->n++;
	for (size_t i = 0; i < SYSCTLS_NAMES && r == 0; i++)
		r = sysctls_write(folder, i, sysctls_names[i].value);
	return r;
}

/* Each folder but that of lo, until one is not 0. */
static int sysctls_each(int (*visit)(void *arg, const char *folder), void *arg)
{
	const struct dirent *entry;
	DIR *dir = opendir(sysctls_conf);
	int r = 0;

	if (!dir)
		return -errno;
	while (r == 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || strcmp(entry->d_name, "lo") == 0)
			continue;
		r = visit(arg, entry->d_name);
		if (r == -ENOENT)
			r = 0; /* an interface that went meanwhile */
	}
	(void)closedir(dir); /* only read */
	return r;
}

int sysctls_set_up(struct fault *fault, struct sysctls *ret)
{
	struct sysctls done = {.n = 0};
	int r = sysctls_each(sysctls_folder, &done);

	if (r < 0)
		(void)fault_set(fault, r,
			"cannot set accept_local, rp_filter and arp_ignore in %s: %s", sysctls_conf,
			strerror(-r));
	else {
		r = sysctls_groups(&done);
		if (r < 0)
			(void)fault_set(fault, r, "cannot set %s: %s", sysctls_mld, strerror(-r));
	}
	if (r < 0) {
		sysctls_take_back(&done);
		return r;
	}
	*ret = done;
	return 0;
}

static int sysctls_judge(void *arg, const char *folder)
{
	for (size_t name = 0; name < SYSCTLS_NAMES; name++) {
		int is, r = sysctls_read(folder, name, &is);

		if (r < 0)
			return r == -ENOENT
				       ? r
				       : fault_set(arg, r, "%s of %s cannot be read: %s",
						 sysctls_names[name].name, folder, strerror(-r));
		if (is != sysctls_names[name].value)
			return fault_set(arg, -ESTALE, "somebody has set %s of %s to %d, from %d",
				sysctls_names[name].name, folder, is, sysctls_names[name].value);
	}
	return 0;
}

int sysctls_verify(const struct sysctls *sysctls, struct fault *fault)
{
	int is, r = sysctls_each(sysctls_judge, fault);

	if (r < 0 || !sysctls->mld_set)
		return r;
	r = sysctls_get(sysctls_mld, &is);
	if (r < 0)
		return fault_set(fault, r, "%s cannot be read: %s", sysctls_mld, strerror(-r));
	return is == 1 ? 0
		       : fault_set(fault, -ESTALE, "somebody has set %s to %d, from 1", sysctls_mld,
				 is);
}

static int sysctls_set_folder(void *arg, const char *folder)
{
	(void)arg;
	for (size_t name = 0; name < SYSCTLS_NAMES; name++) {
		int r = sysctls_write(folder, name, sysctls_names[name].value);

		if (r < 0)
			return r;
	}
	return 0;
}

int sysctls_repair(const struct sysctls *sysctls)
{
	int r = sysctls_each(sysctls_set_folder, NULL);

	return r < 0 || !sysctls->mld_set ? r : sysctls_put(sysctls_mld, 1);
}

void sysctls_take_back(const struct sysctls *sysctls)
{
	for (size_t i = sysctls->n; i-- > 0;)
		for (size_t name = 0; name < SYSCTLS_NAMES; name++)
			(void)sysctls_write(sysctls->saved[i].folder, name,
				sysctls->saved[i].values[name]); /* the interface may be gone */
	if (sysctls->mld_set)
		(void)sysctls_put(sysctls_mld, sysctls->mld); /* it was there before */
}
