/* SPDX-License-Identifier: Apache-2.0 */
/*
 * placeholder.c – see placeholder.h. Entries in the order in which they were made, and an
 * open-addressed table over their texts: whether some text is one of them costs one hash, so heads
 * can be searched at every "spx_".
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/json.h"
#include "conf/table.h"
#include "cred/credset.h"
#include "cred/placeholder.h"

enum {
	PLACEHOLDER_NAME = 64,
	PLACEHOLDER_MAX = 1024, /* entries, those of former credentials too */
	PLACEHOLDER_SLOTS = 2048, /* of the table, a power of two */
	PLACEHOLDER_ALPHABET = 62,
	PLACEHOLDER_FAIR = 256 / PLACEHOLDER_ALPHABET *
			   PLACEHOLDER_ALPHABET, /* bytes from here on are thrown away */
};

static const char placeholder_head[] = "spx_";

struct placeholder_entry {
	char name[PLACEHOLDER_NAME + 1];
	char text[PLACEHOLDER_TEXT + 1];
};

struct placeholders {
	unsigned n, max;
	uint16_t slots[PLACEHOLDER_SLOTS]; /* entry + 1; 0 = free */
	struct placeholder_entry entries[];
};

static struct placeholders *placeholders_new(unsigned max)
{
	struct placeholders *p;

	if (max > PLACEHOLDER_MAX)
		max = PLACEHOLDER_MAX;
	p = calloc(1, sizeof(*p) + max * sizeof(p->entries[0]));
	if (p)
		p->max = max;
	return p;
}

static unsigned placeholder_slot(struct slice text)
{
	return (unsigned)hash_add(hash_start(), text) & (PLACEHOLDER_SLOTS - 1);
}

static const struct placeholder_entry *placeholder_entry(
	const struct placeholders *p, struct slice text)
{
	if (text.n != PLACEHOLDER_TEXT)
		return NULL;
	for (unsigned at = placeholder_slot(text);; at = (at + 1) & (PLACEHOLDER_SLOTS - 1)) {
		if (!p->slots[at])
			return NULL;
		if (memcmp(p->entries[p->slots[at] - 1].text, text.p, text.n) == 0)
			return &p->entries[p->slots[at] - 1];
	}
}

/* 0, -E2BIG, -EEXIST for a name or a text that is there already. */
static int placeholder_add(struct placeholders *p, const char *name, struct slice text)
{
	struct placeholder_entry *e;
	unsigned at = placeholder_slot(text);

	if (p->n == p->max)
		return -E2BIG;
	if (placeholders_text(p, name) || placeholder_entry(p, text))
		return -EEXIST;
	e = &p->entries[p->n];
	memcpy(e->name, name, strlen(name) + 1);
	memcpy(e->text, text.p, text.n);
	e->text[text.n] = '\0';
	while (p->slots[at])
		at = (at + 1) & (PLACEHOLDER_SLOTS - 1);
	p->slots[at] = (uint16_t)++p->n;
	return 0;
}

/* Each character is as likely as every other. */
static int placeholder_draw(placeholder_random random, void *arg, char ret[PLACEHOLDER_TEXT])
{
	static const char alphabet[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	unsigned n = sizeof(placeholder_head) - 1;
	uint8_t bytes[PLACEHOLDER_CORE];

	_Static_assert(sizeof(alphabet) == PLACEHOLDER_ALPHABET + 1, "[0-9a-zA-Z]");
	memcpy(ret, placeholder_head, n);
	for (unsigned tries = 0; tries < 16; tries++) {
		int r = random(arg, bytes, sizeof(bytes));

		if (r < 0)
			return r;
		for (unsigned i = 0; i < sizeof(bytes); i++) {
			if (bytes[i] >= PLACEHOLDER_FAIR)
				continue;
			ret[n++] = alphabet[bytes[i] % PLACEHOLDER_ALPHABET];
			if (n == PLACEHOLDER_TEXT)
				return 0;
		}
	}
	return -EIO; /* such bytes are not random */
}

int placeholders_make(const struct placeholders *old, const struct credset *set,
	placeholder_random random, void *arg, struct placeholders **ret)
{
	struct placeholders *p = placeholders_new((old ? old->n : 0) + credset_count(set));
	int r = 0;

	if (!p)
		return -ENOMEM;
	for (unsigned i = 0; old && i < old->n && r == 0; i++)
		r = placeholder_add(
			p, old->entries[i].name, slice_of(old->entries[i].text, PLACEHOLDER_TEXT));
	for (unsigned i = 0; i < credset_count(set) && r == 0; i++) {
		const char *name = credset_at(set, i)->name;
		char text[PLACEHOLDER_TEXT];

		if (placeholders_text(p, name))
			continue;
		r = placeholder_draw(random, arg, text);
		if (r == 0)
			r = placeholder_add(p, name, slice_of(text, sizeof(text)));
	}
	if (r < 0) {
		placeholders_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

void placeholders_free(struct placeholders *p)
{
	free(p);
}

/* ---- the record ---- */

struct placeholder_record {
	uint64_t version;
	const struct conf_node *placeholders;
};

static const struct conf_key placeholder_record_keys[] = {
	{"version", CONF_TYPE_NUMBER, true, offsetof(struct placeholder_record, version), .min = 1,
		.max = 1},
	{"placeholders", CONF_TYPE_NODE, true, offsetof(struct placeholder_record, placeholders)},
};
static const struct conf_table placeholder_record_table = {
	"the record", placeholder_record_keys, ARRAY_SIZE(placeholder_record_keys)};

struct placeholder_row {
	const char *credential, *text;
};

static const struct conf_key placeholder_row_keys[] = {
	{"credential", CONF_TYPE_TEXT, true, offsetof(struct placeholder_row, credential)},
	{"text", CONF_TYPE_TEXT, true, offsetof(struct placeholder_row, text)},
};
static const struct conf_table placeholder_row_table = {
	"a placeholder", placeholder_row_keys, ARRAY_SIZE(placeholder_row_keys)};

int placeholders_save(const struct placeholders *p, struct buf *out)
{
	struct json j;
	int r;

	json_start(&j, out);
	json_open(&j, NULL, '{');
	json_number(&j, "version", 1);
	json_open(&j, "placeholders", '[');
	for (unsigned i = 0; i < p->n; i++) {
		json_open(&j, NULL, '{');
		json_text(&j, "credential", p->entries[i].name);
		json_text(&j, "text", p->entries[i].text);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	r = json_end(&j);
	return r < 0 ? r : buf_append(out, SLICE("\n"));
}

static bool placeholder_good(struct slice text)
{
	struct slice core = slice_skip(text, sizeof(placeholder_head) - 1);

	for (size_t i = 0; i < core.n; i++) {
		uint8_t c = slice_lower(core.p[i]);

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9'))
			return false;
	}
	return text.n == PLACEHOLDER_TEXT && memcmp(text.p, placeholder_head, text.n - core.n) == 0;
}

static int placeholders_fill(struct placeholders *p, const struct conf_doc *doc,
	const struct conf_node *list, struct fault *fault)
{
	for (const struct conf_node *n = list->first; n; n = n->next) {
		struct placeholder_row row = {0};
		int r = conf_read(&placeholder_row_table, doc, n, fault, &row);

		if (r < 0)
			return r;
		if (strlen(row.credential) > PLACEHOLDER_NAME ||
			!placeholder_good(slice_str(row.text)))
			return conf_fault(doc, n, fault, "not a placeholder");
		if (placeholder_add(p, row.credential, slice_str(row.text)) < 0)
			return conf_fault(doc, n, fault,
				"a placeholder too many, or one that is there twice");
	}
	return 0;
}

static int placeholders_read(
	const struct conf_doc *doc, struct fault *fault, struct placeholders **ret)
{
	struct placeholder_record record = {0};
	struct placeholders *p;
	int r = conf_read(&placeholder_record_table, doc, doc->root, fault, &record);

	if (r < 0)
		return r;
	if (record.placeholders->kind != CONF_LIST)
		return conf_fault(doc, record.placeholders, fault, "`placeholders` must be a list");
	p = placeholders_new(record.placeholders->count);
	r = p ? placeholders_fill(p, doc, record.placeholders, fault) : -ENOMEM;
	if (r < 0) {
		placeholders_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

int placeholders_load(
	struct slice text, const char *file, struct fault *fault, struct placeholders **ret)
{
	struct conf_doc *doc;
	int r = conf_parse(text, file, fault, &doc);

	if (r < 0)
		return r;
	doc->sealed = true;
	r = placeholders_read(doc, fault, ret);
	conf_free(doc);
	return r;
}

/* ---- look-ups ---- */

const char *placeholders_text(const struct placeholders *p, const char *credential)
{
	for (unsigned i = 0; i < p->n; i++)
		if (strcmp(p->entries[i].name, credential) == 0)
			return p->entries[i].text;
	return NULL;
}

const char *placeholders_find(const struct placeholders *p, struct slice text)
{
	const struct placeholder_entry *e = placeholder_entry(p, text);

	return e ? e->name : NULL;
}

const char *placeholders_search(const struct placeholders *p, struct slice in, size_t *at)
{
	while (in.n >= PLACEHOLDER_TEXT && *at <= in.n - PLACEHOLDER_TEXT) {
		const uint8_t *hit = memmem(
			in.p + *at, in.n - *at, placeholder_head, sizeof(placeholder_head) - 1);
		const char *name;

		if (!hit)
			break;
		*at = (size_t)(hit - in.p);
		name = placeholders_find(p, slice_first(slice_skip(in, *at), PLACEHOLDER_TEXT));
		*at += name ? PLACEHOLDER_TEXT : sizeof(placeholder_head) - 1;
		if (name)
			return name;
	}
	*at = in.n;
	return NULL;
}
