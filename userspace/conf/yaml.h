/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml.h – a document as a strict tree with positions: the one reader for the policy, the
 * credentials, the configuration and our own records. YAML, or JSON when the first byte is `{`.
 *
 * Refused with FILE:LINE:COLUMN: more than LIMIT_DOCUMENT bytes, LIMIT_DOCUMENT_DEPTH levels,
 * CONF_NODES nodes or CONF_KEYS keys in one map; duplicate keys, keys that are not scalars,
 * anchors, aliases, tags, a second document, bytes that are not UTF-8, NUL in a scalar. The tree
 * may hold secrets, so it is wiped when it is freed.
 */
#ifndef SALLYPORT_CONF_YAML_H
#define SALLYPORT_CONF_YAML_H

#include "base/fault.h"
#include "base/slice.h"

enum {
	CONF_NODES = 65536, /* of one document */
	CONF_KEYS = 64, /* of one map: all our maps have fixed keys */
};

enum conf_kind { CONF_SCALAR, CONF_MAP, CONF_LIST };

struct conf_node {
	enum conf_kind kind;
	bool quoted; /* a scalar in quotes: always text, never a number, a truth value or nothing */
	unsigned line, column; /* of its first character, from 1 */
	struct slice text; /* scalar: its bytes; a NUL follows them that is not counted */
	struct conf_node *key; /* member of a map: the scalar that names it */
	struct conf_node *first; /* of a map or a list: its members, in the order of the document */
	struct conf_node *next;
	unsigned count; /* of members */
};

struct conf_doc {
	const char *file; /* as given to conf_parse(), copied */
	struct conf_node *root;
	bool sealed; /* secrets may be in it: no message quotes anything of it */
};

/* Reads one document. 0, -EBADMSG with the fault set, -ENOMEM. The text is not kept. Free with
 * conf_free(). */
int conf_parse(struct slice text, const char *file, struct fault *fault, struct conf_doc **ret);

/* The same for a document that may hold secrets. */
int conf_parse_sealed(
	struct slice text, const char *file, struct fault *fault, struct conf_doc **ret);

/* Wipes and frees the tree. NULL is allowed. */
void conf_free(struct conf_doc *doc);

/* The member of that name, or NULL. */
const struct conf_node *conf_get(const struct conf_node *map, const char *name);

/* Sets the fault to "FILE:LINE:COLUMN: text" and returns -EBADMSG. */
int conf_fault(const struct conf_doc *doc, const struct conf_node *at, struct fault *fault,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
