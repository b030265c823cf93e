/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h – the keys of a map as rows: name, type, where the value goes, what it is for. The rows
 * feed the loader, its messages (unknown key: the nearest known one is named; a key of the contract
 * that is not built yet: refused) and the test that compares the manual pages with them.
 */
#ifndef SALLYPORT_CONF_TABLE_H
#define SALLYPORT_CONF_TABLE_H

#include "conf/yaml.h"

enum conf_type {
	CONF_TYPE_TEXT, /* const char *: not empty; borrowed from the tree */
	CONF_TYPE_BOOL, /* bool: true or false, nothing else */
	CONF_TYPE_NUMBER, /* uint64_t: decimal, min <= value <= max */
	CONF_TYPE_WORD, /* int: one of `words` */
	CONF_TYPE_NODE, /* const struct conf_node *: read by the caller */
	CONF_TYPE_LIST, /* the same, known to be a list that is not empty */
	CONF_TYPE_ROWS, /* the same, for a list of maps */
	CONF_TYPE_MAP, /* the same, known to be a map */
	CONF_TYPE_LATER, /* part of the contract, not available in this version */
};

/* A word of a closed list. A word that ends in ':' stands for every text that begins so. */
struct conf_word {
	const char *word;
	int value;
	bool later; /* not available in this version */
};

struct conf_key {
	const char *name;
	enum conf_type type;
	bool required;
	size_t offset; /* of the value in the struct that is filled */
	const struct conf_word *words; /* CONF_TYPE_WORD; ends with a NULL word */
	uint64_t min, max; /* CONF_TYPE_NUMBER */
	const char *help;
};

struct conf_table {
	const char *name; /* what the map is, for messages: "rule" */
	const struct conf_key *keys;
	unsigned n;
};

/*
 * Fills the struct at ret (which the caller has set to the defaults) from the map. Values of absent
 * keys are left alone. 0, or -EBADMSG with the fault set; ret is then partly filled.
 */
int conf_read(const struct conf_table *table, const struct conf_doc *doc,
	const struct conf_node *map, struct fault *fault, void *ret);

/* One scalar as each of the types; -EBADMSG with the fault set. `what` names it in the message. */
int conf_text(const struct conf_doc *doc, const struct conf_node *n, const char *what,
	struct fault *fault, const char **ret);
int conf_number(const struct conf_doc *doc, const struct conf_node *n, const char *what,
	uint64_t min, uint64_t max, struct fault *fault, uint64_t *ret);
int conf_word(const struct conf_doc *doc, const struct conf_node *n, const char *what,
	const struct conf_word *words, struct fault *fault, int *ret);

/* "text", "list", … for the manual's check and for messages. */
const char *conf_type_name(enum conf_type type);

#endif
