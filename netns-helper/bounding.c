/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bounding.c – see bounding.h. Each thread has capabilities of its own, its bounding set too: the first one's say nothing
 * about the others.
 *
 * #syscalls: openat getdents64 read close
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>

#include "netns-helper/bounding.h"

#include "base/cleanup.h"

/* The lines of /proc/PID/status that count. */
static const char *const bounding_lines[] = {"CapInh:", "CapPrm:", "CapBnd:"};

static int bounding_number(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 16);
	return errno || end == text || *end ? -EINVAL : 0;
}

static int bounding_word(const char *word, uint64_t *set)
{
	char full[64];
	cap_value_t value;
	bool prefixed = strncasecmp(word, "cap_", 4) == 0;

	if (snprintf(full, sizeof(full), "%s%s", prefixed ? "" : "cap_", word) >= (int)sizeof(full))
		return -EINVAL;
	for (char *c = full; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	/* libcap reads as far as it understands */
	if (full[strspn(full, "abcdefghijklmnopqrstuvwxyz_")] || cap_from_name(full, &value) < 0 ||
		value >= 64)
		return -EINVAL;
	*set |= 1ULL << value;
	return 0;
}

int bounding_parse(const char *text, uint64_t *ret)
{
	_cleanup_free_ char *copy = strdup(text);
	uint64_t set = 0;
	char *word, *rest;

	if (!copy)
		return -ENOMEM;
	if (strcmp(text, "none") == 0) {
		*ret = 0;
		return 0;
	}
	if (text[strspn(text, "0123456789abcdefABCDEFxX")] == '\0')
		return bounding_number(text, ret);
	rest = copy;
	while ((word = strsep(&rest, ",")))
		if (bounding_word(word, &set) < 0)
			return -EINVAL;
	*ret = set;
	return 0;
}

void bounding_name(unsigned int capability, char ret[32])
{
	char *name = cap_to_name((cap_value_t)capability);

	(void)snprintf(ret, 32, "%s", name ? name + (strncmp(name, "cap_", 4) == 0 ? 4 : 0) : "?");
	for (char *c = ret; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	if (name)
		(void)cap_free(name); /* cannot fail for what cap_to_name() gave */
}

/* Adds what one thread's status says. 0, -ESRCH, -errno. */
static int bounding_add(const char *path, uint64_t *set, char comm[16])
{
	char line[256];
	uint64_t part;
	size_t found = 0;
	FILE *f;

	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (comm && strncmp(line, "Name:\t", 6) == 0)
			(void)snprintf(comm, 16, "%.15s", line + 6);
		for (size_t i = 0; i < ARRAY_SIZE(bounding_lines); i++) {
			size_t n = strlen(bounding_lines[i]);

			if (strncmp(line, bounding_lines[i], n) == 0 &&
				bounding_number(line + n + strspn(line + n, "\t "), &part) == 0) {
				*set |= part;
				found++;
			}
		}
	}
	(void)fclose(f); /* only read */
	return found == ARRAY_SIZE(bounding_lines) ? 0 : -ESRCH; /* it ended while it was read */
}

int bounding_of(pid_t pid, uint64_t *ret, char comm[16])
{
	char path[320];
	const struct dirent *entry;
	uint64_t set = 0;
	DIR *threads;
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	r = bounding_add(path, &set, comm);
	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	threads = opendir(path);
	if (!threads)
		return errno == ENOENT ? -ESRCH : -errno;
	while (r == 0 && (entry = readdir(threads))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int)pid,
			entry->d_name); /* fits */
		r = bounding_add(path, &set, NULL);
		if (r == -ESRCH)
			r = 0; /* a thread that ended */
	}
	(void)closedir(threads); /* only read */
	if (r == 0)
		*ret = set;
	return r;
}
