/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c – see table.h. One function for each type in `conf_takers`; conf_read() walks the
 * document's keys, finds the row of each and lets its taker write to the struct.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "conf/nearest.h"
#include "conf/table.h"

static const char *const conf_kind_names[] = {
	[CONF_SCALAR] = "text", [CONF_MAP] = "a map", [CONF_LIST] = "a list"};

/* " `text`", or nothing where the document may hold secrets. */
static const char *conf_quote(const struct conf_doc *doc, struct slice text, char ret[72])
{
	if (doc->sealed)
		ret[0] = '\0';
	else
		(void)snprintf(ret, 72, " `%.*s%s`", (int)(text.n > 60 ? 60 : text.n),
			(const char *)text.p, text.n > 60 ? "…" : "");
	return ret;
}

/* ---- single values ---- */

static int conf_wrong(const struct conf_doc *doc, const struct conf_node *n, const char *what,
	const char *wanted, struct fault *fault)
{
	bool nothing = n->kind == CONF_SCALAR && !n->quoted && n->text.n == 0;

	return conf_fault(doc, n, fault, "`%s` must be %s, not %s", what, wanted,
		nothing ? "empty" : conf_kind_names[n->kind]);
}

int conf_text(const struct conf_doc *doc, const struct conf_node *n, const char *what,
	struct fault *fault, const char **ret)
{
	if (n->kind != CONF_SCALAR)
		return conf_wrong(doc, n, what, "text", fault);
	if (n->text.n == 0 ||
		(!n->quoted && (slice_eq(n->text, SLICE("~")) || slice_eq(n->text, SLICE("null")))))
		return conf_fault(doc, n, fault, "`%s` must not be empty", what);
	*ret = (const char *)n->text.p;
	return 0;
}

int conf_number(const struct conf_doc *doc, const struct conf_node *n, const char *what,
	uint64_t min, uint64_t max, struct fault *fault, uint64_t *ret)
{
	uint64_t value = 0;
	bool good = n->kind == CONF_SCALAR && !n->quoted && n->text.n > 0;

	for (size_t i = 0; good && i < n->text.n; i++) {
		uint8_t c = n->text.p[i];

		good = c >= '0' && c <= '9' && value <= (UINT64_MAX - 9) / 10 &&
		       !(i == 1 && n->text.p[0] == '0');
		value = value * 10 + (uint64_t)(c - '0');
	}
	if ((!good || value != min) && min == max)
		return conf_fault(doc, n, fault, "`%s` must be %llu%s", what,
			(unsigned long long)min, n->quoted ? ", without quotes" : "");
	if (!good || value < min || value > max)
		return conf_fault(doc, n, fault, "`%s` must be a number from %llu to %llu%s", what,
			(unsigned long long)min, (unsigned long long)max,
			n->quoted ? ", without quotes" : "");
	*ret = value;
	return 0;
}

static bool conf_word_is(const struct conf_word *w, struct slice text)
{
	struct slice word = slice_str(w->word);

	if (word.n && word.p[word.n - 1] == ':')
		return text.n > word.n && slice_eq(slice_first(text, word.n), word);
	return slice_eq(text, word);
}

int conf_word(const struct conf_doc *doc, const struct conf_node *n, const char *what,
	const struct conf_word *words, struct fault *fault, int *ret)
{
	struct nearest best;
	char quoted[72], hint[NEAREST_HINT], list[200] = "";
	size_t used = 0;

	if (n->kind != CONF_SCALAR)
		return conf_wrong(doc, n, what, "one word", fault);
	nearest_to(&best, n->text);
	for (const struct conf_word *w = words; w->word; w++) {
		if (conf_word_is(w, n->text)) {
			if (w->later)
				return conf_fault(doc, n, fault,
					"`%s: %s` is not available in this version", what, w->word);
			*ret = w->value;
			return 0;
		}
		nearest_try(&best, w->word);
		if (!w->later && used < sizeof(list))
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
				used ? " or " : "", w->word);
	}
	return conf_fault(doc, n, fault, "`%s` must be %s, not%s%s%s", what, list,
		doc->sealed ? " this" : "", conf_quote(doc, n->text, quoted),
		nearest_hint(&best, hint));
}

/* ---- rows ---- */

struct conf_call {
	const struct conf_table *table;
	const struct conf_doc *doc;
	struct fault *fault;
};

typedef int (*conf_taker)(const struct conf_call *call, const struct conf_key *key,
	const struct conf_node *n, void *at);

static int conf_take_text(
	const struct conf_call *c, const struct conf_key *key, const struct conf_node *n, void *at)
{
	return conf_text(c->doc, n, key->name, c->fault, at);
}

static int conf_take_bool(
	const struct conf_call *c, const struct conf_key *key, const struct conf_node *n, void *at)
{
	bool yes = n->kind == CONF_SCALAR && !n->quoted && slice_eq(n->text, SLICE("true"));
	bool no = n->kind == CONF_SCALAR && !n->quoted && slice_eq(n->text, SLICE("false"));

	if (!yes && !no)
		return conf_fault(c->doc, n, c->fault, "`%s` must be true or false", key->name);
	*(bool *)at = yes;
	return 0;
}

static int conf_take_number(
	const struct conf_call *c, const struct conf_key *key, const struct conf_node *n, void *at)
{
	return conf_number(c->doc, n, key->name, key->min, key->max, c->fault, at);
}

static int conf_take_word(
	const struct conf_call *c, const struct conf_key *key, const struct conf_node *n, void *at)
{
	return conf_word(c->doc, n, key->name, key->words, c->fault, at);
}

static int conf_take_node(
	const struct conf_call *c, const struct conf_key *key, const struct conf_node *n, void *at)
{
	(void)c;
	(void)key;
	*(const struct conf_node **)at = n;
	return 0;
}

/* What the author meant is known where a list of one stands without its brackets. */
static int conf_take_list(
	const struct conf_call *c, const struct conf_key *key, const struct conf_node *n, void *at)
{
	const char *quote = n->quoted ? "\"" : "";

	if (n->kind == CONF_SCALAR && n->text.n && c->doc->sealed)
		return conf_fault(
			c->doc, n, c->fault, "`%s` must be a list: write [ ] around it", key->name);
	if (n->kind == CONF_SCALAR && n->text.n)
		return conf_fault(c->doc, n, c->fault, "`%s` must be a list: write [%s%.*s%s%s]",
			key->name, quote, (int)(n->text.n > 60 ? 60 : n->text.n),
			(const char *)n->text.p, n->text.n > 60 ? "…" : "", quote);
	if (n->kind != CONF_LIST)
		return conf_wrong(c->doc, n, key->name, "a list", c->fault);
	if (n->count == 0)
		return conf_fault(c->doc, n, c->fault, "`%s` must not be empty", key->name);
	return conf_take_node(c, key, n, at);
}

static int conf_take_rows(
	const struct conf_call *c, const struct conf_key *key, const struct conf_node *n, void *at)
{
	if (n->kind != CONF_LIST)
		return conf_wrong(c->doc, n, key->name, "a list of maps", c->fault);
	return conf_take_list(c, key, n, at);
}

static int conf_take_map(
	const struct conf_call *c, const struct conf_key *key, const struct conf_node *n, void *at)
{
	if (n->kind != CONF_MAP)
		return conf_wrong(c->doc, n, key->name, "a map", c->fault);
	return conf_take_node(c, key, n, at);
}

static int conf_take_later(
	const struct conf_call *c, const struct conf_key *key, const struct conf_node *n, void *at)
{
	(void)at;
	return conf_fault(
		c->doc, n->key, c->fault, "`%s` is not available in this version", key->name);
}

static const struct {
	const char *name;
	conf_taker take;
} conf_takers[] = {
	[CONF_TYPE_TEXT] = {"text", conf_take_text},
	[CONF_TYPE_BOOL] = {"true or false", conf_take_bool},
	[CONF_TYPE_NUMBER] = {"number", conf_take_number},
	[CONF_TYPE_WORD] = {"word", conf_take_word},
	[CONF_TYPE_NODE] = {"value", conf_take_node},
	[CONF_TYPE_LIST] = {"list", conf_take_list},
	[CONF_TYPE_ROWS] = {"list of maps", conf_take_rows},
	[CONF_TYPE_MAP] = {"map", conf_take_map},
	[CONF_TYPE_LATER] = {"not available", conf_take_later},
};
_Static_assert(ARRAY_SIZE(conf_takers) == CONF_TYPE_LATER + 1, "a taker for each type");

const char *conf_type_name(enum conf_type type)
{
	return conf_takers[type].name;
}

static const struct conf_key *conf_row(const struct conf_table *table, struct slice name)
{
	for (unsigned i = 0; i < table->n; i++)
		if (slice_eq(slice_str(table->keys[i].name), name))
			return &table->keys[i];
	return NULL;
}

static int conf_unknown(const struct conf_call *c, const struct conf_node *key)
{
	struct nearest best;
	char quoted[72], hint[NEAREST_HINT];

	nearest_to(&best, key->text);
	for (unsigned i = 0; i < c->table->n; i++)
		nearest_try(&best, c->table->keys[i].name);
	return conf_fault(c->doc, key, c->fault, "unknown key%s in %s%s",
		conf_quote(c->doc, key->text, quoted), c->table->name, nearest_hint(&best, hint));
}

int conf_read(const struct conf_table *table, const struct conf_doc *doc,
	const struct conf_node *map, struct fault *fault, void *ret)
{
	const struct conf_call call = {table, doc, fault};

	if (map->kind != CONF_MAP)
		return conf_fault(doc, map, fault, "%s must be a map of keys, not %s", table->name,
			conf_kind_names[map->kind]);
	for (const struct conf_node *m = map->first; m; m = m->next) {
		const struct conf_key *key = conf_row(table, m->key->text);
		int r;

		if (!key)
			return conf_unknown(&call, m->key);
		r = conf_takers[key->type].take(&call, key, m, (char *)ret + key->offset);
		if (r < 0)
			return r;
	}
	for (unsigned i = 0; i < table->n; i++)
		if (table->keys[i].required && !conf_get(map, table->keys[i].name))
			return conf_fault(doc, map, fault, "%s has no `%s`", table->name,
				table->keys[i].name);
	return 0;
}
