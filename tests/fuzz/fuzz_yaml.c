/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_yaml.c – any bytes are a document or a fault with a place. What was read has the promised
 * bounds, and reading it again gives the same tree. A document that begins with `{` and has
 * surrogate pairs goes through their rewriting.
 */
#include "../../userspace/conf/yaml.c"

static unsigned walk(const struct conf_node *n, unsigned depth)
{
	unsigned members = 0, nodes = 1;

	if (depth > LIMIT_DOCUMENT_DEPTH + 1 || !n->line || !n->column)
		abort();
	if (n->kind == CONF_SCALAR &&
		(n->first || memchr(n->text.p, 0, n->text.n) || n->text.p[n->text.n]))
		abort();
	for (const struct conf_node *m = n->first; m; m = m->next, members++) {
		if ((n->kind == CONF_MAP) != (m->key != NULL))
			abort();
		for (const struct conf_node *o = m->next; o && n->kind == CONF_MAP; o = o->next)
			if (slice_eq(o->key->text, m->key->text))
				abort();
		nodes += walk(m, depth + 1);
	}
	if (members != n->count || (n->kind == CONF_MAP && members > CONF_KEYS))
		abort();
	return nodes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fault one = {{0}}, two = {{0}};
	struct conf_doc *a = NULL, *b = NULL;
	int r = conf_parse(slice_of(data, size), "f", &one, &a),
	    again = conf_parse(slice_of(data, size), "f", &two, &b);

	if (r != again || strcmp(one.text, two.text) != 0)
		abort();
	if (r == 0 && (one.text[0] || walk(a->root, 1) > CONF_NODES ||
			      walk(a->root, 1) != walk(b->root, 1)))
		abort();
	if (r < 0 && (r != -EBADMSG || strncmp(one.text, "f:", 2) != 0 || a || b))
		abort();
	conf_free(a);
	conf_free(b);
	return 0;
}
