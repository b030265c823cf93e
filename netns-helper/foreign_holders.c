/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * foreign_holders.c – which processes have these sockets open: every /proc/PID/fd there is, looked through once. Slow
 * (a millisecond for some hundred processes) and therefore only asked about sockets that are in doubt. A process that
 * ends meanwhile is passed over; so is one that may not be looked at, and its sockets then have nobody, which is a
 * refusal.
 *
 * #syscalls: openat getdents64 readlinkat read close
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "netns-helper/foreign_internal.h"

#include "base/cleanup.h"

static int foreign_by_inode(const void *a, const void *b)
{
	const struct foreign_socket *x = a, *y = b;

	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

static void foreign_comm(int pid, char ret[FOREIGN_COMM])
{
	char name[64];
	FILE *f;

	(void)snprintf(name, sizeof(name), "/proc/%d/comm", pid);
	(void)snprintf(ret, FOREIGN_COMM, "?");
	f = fopen(name, "re");
	if (!f)
		return;
	if (fgets(ret, FOREIGN_COMM, f))
		ret[strcspn(ret, "\n")] = '\0';
	foreign_printable(ret);
	(void)fclose(f); /* only read */
}

/* The process has the socket of that inode open. */
static void foreign_held(struct foreign_sockets *s, uint64_t inode, int pid, bool inside)
{
	const struct foreign_socket key = {.inode = inode};
	struct foreign_socket *one =
		bsearch(&key, s->list, s->n, sizeof(*s->list), foreign_by_inode);

	if (!one)
		return;
	if (inside) {
		one->inside = true;
	} else if (!one->pid) {
		one->pid = pid;
		foreign_comm(pid, one->comm);
	}
}

static void foreign_look_at(const char *cgroup, struct foreign_sockets *s, int pid, int fds)
{
	struct cgroup_path path = {""};
	const struct dirent *entry;
	bool known = false;
	DIR *dir = fdopendir(fds);

	if (!dir) {
		(void)close(fds); /* only read */
		return;
	}
	while ((entry = readdir(dir))) {
		unsigned long long inode;
		char link[64];
		ssize_t n = readlinkat(fds, entry->d_name, link, sizeof(link) - 1);

		if (n < 0)
			continue;
		link[n] = '\0';
		if (sscanf(link, "socket:[%llu]", &inode) != 1)
			continue;
		if (!known && cgroup_of(pid, &path) < 0)
			break;
		known = true;
		foreign_held(s, inode, pid, cgroup_inside(path.text, cgroup));
	}
	(void)closedir(dir); /* only read */
}

int foreign_holders_find(const char *cgroup, struct foreign_sockets *s)
{
	const struct dirent *entry;
	DIR *proc = opendir("/proc");

	if (!proc)
		return -errno;
	qsort(s->list, s->n, sizeof(*s->list), foreign_by_inode);
	while ((entry = readdir(proc))) {
		char name[280];
		int fds;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		(void)snprintf(name, sizeof(name), "%s/fd",
			entry->d_name); /* fits: a name has 255 bytes */
		fds = openat(dirfd(proc), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fds >= 0)
			foreign_look_at(cgroup, s, atoi(entry->d_name), fds);
	}
	(void)closedir(proc); /* only read */
	return 0;
}
