/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manual.h – compares a manual page with the key tables of its loader. In the page a comment names
 * the table
 * (.\" table: a rule), the `.It Ic KEY` lines up to the next such comment are its keys, and a key
 * that is not available yet is listed as `.It Ic KEY Pq not available`.
 */
#ifndef SALLYPORT_TEST_MANUAL_H
#define SALLYPORT_TEST_MANUAL_H

#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conf/table.h"

static const struct conf_table *manual_table(
	const struct conf_table *const *tables, unsigned n, const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(tables[i]->name, name) == 0)
			return tables[i];
	fail_msg("the page describes a table `%s` that the loader does not have", name);
	return NULL;
}

/* Marks the key as seen; fails when the table has none of that name or says otherwise about its
 * availability. */
static void manual_key(const struct conf_table *t, const char *key, int later, uint64_t *seen)
{
	for (unsigned i = 0; i < t->n; i++) {
		if (strcmp(t->keys[i].name, key) != 0)
			continue;
		if (later != (t->keys[i].type == CONF_TYPE_LATER))
			fail_msg("%s: the page and the loader differ on whether `%s` is available",
				t->name, key);
		*seen |= 1ULL << i;
		return;
	}
	fail_msg("%s: the page describes `%s`, which the loader does not know", t->name, key);
}

static void manual_complete(const struct conf_table *t, uint64_t seen)
{
	for (unsigned i = 0; t && i < t->n; i++)
		if (!(seen & 1ULL << i))
			fail_msg("%s: the page does not describe `%s`", t->name, t->keys[i].name);
}

static void manual_check(const char *page, const struct conf_table *const *tables, unsigned n)
{
	const struct conf_table *t = NULL;
	char line[512], name[64];
	unsigned found = 0;
	uint64_t seen = 0;
	FILE *f = fopen(page, "r");

	if (!f)
		fail_msg("%s: not there (tests run in the top folder)", page);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, ".\\\" table: %63[^\n]", name) == 1) {
			manual_complete(t, seen);
			t = strcmp(name, "end") == 0 ? NULL : manual_table(tables, n, name);
			found += t != NULL;
			seen = 0;
		} else if (t && sscanf(line, ".It Ic %63s", name) == 1) {
			manual_key(t, name, strstr(line, "Pq not available") != NULL, &seen);
		}
	}
	(void)fclose(f);
	manual_complete(t, seen);
	assert_int_equal(found, n);
}

#endif
