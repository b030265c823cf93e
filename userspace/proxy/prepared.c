/* SPDX-License-Identifier: Apache-2.0 */
/* prepared.c – see prepared.h. A table: there are few, for a moment each. */
#include <errno.h>
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
