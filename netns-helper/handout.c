/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * handout.c – see handout.h.
 *
 * The state directory is root's and so is the entry `handout` in it, which root gave to the daemon;
 * what is below is the daemon's. So the owner of `handout` is who must own the files, they are
 * opened below it without symbolic links and mounts (openat2(2)) and without waiting for a FIFO,
 * and have no second name, which could be that of somebody else's file.
 *
 * #syscalls: openat2 fstat read
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "netns-helper/handout.h"

#include "base/cleanup.h"

#define HANDOUT_DIRECTORY   "handout"
#define HANDOUT_CA          "ca.pem"
#define HANDOUT_ENVIRONMENT "environment"

static const char handout_digits[] = "0123456789";
static const char handout_letters[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

static int handout_open(int dir, const char *path, unsigned int flags)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW | flags,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* Reads the whole file and ends it with '\0'. Its length, or -errno. */
static long handout_load(int dir, uid_t owner, const char *path, char ret[HANDOUT_BYTES + 1])
{
	_cleanup_close_ int fd = handout_open(dir, path, 0);
	struct stat st;
	size_t n = 0;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != owner || st.st_nlink != 1)
		return -EPERM;
	while (n <= HANDOUT_BYTES) {
		ssize_t got = read(fd, ret + n, HANDOUT_BYTES + 1 - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0) {
			ret[n] = '\0';
			return (long)n;
		}
		n += (size_t)got;
	}
	return -EMSGSIZE;
}

/* A certificate in PEM, as far as its letters go: what else it may be is for the clients to judge.
 */
static int handout_judge_ca(const char *text, size_t n)
{
	static const char begin[] = "-----BEGIN CERTIFICATE-----\n",
			  end[] = "-----END CERTIFICATE-----\n";
	const size_t head = sizeof(begin) - 1, tail = sizeof(end) - 1;

	if (n < head + tail || memcmp(text, begin, head) != 0 ||
		memcmp(text + n - tail, end, tail) != 0)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++)
		if (text[i] != '\n' && (text[i] < ' ' || text[i] > '~'))
			return -EBADMSG;
	return 0;
}

/* Cuts the text into names and values. The number of the line that is wrong, or 0. */
static unsigned int handout_cut(char *text, size_t n, struct handout *ret)
{
	unsigned int line = 0;
	char *at = text, *stop = text + n;

	for (; at < stop; line++) {
		char *end = memchr(at, '\n', (size_t)(stop - at));
		size_t name = strspn(at, handout_letters);
		char *value = at + name + 1;
		size_t length = at[name] == '=' ? strspn(value, handout_letters) : 0;

		if (!end || !name || strchr(handout_digits, *at) || !length ||
			value + length != end || ret->nvariables == HANDOUT_VARIABLES)
			return line + 1;
		at[name] = *end = '\0';
		ret->variables[ret->nvariables].name = at;
		ret->variables[ret->nvariables++].value = value;
		at = end + 1;
	}
	return 0;
}

static int handout_fault(struct fault *fault, long r, const char *directory, const char *name)
{
	const char *why = r == -EPERM      ? "is not a plain file of the daemon's"
			  : r == -ELOOP    ? "a symbolic link leads there"
			  : r == -EMSGSIZE ? "is too long"
			  : r == -EBADMSG  ? "is not a certificate"
					   : strerror((int)-r);

	return fault_set(fault, (int)r, "%s%s: %s", directory, name, why);
}

int handout_read(const char *state, const char *id, struct fault *fault, struct handout *ret)
{
	_cleanup_close_ int base = open(state, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int all = -1, own = -1;
	char directory[256];
	struct stat st;
	unsigned int wrong;
	long n;

	ret->ca_n = ret->nvariables = 0;
	(void)snprintf(directory, sizeof(directory), "%s/" HANDOUT_DIRECTORY "/%s", state, id);
	all = base < 0 ? -errno : handout_open(base, HANDOUT_DIRECTORY, O_DIRECTORY);
	own = all < 0 ? all : handout_open(all, id, O_DIRECTORY);
	if (own < 0)
		return handout_fault(fault, own, directory, "");
	if (fstat(all, &st) < 0)
		return handout_fault(fault, -errno, directory, "");
	n = handout_load(own, st.st_uid, HANDOUT_CA, ret->ca);
	if (n < 0 || (n = handout_judge_ca(ret->ca, (size_t)n) ? -EBADMSG : n) < 0)
		return handout_fault(fault, n, directory, "/" HANDOUT_CA);
	ret->ca_n = (size_t)n;
	n = handout_load(own, st.st_uid, HANDOUT_ENVIRONMENT, ret->environment);
	if (n == -ENOENT)
		return 0; /* no credential names a variable */
	wrong = n < 0 ? 0 : handout_cut(ret->environment, (size_t)n, ret);
	if (n >= 0 && !wrong)
		return 0;
	ret->ca_n = ret->nvariables = 0;
	if (wrong)
		return fault_set(fault, -EBADMSG, "%s/" HANDOUT_ENVIRONMENT ":%u: is not NAME=word",
			directory, wrong);
	return handout_fault(fault, n, directory, "/" HANDOUT_ENVIRONMENT);
}
