/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show.c – see show.h. It knows next to nothing of the answers' members, so the daemon may add some:
 * what it knows are the rows of `show_forms`. Everything becomes a cell, a line of text; a map becomes
 * `name 1, other 2`, one with a name and a state, a credential, `NAME (state: cause)`, and one with a
 * feature and a reason `FEATURE (reason)`. Texts may come from a sandbox: control bytes are not
 * printed.
 *
 * A list of maps is a table. A map inside a row gives a column for each of its members, so that
 * numbers stand below each other.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "ctl/show.h"

enum { SHOW_COLUMNS = 24, SHOW_WIDEST = 48, SHOW_CELL = 1024, SHOW_DIGEST = 12 };

static void show_clean(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

/* Characters, for the columns. */
static int show_width(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void show_padded(FILE *to, const char *text, int width)
{
	int gap = width - show_width(text);

	(void)fprintf(to, "%s%*s", text, gap > 0 ? gap : 0, "");
}

/* ---- members with a form of their own ---- */

/* The two largest units that are not both nothing: 1 h 3 min. */
static void show_duration(const json_t *v, bool in_table, char ret[SHOW_CELL])
{
	static const struct {
		const char *name;
		long long seconds;
	} units[] = {{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}};
	long long left = json_integer_value(v) / 1000;
	unsigned i = 0;

	(void)in_table;
	while (i + 1 < ARRAY_SIZE(units) && left < units[i].seconds)
		i++;
	if (i + 1 < ARRAY_SIZE(units) && left % units[i].seconds / units[i + 1].seconds)
		(void)snprintf(ret, SHOW_CELL, "%lld %s %lld %s", left / units[i].seconds,
			units[i].name, left % units[i].seconds / units[i + 1].seconds,
			units[i + 1].name);
	else
		(void)snprintf(ret, SHOW_CELL, "%lld %s", left / units[i].seconds, units[i].name);
}

/* In a table its beginning is enough to tell two from each other. */
static void show_digest(const json_t *v, bool in_table, char ret[SHOW_CELL])
{
	(void)snprintf(ret, SHOW_CELL, "%.*s", in_table ? SHOW_DIGEST : SHOW_CELL - 1,
		json_string_value(v));
}

static const struct show_form {
	const char *key, *label;
	json_type type;
	void (*write)(const json_t *v, bool in_table, char ret[SHOW_CELL]);
} show_forms[] = {
	{"uptime_ms", "uptime", JSON_INTEGER, show_duration},
	{"digest", "digest", JSON_STRING, show_digest},
};

static const struct show_form *show_form(const char *key, const json_t *v)
{
	for (unsigned i = 0; i < ARRAY_SIZE(show_forms); i++)
		if (v && strcmp(show_forms[i].key, key) == 0 &&
			show_forms[i].type == json_typeof(v))
			return &show_forms[i];
	return NULL;
}

static const char *show_label(const char *key, const json_t *v)
{
	const struct show_form *form = show_form(key, v);

	return form ? form->label : key;
}

/* ---- cells ---- */

static bool show_has_state(const json_t *v)
{
	return json_is_string(json_object_get(v, "name")) &&
	       json_is_string(json_object_get(v, "state"));
}

static void show_state(const json_t *v, char ret[SHOW_CELL])
{
	const char *cause = json_string_value(json_object_get(v, "cause"));

	(void)snprintf(ret, SHOW_CELL, "%s (%s%s%s)", json_string_value(json_object_get(v, "name")),
		json_string_value(json_object_get(v, "state")), cause ? ": " : "",
		cause ? cause : "");
}

static bool show_is_degraded(const json_t *v)
{
	return json_is_string(json_object_get(v, "feature")) &&
	       json_is_string(json_object_get(v, "reason"));
}

static void show_degraded(const json_t *v, char ret[SHOW_CELL])
{
	(void)snprintf(ret, SHOW_CELL, "%s (%s)", json_string_value(json_object_get(v, "feature")),
		json_string_value(json_object_get(v, "reason")));
}

static void show_scalar(const json_t *v, char ret[SHOW_CELL])
{
	ret[0] = '\0';
	if (json_is_string(v))
		(void)snprintf(ret, SHOW_CELL, "%s", json_string_value(v));
	else if (json_is_integer(v))
		(void)snprintf(ret, SHOW_CELL, "%lld", (long long)json_integer_value(v));
	else if (json_is_boolean(v))
		(void)snprintf(ret, SHOW_CELL, "%s", json_is_true(v) ? "yes" : "no");
	else if (json_is_object(v) && show_has_state(v))
		show_state(v, ret);
	else if (json_is_object(v) && show_is_degraded(v))
		show_degraded(v, ret);
	else if (json_is_array(v) || json_is_object(v))
		(void)snprintf(ret, SHOW_CELL, "…"); /* nothing of ours is that deep */
	else
		(void)snprintf(ret, SHOW_CELL, "-");
}

/* Adds `, ` and the text to a cell, as far as there is room. */
static void show_append(char ret[SHOW_CELL], const char *name, const char *text)
{
	size_t used = strlen(ret);

	(void)snprintf(ret + used, SHOW_CELL - used, "%s%s%s%s", used ? ", " : "", name,
		name[0] ? " " : "", text);
}

static void show_cell(const char *key, const json_t *v, bool in_table, char ret[SHOW_CELL])
{
	const struct show_form *form = show_form(key, v);
	char part[SHOW_CELL];
	const char *name;
	json_t *member;
	size_t i;

	ret[0] = '\0';
	if (form) {
		form->write(v, in_table, ret);
	} else if (json_is_array(v) && json_array_size(v)) {
		json_array_foreach((json_t *)v, i, member)
		{
			show_scalar(member, part);
			show_append(ret, "", part);
		}
	} else if (json_is_array(v)) {
		(void)snprintf(ret, SHOW_CELL, "none");
	} else if (json_is_object(v) && !show_has_state(v)) {
		json_object_foreach((json_t *)v, name, member)
		{
			show_scalar(member, part);
			show_append(ret, name, part);
		}
	} else {
		show_scalar(v, ret);
	}
	show_clean(ret);
}

/* ---- tables ---- */

struct show_column {
	const char *group; /* the member that is a map and holds it, or NULL */
	const char *name;
	int width;
};

static const json_t *show_at(const json_t *row, const struct show_column *c)
{
	if (c->group)
		row = json_object_get(row, c->group);
	return json_object_get(row, c->name);
}

static void show_column_add(
	struct show_column columns[SHOW_COLUMNS], unsigned *n, const char *group, const char *name)
{
	if (*n < SHOW_COLUMNS)
		columns[(*n)++] = (struct show_column){group, name, show_width(name)};
}

/* The columns are the members of the first row. */
static unsigned show_columns(const json_t *row, struct show_column columns[SHOW_COLUMNS])
{
	const char *key, *inner;
	json_t *value, *member;
	unsigned n = 0;

	json_object_foreach((json_t *)row, key, value)
	{
		if (!json_is_object(value)) {
			show_column_add(columns, &n, NULL, key);
			continue;
		}
		json_object_foreach(value, inner, member) show_column_add(columns, &n, key, inner);
	}
	return n;
}

static void show_row(FILE *to, const json_t *row, const struct show_column *columns, unsigned n,
	const char *indent)
{
	char cell[SHOW_CELL];

	for (unsigned c = 0; c < n; c++) {
		if (row)
			show_cell(columns[c].name, show_at(row, &columns[c]), true, cell);
		else
			(void)snprintf(cell, sizeof(cell), "%s", columns[c].name);
		(void)fputs(c ? "  " : indent, to);
		show_padded(to, cell, c + 1 < n ? columns[c].width : 0);
	}
	(void)fputc('\n', to);
}

static void show_table(FILE *to, const json_t *rows, const char *indent)
{
	struct show_column columns[SHOW_COLUMNS];
	unsigned n = show_columns(json_array_get(rows, 0), columns);
	char cell[SHOW_CELL];
	json_t *row;
	size_t i;

	json_array_foreach((json_t *)rows, i, row)
	{
		for (unsigned c = 0; c < n; c++) {
			int width;

			show_cell(columns[c].name, show_at(row, &columns[c]), true, cell);
			width = show_width(cell);
			if (width > columns[c].width)
				columns[c].width = width < SHOW_WIDEST ? width : SHOW_WIDEST;
		}
	}
	show_row(to, NULL, columns, n, indent);
	json_array_foreach((json_t *)rows, i, row) show_row(to, row, columns, n, indent);
}

static bool show_is_table(const json_t *v)
{
	size_t i;
	json_t *row;

	json_array_foreach((json_t *)v, i, row)
	{
		if (!json_is_object(row) || show_has_state(row))
			return false;
	}
	return json_is_array(v) && json_array_size(v) > 0;
}

/* ---- one map ---- */

/* Each credential has a line of its own, below the first. */
static void show_member(FILE *to, const char *key, const json_t *value, int width)
{
	char cell[SHOW_CELL];
	json_t *member;
	size_t i;

	if (json_is_array(value) && show_has_state(json_array_get(value, 0))) {
		json_array_foreach((json_t *)value, i, member)
		{
			show_padded(to, i ? "" : key, width);
			show_cell("", member, false, cell);
			(void)fprintf(to, "  %s\n", cell);
		}
		return;
	}
	show_padded(to, show_label(key, value), width);
	show_cell(key, value, false, cell);
	(void)fprintf(to, "  %s\n", cell);
}

static void show_members(FILE *to, const json_t *map)
{
	int width = 0;
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)map, key, value)
	{
		int wanted = show_is_table(value) ? 0 : show_width(show_label(key, value));

		width = wanted > width ? wanted : width;
	}
	json_object_foreach((json_t *)map, key, value)
	{
		if (!show_is_table(value)) {
			show_member(to, key, value, width);
			continue;
		}
		(void)fprintf(to, "%s\n", key);
		show_table(to, value, "  ");
	}
}

/* An answer that is nothing but one list is that list. */
static const json_t *show_only_list(const json_t *root)
{
	const json_t *only = json_object_iter_value(json_object_iter((json_t *)root));

	return json_object_size(root) == 1 && json_is_array(only) ? only : root;
}

int show_answer(struct slice json, FILE *to, struct fault *fault)
{
	json_t *root = json_loadb((const char *)json.p, json.n, JSON_REJECT_DUPLICATES, NULL);
	const json_t *shown = root ? show_only_list(root) : NULL;

	if (!root)
		return fault_set(fault, -EBADMSG, "sallyportd gave an answer that is not JSON");
	if (show_is_table(shown))
		show_table(to, shown, "");
	else if (json_is_array(shown))
		(void)fprintf(to, "none\n");
	else
		show_members(to, shown);
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
