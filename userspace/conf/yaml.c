/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml.c – see yaml.h. libyaml gives events; conf_value() turns them into nodes by recursion, which
 * LIMIT_DOCUMENT_DEPTH bounds. Nodes and texts live in chunks that are wiped before they are freed,
 * and so are libyaml's own buffers as far as it shows them (its scanner's scratch strings it does
 * not: a value that shall be nowhere else belongs in a file source, not in the document).
 *
 * JSON goes the same way, since YAML's flow style holds it, with one exception: a character written
 * as a surrogate pair (RFC 8259 section 7), which libyaml refuses. conf_pairs() rewrites such pairs
 * as YAML's \U escape beforehand; columns behind one, in the same line, are two too low for each.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "conf/yaml.h"

enum { CONF_CHUNK = 1024, CONF_CHUNK_MOST = 65536 };

struct conf_chunk {
	struct conf_chunk *next;
	size_t used, size;
	_Alignas(max_align_t) char bytes[];
};

/* what stands behind a struct conf_doc */
struct conf_store {
	struct conf_doc doc;
	struct conf_chunk *chunks;
	unsigned nodes;
};

struct conf_reader {
	yaml_parser_t parser;
	struct conf_store *store;
	struct fault *fault;
	struct slice text; /* that libyaml reads */
};

/* ---- memory ---- */

static void *conf_take(struct conf_store *s, size_t n)
{
	struct conf_chunk *c = s->chunks;
	void *at;

	n = (n + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
	if (!c || c->size - c->used < n) {
		/* each is twice the one before it: many documents have a few lines, some have thousands */
		size_t size = !c ? CONF_CHUNK : c->size < CONF_CHUNK_MOST ? 2 * c->size : c->size;

		size = n > size ? n : size;
		c = calloc(1, sizeof(*c) + size);
		if (!c)
			return NULL;
		c->size = size;
		c->next = s->chunks;
		s->chunks = c;
	}
	at = c->bytes + c->used;
	c->used += n;
	return at;
}

static const char *conf_copy(struct conf_store *s, const void *p, size_t n)
{
	char *to = conf_take(s, n + 1);

	if (!to)
		return NULL;
	memcpy(to, p, n);
	to[n] = '\0';
	return to;
}

void conf_free(struct conf_doc *doc)
{
	struct conf_store *s = (struct conf_store *)doc;

	if (!s)
		return;
	for (struct conf_chunk *c = s->chunks, *next; c; c = next) {
		next = c->next;
		explicit_bzero(c->bytes, c->size);
		free(c);
	}
	free(s);
}

/* ---- messages ---- */

static int conf_fault_at(const struct conf_doc *doc, unsigned line, unsigned column,
	struct fault *fault, const char *what)
{
	return fault_set(fault, -EBADMSG, "%s:%u:%u: %s", doc->file, line, column, what);
}

int conf_fault(const struct conf_doc *doc, const struct conf_node *at, struct fault *fault,
	const char *format, ...)
{
	char what[sizeof(fault->text)];
	va_list ap;

	va_start(ap, format);
	if (vsnprintf(what, sizeof(what), format, ap) < 0)
		what[0] = '\0';
	va_end(ap);
	return conf_fault_at(doc, at->line, at->column, fault, what);
}

/* The reader of libyaml knows only a byte offset. */
static int conf_fault_offset(struct conf_reader *r, size_t offset, const char *what)
{
	unsigned line = 1, column = 1;

	for (size_t i = 0; i < offset && i < r->text.n; i++) {
		uint8_t c = r->text.p[i];

		if (c == '\n')
			line++, column = 1;
		else if ((c & 0xc0) != 0x80)
			column++;
	}
	return conf_fault_at(&r->store->doc, line, column, r->fault, what);
}

static int conf_fault_mark(struct conf_reader *r, yaml_mark_t mark, const char *what)
{
	return conf_fault_at(
		&r->store->doc, (unsigned)mark.line + 1, (unsigned)mark.column + 1, r->fault, what);
}

/* ---- events to nodes ---- */

/* The document from that mark on; its column counts characters. */
static struct slice conf_from(const struct conf_reader *r, yaml_mark_t mark)
{
	struct slice s = r->text;

	for (size_t line = 0; line < mark.line && s.n; line++)
		s = slice_skip(s, slice_find(s, '\n') + 1);
	for (size_t column = 0; column < mark.column && s.n; column++)
		do
			s = slice_skip(s, 1);
		while (s.n && (s.p[0] & 0xc0) == 0x80);
	return s;
}

/* The word that begins there, as far as it goes without a separator of YAML's. */
static struct slice conf_word_from(struct slice s)
{
	size_t n = 0;

	while (n < s.n && s.p[n] > 0x20 && !strchr(",[]{}\"'", s.p[n]))
		n++;
	return slice_first(s, n);
}

/*
 * What libyaml says of two mistakes does not tell a person what to do: a pattern such as *.cdn.test
 * without quotes, which begins an alias for it, and a tab as indentation. 1 and the fault for those,
 * else 0.
 */
static int conf_fault_known(struct conf_reader *r)
{
	const yaml_parser_t *p = &r->parser;
	struct slice at = conf_from(r, p->problem_mark);
	char what[160];

	if (at.n && at.p[0] == '\t') {
		(void)conf_fault_mark(r, p->problem_mark, "tabs cannot indent YAML: use spaces");
		return 1;
	}
	at = conf_word_from(conf_from(r, p->context_mark));
	if (!p->context || !at.n || at.p[0] != '*')
		return 0;
	if (r->store->doc.sealed)
		at = SLICE("*…");
	(void)snprintf(what, sizeof(what), "quote it: \"%.*s\" (without quotes, * begins an alias)",
		(int)(at.n < 100 ? at.n : 100), (const char *)at.p);
	(void)conf_fault_mark(r, p->context_mark, what);
	return 1;
}

static int conf_event(struct conf_reader *r, yaml_event_t *ret)
{
	const yaml_parser_t *p = &r->parser;
	char what[200];

	if (yaml_parser_parse(&r->parser, ret))
		return 0;
	switch (p->error) {
	case YAML_MEMORY_ERROR:
		return -ENOMEM;
	case YAML_READER_ERROR:
		return conf_fault_offset(r, p->problem_offset, p->problem);
	default:
		if (conf_fault_known(r))
			return -EBADMSG;
		if (p->context)
			(void)snprintf(what, sizeof(what), "%s (%s in line %zu)", p->problem,
				p->context, p->context_mark.line + 1);
		else
			(void)snprintf(what, sizeof(what), "%s", p->problem);
		return conf_fault_mark(r, p->problem_mark, what);
	}
}

/* Values pass through events. */
static void conf_event_done(yaml_event_t *e)
{
	if (e->type == YAML_SCALAR_EVENT)
		explicit_bzero(e->data.scalar.value, e->data.scalar.length);
	yaml_event_delete(e);
}

static int conf_node_new(
	struct conf_reader *r, const yaml_event_t *e, enum conf_kind kind, struct conf_node **ret)
{
	struct conf_node *n;

	if (++r->store->nodes > CONF_NODES)
		return conf_fault_mark(r, e->start_mark, "too many values in one document");
	n = conf_take(r->store, sizeof(*n));
	if (!n)
		return -ENOMEM;
	n->kind = kind;
	n->line = (unsigned)e->start_mark.line + 1;
	n->column = (unsigned)e->start_mark.column + 1;
	*ret = n;
	return 0;
}

static int conf_scalar(struct conf_reader *r, const yaml_event_t *e, struct conf_node **ret)
{
	struct conf_node *n;
	size_t length = e->data.scalar.length;
	const char *text;
	int err;

	if (e->data.scalar.anchor)
		return conf_fault_mark(r, e->start_mark, "anchors are not allowed");
	if (e->data.scalar.tag)
		return conf_fault_mark(r, e->start_mark, "tags are not allowed");
	if (memchr(e->data.scalar.value, '\0', length))
		return conf_fault_mark(r, e->start_mark, "a NUL byte is not allowed");
	err = conf_node_new(r, e, CONF_SCALAR, &n);
	if (err < 0)
		return err;
	text = conf_copy(r->store, e->data.scalar.value, length);
	if (!text)
		return -ENOMEM;
	n->text = slice_of(text, length);
	n->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	*ret = n;
	return 0;
}

static int conf_value(
	struct conf_reader *r, const yaml_event_t *e, unsigned depth, struct conf_node **ret);

/* Adds one member; at most CONF_KEYS earlier keys are compared. */
static int conf_member(struct conf_reader *r, struct conf_node *map, const yaml_event_t *e,
	unsigned depth, struct conf_node **ret)
{
	struct conf_node *key, *value = NULL;
	yaml_event_t next;
	int err;

	if (e->type != YAML_SCALAR_EVENT)
		return conf_fault_mark(r, e->start_mark,
			e->type == YAML_ALIAS_EVENT ? "aliases are not allowed"
						    : "a key must be plain text");
	if (map->count == CONF_KEYS)
		return conf_fault_mark(r, e->start_mark, "too many keys in one map");
	err = conf_scalar(r, e, &key);
	if (err < 0)
		return err;
	for (const struct conf_node *m = map->first; m; m = m->next)
		if (slice_eq(m->key->text, key->text)) {
			char what[80];

			(void)snprintf(what, sizeof(what), "duplicate key; the first is in line %u",
				m->key->line);
			return conf_fault_mark(r, e->start_mark, what);
		}
	err = conf_event(r, &next);
	if (err < 0)
		return err;
	err = conf_value(r, &next, depth, &value);
	conf_event_done(&next);
	if (err < 0)
		return err;
	value->key = key;
	*ret = value;
	return 0;
}

static int conf_container(
	struct conf_reader *r, struct conf_node *n, yaml_event_type_t end, unsigned depth)
{
	struct conf_node **tail = &n->first;

	for (;;) {
		struct conf_node *member = NULL;
		yaml_event_t e;
		bool last;
		int err = conf_event(r, &e);

		if (err < 0)
			return err;
		last = e.type == end;
		if (!last)
			err = n->kind == CONF_MAP ? conf_member(r, n, &e, depth + 1, &member)
						  : conf_value(r, &e, depth + 1, &member);
		conf_event_done(&e);
		if (err < 0 || last)
			return err;
		*tail = member;
		tail = &member->next;
		n->count++;
	}
}

static int conf_value(
	struct conf_reader *r, const yaml_event_t *e, unsigned depth, struct conf_node **ret)
{
	bool map = e->type == YAML_MAPPING_START_EVENT, list = e->type == YAML_SEQUENCE_START_EVENT;
	int err;

	if (e->type == YAML_ALIAS_EVENT)
		return conf_fault_mark(r, e->start_mark, "aliases are not allowed");
	if (e->type == YAML_SCALAR_EVENT)
		return conf_scalar(r, e, ret);
	if (!map && !list)
		return conf_fault_mark(r, e->start_mark, "the document is not complete");
	if (map ? e->data.mapping_start.anchor : e->data.sequence_start.anchor)
		return conf_fault_mark(r, e->start_mark, "anchors are not allowed");
	if (map ? e->data.mapping_start.tag : e->data.sequence_start.tag)
		return conf_fault_mark(r, e->start_mark, "tags are not allowed");
	if (depth > LIMIT_DOCUMENT_DEPTH)
		return conf_fault_mark(r, e->start_mark, "nested too deep");
	err = conf_node_new(r, e, map ? CONF_MAP : CONF_LIST, ret);
	if (err < 0)
		return err;
	return conf_container(
		r, *ret, map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT, depth);
}

/* One event that must be of that type; another one is told as `what`. */
static int conf_expect(struct conf_reader *r, yaml_event_type_t type, const char *what)
{
	yaml_event_t e;
	int err = conf_event(r, &e);

	if (err < 0)
		return err;
	if (e.type != type)
		err = conf_fault_mark(r, e.start_mark, what);
	conf_event_done(&e);
	return err;
}

static int conf_document(struct conf_reader *r)
{
	struct conf_node *root = NULL;
	yaml_event_t e;
	int err;

	err = conf_expect(r, YAML_STREAM_START_EVENT, "not a document");
	if (err == 0)
		err = conf_expect(r, YAML_DOCUMENT_START_EVENT, "the document is empty");
	if (err == 0)
		err = conf_event(r, &e);
	if (err < 0)
		return err;
	err = conf_value(r, &e, 1, &root);
	conf_event_done(&e);
	if (err == 0)
		err = conf_expect(r, YAML_DOCUMENT_END_EVENT, "the document goes on after its end");
	if (err == 0)
		err = conf_expect(r, YAML_STREAM_END_EVENT, "a second document is not allowed");
	if (err == 0)
		r->store->doc.root = root;
	return err;
}

/* ---- JSON's surrogate pairs ---- */

/* The value of \uXXXX at p, or -1. */
static long conf_unit(struct slice s)
{
	long value = 0;

	if (s.n < 6 || s.p[0] != '\\' || s.p[1] != 'u')
		return -1;
	for (unsigned i = 2; i < 6; i++) {
		uint8_t c = slice_lower(s.p[i]);

		if (c >= '0' && c <= '9')
			value = value * 16 + (c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value * 16 + (c - 'a' + 10);
		else
			return -1;
	}
	return value;
}

/* Copies in to `to` (as long as in, and one byte for the NUL of snprintf) and returns the length.
 */
static size_t conf_pairs(struct slice in, char *to)
{
	size_t n = 0;

	while (in.n) {
		long high = conf_unit(in), low = high < 0 ? -1 : conf_unit(slice_skip(in, 6));

		if (high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
			long c = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);

			n += (size_t)snprintf(to + n, 11, "\\U%08lX", (unsigned long)c);
			in = slice_skip(in, 12);
			continue;
		}
		/* an escape is taken whole, so that the second of two backslashes begins none */
		for (size_t k = in.p[0] == '\\' && in.n > 1 ? 2 : 1; k; k--, in = slice_skip(in, 1))
			to[n++] = (char)in.p[0];
	}
	return n;
}

/* ---- the whole ---- */

static void conf_reader_done(struct conf_reader *r)
{
	yaml_parser_t *p = &r->parser;

	if (p->raw_buffer.start)
		explicit_bzero(
			p->raw_buffer.start, (size_t)(p->raw_buffer.end - p->raw_buffer.start));
	if (p->buffer.start)
		explicit_bzero(p->buffer.start, (size_t)(p->buffer.end - p->buffer.start));
	yaml_parser_delete(p);
}

static int conf_parse_into(struct conf_store *s, struct slice text, struct fault *fault)
{
	struct conf_reader r = {.store = s, .fault = fault, .text = text};
	char *copy = NULL;
	int err;

	if (text.n > LIMIT_DOCUMENT)
		return conf_fault_at(&s->doc, 1, 1, fault, "the document is larger than 1 MiB");
	if (text.n && text.p[0] == '{') {
		copy = malloc(text.n + 1);
		if (!copy)
			return -ENOMEM;
		r.text = slice_of(copy, conf_pairs(text, copy));
	}
	if (yaml_parser_initialize(&r.parser)) {
		yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
		yaml_parser_set_input_string(
			&r.parser, r.text.p ? r.text.p : (const uint8_t *)"", r.text.n);
		err = conf_document(&r);
		conf_reader_done(&r);
	} else {
		err = -ENOMEM;
	}
	if (copy)
		explicit_bzero(copy, text.n + 1);
	free(copy);
	return err;
}

static int conf_parse_new(struct slice text, const char *file, bool sealed, struct fault *fault,
	struct conf_doc **ret)
{
	struct conf_store *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		return -ENOMEM;
	s->doc.sealed = sealed;
	s->doc.file = conf_copy(s, file, strlen(file));
	if (s->doc.file)
		err = conf_parse_into(s, text, fault);
	if (err < 0) {
		conf_free(&s->doc);
		return err;
	}
	*ret = &s->doc;
	return 0;
}

int conf_parse(struct slice text, const char *file, struct fault *fault, struct conf_doc **ret)
{
	return conf_parse_new(text, file, false, fault, ret);
}

int conf_parse_sealed(
	struct slice text, const char *file, struct fault *fault, struct conf_doc **ret)
{
	return conf_parse_new(text, file, true, fault, ret);
}

const struct conf_node *conf_get(const struct conf_node *map, const char *name)
{
	struct slice wanted = slice_str(name);

	if (map->kind != CONF_MAP)
		return NULL;
	for (const struct conf_node *m = map->first; m; m = m->next)
		if (slice_eq(m->key->text, wanted))
			return m;
	return NULL;
}
