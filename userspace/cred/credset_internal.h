/* SPDX-License-Identifier: Apache-2.0 */
/* credset_internal.h – what a set of credentials is made of. Only for files in this folder. */
#ifndef SALLYPORT_CRED_CREDSET_INTERNAL_H
#define SALLYPORT_CRED_CREDSET_INTERNAL_H

#include <stdatomic.h>

#include "base/secret.h"
#include "conf/yaml.h"
#include "cred/credset.h"
#include "policy/lists.h"

/* One document: names and bindings. Immutable. */
struct cred_document {
	atomic_uint refs;
	struct conf_doc *doc; /* texts are borrowed from it; values in it are wiped */
	struct source_trust trust;
	struct credential *credentials;
	unsigned n;
};

/* The value of one credential at one time. Workers read secret and cause; the rest is the
 * refreshing thread's. */
struct cred_value {
	atomic_uint refs;
	struct secret *secret; /* NULL = */
	const char *cause; /* unavailable, with this constant reason */
	struct source_mark mark;
	bool looked; /* at least once since the load, so privileges are what they will be */
	bool fixed; /* will not be looked at again */
};

struct credset_entry {
	struct cred_document *document;
	const struct credential *credential;
	struct cred_value *value;
};

struct credset {
	atomic_uint refs;
	unsigned n;
	struct credset_entry entries[];
};

/*
 * load.c: the definitions of a document, and of each the scalar that is its source: the path where
 * credential.path is set, else the value itself. 0, -EBADMSG with the fault set, -ENOMEM; the
 * document has one reference then.
 */
int cred_document_load(struct slice text, const char *file, const struct source_trust *trust,
	struct fault *fault, struct cred_document **ret,
	const struct conf_node *(*ret_sources)[CREDSET_MAX]);
void cred_document_unref(struct cred_document *d);

/* value.c: a new value with one reference, by reading the source. */
int cred_value_from_text(const struct credential *c, struct slice text, struct cred_value **ret);
int cred_value_from_file(const struct credential *c, const struct source_trust *trust,
	struct fault *fault, struct cred_value **ret);
/* One look at a file source: 1 and the value that replaces `now`, 0 = it stays, -ENOMEM. */
int cred_value_look(const struct credential *c, const struct source_trust *trust,
	struct cred_value *now, struct cred_value **ret);
struct cred_value *cred_value_ref(struct cred_value *v);
void cred_value_unref(struct cred_value *v);

#endif
