/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credset.h – the credentials of a document (or of several): names, bindings and the values as they
 * are now (sallyport-credentials(5)). A set never changes; when a source changes, credset_refresh()
 * makes another that shares everything else. Shared between threads by reference; a request keeps
 * its reference while it needs a value.
 */
#ifndef SALLYPORT_CRED_CREDSET_H
#define SALLYPORT_CRED_CREDSET_H

#include "base/fault.h"
#include "base/slice.h"
#include "cred/source.h"

struct conf_table;
struct credset;
struct host;
struct host_pattern;
struct policy;

enum { CREDSET_MAX = 256 }; /* credentials of one set */

/* Where in a request a placeholder is swapped: bits. */
enum cred_position { CRED_BEARER = 1, CRED_BASIC_PASSWORD = 2 };

/* The word of the document: "bearer". */
const char *cred_position_name(enum cred_position position);

struct cred_binding {
	struct host_pattern *hosts;
	unsigned nhosts;
	unsigned positions; /* cred_position bits */
	const char **methods; /* any of these; nmethods 0 = all */
	unsigned nmethods;
	unsigned line, column;
};

struct credential {
	const char *name;
	const char *env; /* the variable that hands out the placeholder, or NULL */
	const char *path; /* of a file source, NULL when the value stands in the document */
	bool weak, plain_http;
	bool refuse; /* misdirected: refuse */
	struct cred_binding *bindings;
	unsigned nbindings;
	unsigned line, column;
};

/* ---- life ---- */

/*
 * Reads a document and the sources that it names. 0, -EBADMSG with the fault set (also for a source
 * that cannot be read or whose value is not acceptable; the value is never in the text), -ENOMEM.
 */
int credset_load(struct slice text, const char *file, const struct source_trust *trust,
	struct fault *fault, struct credset **ret);
/* One set of several, sharing their values. -EEXIST with the fault set when two have a name or a
 * variable in common. */
int credset_merge(
	struct credset *const *parts, unsigned n, struct fault *fault, struct credset **ret);
struct credset *credset_ref(struct credset *s);
/* NULL is allowed. The last reference to a value wipes it. */
void credset_unref(struct credset *s);

/*
 * Looks at every file source; call it each TIME_SOURCE_CHECK, from one thread. 1 and a new set (the
 * caller's) when a value, an availability or a cause changed, 0 when not, -ENOMEM. A file that we
 * may not read at the first look after the load (privileges were dropped) keeps its value and is
 * not looked at again: credset_rotates() is false then.
 */
int credset_refresh(struct credset *now, struct credset **ret);

/* Under default: deny each host of a binding must be opened by some rule, and not by a tunnel, in
 * which nothing is swapped. 0 or -EBADMSG with the fault set. */
int credset_check_against_policy(
	const struct credset *s, const struct policy *p, struct fault *fault);

/* What is not an error but worth a line: uses that are wider or weaker than usual, values that do not
 * rotate. Each as FILE:LINE:COLUMN, without anything of a value. */
void credset_check(const struct credset *s, void (*warn)(void *arg, const char *text), void *arg);

/* The same for what a policy makes of a set: bindings to hosts that it tunnels at 443. */
void credset_check_tunnels(const struct credset *s, const struct policy *p,
	void (*warn)(void *arg, const char *text), void *arg);

/* ---- what is in it ---- */

unsigned credset_count(const struct credset *s);
const struct credential *credset_at(const struct credset *s, unsigned i);
/* The index of that name, or -ENOENT. */
int credset_find(const struct credset *s, struct slice name);

/* Borrowed from the set; empty when there is no value now. */
struct slice credset_value(const struct credset *s, unsigned i);
/* Why there is none (a constant), NULL when there is one. */
const char *credset_cause(const struct credset *s, unsigned i);
/* Whether a change of the source will be noticed. */
bool credset_rotates(const struct credset *s, unsigned i);

/* The binding that lets credential i be used there, or NULL. position is one bit. */
const struct cred_binding *credset_binding(const struct credset *s, unsigned i,
	const struct host *host, bool over_tls, struct slice method, enum cred_position position);

/* Whether some binding names the host: then TLS to it is terminated. s may be NULL: none does. */
bool credset_binds(const struct credset *s, const struct host *host);

/* The key tables, for the manual's check. */
const struct conf_table *const *credset_tables(unsigned *ret_n);

#endif
