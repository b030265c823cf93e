/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepared.c – see prepared.h. A table: there are few, for a moment each.
 *
 * #syscalls: openat newfstatat fstat getdents64 close
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "proxy/prepared.h"

static int prepared_find(const struct prepared *p, const char *id)
{
	for (size_t i = 0; i < ARRAY_SIZE(p->at); i++)
		if (strcmp(p->at[i].id, id) == 0)
			return (int)i;
	return -ENOENT;
}

int prepared_add(struct prepared *p, const char *id, uint64_t now_ms)
{
	int i = prepared_find(p, id);

	if (i < 0)
		i = prepared_find(p, "");
	if (i < 0)
		return -EBUSY;
	(void)snprintf(p->at[i].id, sizeof(p->at[i].id), "%s", id); /* was judged */
	p->at[i].until_ms = now_ms + PREPARED_MS;
	return 0;
}

void prepared_drop(struct prepared *p, const char *id)
{
	int i = prepared_find(p, id);

	if (i >= 0)
		p->at[i].id[0] = '\0';
}

bool prepared_expired(struct prepared *p, uint64_t now_ms, char ret[LIMIT_SANDBOX_ID + 1])
{
	for (size_t i = 0; i < ARRAY_SIZE(p->at); i++) {
		if (!p->at[i].id[0] || now_ms < p->at[i].until_ms)
			continue;
		memcpy(ret, p->at[i].id, sizeof(p->at[i].id));
		p->at[i].id[0] = '\0';
		return true;
	}
	return false;
}

static bool prepared_is_id(const char *name)
{
	return name[0] != '.' && strlen(name) <= LIMIT_SANDBOX_ID;
}

int prepared_adopt(struct prepared *p, const char *state, bool (*known)(void *arg, const char *id),
	void *arg, uint64_t now_ms)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int n = snprintf(path, sizeof(path), "%s/handout", state), found = 0;
	DIR *dir;

	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	p->more = false;
	while (!p->more && (entry = readdir(dir))) {
		if (!prepared_is_id(entry->d_name) || prepared_find(p, entry->d_name) >= 0 ||
			known(arg, entry->d_name))
			continue;
		if (prepared_add(p, entry->d_name, now_ms) == 0)
			found++;
		else
			p->more = true;
	}
	(void)closedir(dir); /* it was only read */
	return found;
}
