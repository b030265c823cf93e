/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show.c – see show.h. It knows nothing of the answers' members, so the daemon may add some. Texts
 * may come from a sandbox: control bytes are not printed.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/show.h"

enum { SHOW_COLUMNS = 16, SHOW_WIDEST = 48, SHOW_CELL = 512 };

static void show_clean(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

/* A scalar, or a short form of what is in it. */
static void show_cell(const json_t *v, char ret[SHOW_CELL])
{
	ret[0] = '\0';
	if (json_is_string(v)) {
		(void)snprintf(ret, SHOW_CELL, "%s", json_string_value(v));
	} else if (json_is_integer(v)) {
		(void)snprintf(ret, SHOW_CELL, "%lld", (long long)json_integer_value(v));
	} else if (json_is_boolean(v)) {
		(void)snprintf(ret, SHOW_CELL, "%s", json_is_true(v) ? "yes" : "no");
	} else if (json_is_array(v) || json_is_object(v)) {
		char *text = json_dumps(v, JSON_COMPACT);

		(void)snprintf(ret, SHOW_CELL, "%s", text ? text : "");
		free(text);
	} else {
		(void)snprintf(ret, SHOW_CELL, "-");
	}
	show_clean(ret);
}

static bool show_is_table(const json_t *v)
{
	size_t i;
	json_t *row;

	json_array_foreach((json_t *)v, i, row) if (!json_is_object(row)) return false;
	return json_is_array(v) && json_array_size(v) > 0;
}

/* The columns are the members of the first row; the last one is not padded. */
static void show_table(const json_t *rows, const char *indent)
{
	const char *names[SHOW_COLUMNS];
	int widths[SHOW_COLUMNS];
	char cell[SHOW_CELL];
	unsigned n = 0;
	const char *key;
	json_t *value, *row;
	size_t i;

	json_object_foreach(json_array_get(rows, 0), key, value)
	{
		if (n == SHOW_COLUMNS)
			break;
		names[n] = key;
		widths[n++] = (int)strlen(key);
	}
	json_array_foreach((json_t *)rows, i, row) for (unsigned c = 0; c < n; c++)
	{
		int length;

		show_cell(json_object_get(row, names[c]), cell);
		length = (int)strlen(cell);
		if (length > widths[c])
			widths[c] = length < SHOW_WIDEST ? length : SHOW_WIDEST;
	}
	for (unsigned c = 0; c < n; c++)
		printf("%s%-*s%s", c ? "  " : indent, c + 1 < n ? widths[c] : 0, names[c],
			c + 1 < n ? "" : "\n");
	json_array_foreach((json_t *)rows, i, row) for (unsigned c = 0; c < n; c++)
	{
		show_cell(json_object_get(row, names[c]), cell);
		printf("%s%-*s%s", c ? "  " : indent, c + 1 < n ? widths[c] : 0, cell,
			c + 1 < n ? "" : "\n");
	}
}

static void show_members(const json_t *map, const char *indent)
{
	char cell[SHOW_CELL];
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)map, key, value)
	{
		if (show_is_table(value)) {
			printf("%s%s:\n", indent, key);
			show_table(value, indent[0] ? "    " : "  ");
		} else if (json_is_object(value) && json_object_size(value) && !indent[0]) {
			printf("%s:\n", key);
			show_members(value, "  ");
		} else if (json_is_array(value) && json_array_size(value) == 0) {
			printf("%s%s: none\n", indent, key);
		} else {
			show_cell(value, cell);
			printf("%s%s: %s\n", indent, key, cell);
		}
	}
}

int show_answer(struct slice json, struct fault *fault)
{
	json_t *root = json_loadb((const char *)json.p, json.n, JSON_REJECT_DUPLICATES, NULL);

	if (!root)
		return fault_set(fault, -EBADMSG, "sallyportd gave an answer that is not JSON");
	if (show_is_table(root))
		show_table(root, "");
	else if (json_is_array(root))
		printf("none\n");
	else
		show_members(root, "");
	json_decref(root);
	return 0;
}

void show_error(struct slice json, char *ret, unsigned n)
{
	json_t *root = json.n ? json_loadb((const char *)json.p, json.n, 0, NULL) : NULL;
	const json_t *error = json_object_get(root, "error");
	const char *message = json_string_value(json_object_get(error, "message")),
		   *hint = json_string_value(json_object_get(error, "hint"));

	(void)snprintf(ret, n, "%s%s%s", message ? message : "", message && hint ? "; " : "",
		hint ? hint : "");
	show_clean(ret);
	json_decref(root);
}
