/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credset.c – see credset.h. A set is an array of (definition, value) by reference: making the next
 * set after a rotation copies pointers, never a value.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cred/credset_internal.h"
#include "policy/policy.h"

static struct credset *credset_new(unsigned n)
{
	struct credset *s = calloc(1, sizeof(*s) + n * sizeof(s->entries[0]));

	if (s)
		atomic_init(&s->refs, 1);
	return s;
}

/* Takes over the reference to the value, adds one to the document. */
static void credset_add(struct credset *s, struct cred_document *d, const struct credential *c,
	struct cred_value *v)
{
	atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
	s->entries[s->n++] = (struct credset_entry){d, c, v};
}

struct credset *credset_ref(struct credset *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void credset_unref(struct credset *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (unsigned i = 0; i < s->n; i++) {
		cred_value_unref(s->entries[i].value);
		cred_document_unref(s->entries[i].document);
	}
	free(s);
}

/* ---- load ---- */

/* At the load a value must be there and acceptable; later it may go and come back. */
static int credset_first_value(struct cred_document *d, const struct credential *c,
	const struct conf_node *source, struct fault *fault, struct cred_value **ret)
{
	struct fault inner = {{0}};
	struct cred_value *v = NULL;
	int r = c->path ? cred_value_from_file(c, &d->trust, &inner, &v)
			: cred_value_from_text(c, source->text, &v);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return conf_fault(
			d->doc, source, fault, "credential `%s`: %s", c->name, inner.text);
	if (v->cause) {
		r = conf_fault(d->doc, source, fault, "credential `%s`: %s", c->name, v->cause);
		cred_value_unref(v);
		return r;
	}
	*ret = v;
	return 0;
}

static int credset_values(struct credset *s, struct cred_document *d,
	const struct conf_node *const *sources, struct fault *fault)
{
	for (unsigned i = 0; i < d->n; i++) {
		const struct credential *c = &d->credentials[i];
		struct cred_value *v = NULL;
		int r = credset_first_value(d, c, sources[i], fault, &v);

		if (r < 0)
			return r;
		credset_add(s, d, c, v);
		if (!c->path) /* the tree is ours: the only copy from now on is the locked one */
			explicit_bzero((void *)(uintptr_t)sources[i]->text.p, sources[i]->text.n);
	}
	return 0;
}

int credset_load(struct slice text, const char *file, const struct source_trust *trust,
	struct fault *fault, struct credset **ret)
{
	const struct conf_node *sources[CREDSET_MAX] = {0};
	struct cred_document *d;
	struct credset *s;
	int r = cred_document_load(text, file, trust, fault, &d, &sources);

	if (r < 0)
		return r;
	s = credset_new(d->n);
	r = s ? credset_values(s, d, sources, fault) : -ENOMEM;
	cred_document_unref(d);
	if (r < 0) {
		credset_unref(s);
		return r;
	}
	*ret = s;
	return 0;
}

/* ---- several documents ---- */

static int credset_clash(
	const struct credset *s, const struct credset_entry *e, struct fault *fault)
{
	const struct credential *c = e->credential;

	for (unsigned i = 0; i < s->n; i++) {
		const struct credential *o = s->entries[i].credential;

		if (strcmp(o->name, c->name) == 0)
			return fault_set(fault, -EEXIST, "%s: credential `%s` is in %s as well",
				e->document->doc->file, c->name, s->entries[i].document->doc->file);
		if (o->env && c->env && strcmp(o->env, c->env) == 0)
			return fault_set(fault, -EEXIST,
				"%s: credential `%s` has the same env as `%s` in %s",
				e->document->doc->file, c->name, o->name,
				s->entries[i].document->doc->file);
	}
	return 0;
}

int credset_merge(
	struct credset *const *parts, unsigned n, struct fault *fault, struct credset **ret)
{
	unsigned total = 0;
	struct credset *s;

	for (unsigned i = 0; i < n; i++)
		total += parts[i]->n;
	if (total > CREDSET_MAX)
		return fault_set(
			fault, -E2BIG, "more than %d credentials for one sandbox", CREDSET_MAX);
	s = credset_new(total);
	if (!s)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < parts[i]->n; k++) {
			const struct credset_entry *e = &parts[i]->entries[k];
			int r = credset_clash(s, e, fault);

			if (r < 0) {
				credset_unref(s);
				return r;
			}
			credset_add(s, e->document, e->credential, cred_value_ref(e->value));
		}
	*ret = s;
	return 0;
}

/* ---- rotation ---- */

/* The set to change: a copy of now at the first change. */
static int credset_replace(
	const struct credset *now, struct credset **next, unsigned i, struct cred_value *v)
{
	if (!*next) {
		*next = credset_new(now->n);
		if (!*next)
			return -ENOMEM;
		for (unsigned k = 0; k < now->n; k++)
			credset_add(*next, now->entries[k].document, now->entries[k].credential,
				cred_value_ref(now->entries[k].value));
	}
	cred_value_unref((*next)->entries[i].value);
	(*next)->entries[i].value = v;
	return 0;
}

int credset_refresh(struct credset *now, struct credset **ret)
{
	struct credset *next = NULL;

	for (unsigned i = 0; i < now->n; i++) {
		const struct credset_entry *e = &now->entries[i];
		struct cred_value *v;
		int r = cred_value_look(e->credential, &e->document->trust, e->value, &v);

		if (r > 0) {
			r = credset_replace(now, &next, i, v);
			if (r < 0)
				cred_value_unref(v);
		}
		if (r < 0) {
			credset_unref(next);
			return r;
		}
	}
	if (!next)
		return 0;
	*ret = next;
	return 1;
}

/* ---- questions ---- */

int credset_check_against_policy(
	const struct credset *s, const struct policy *p, struct fault *fault)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct credential *c = s->entries[i].credential;

		for (unsigned k = 0; k < c->nbindings; k++)
			for (unsigned h = 0; h < c->bindings[k].nhosts; h++) {
				const struct cred_binding *b = &c->bindings[k];
				const struct host_pattern *host = &b->hosts[h];

				const char *tunnel;

				if (policy_opens_pattern(p, host))
					continue;
				tunnel = policy_tunnels_pattern(p, host, 0);
				return fault_set(fault, -EBADMSG,
					"%s:%u:%u: credential `%s` is bound to %s%s, which %s "
					"of policy `%s` opens%s%s%s",
					s->entries[i].document->doc->file, b->line, b->column,
					c->name, host->kind == HOST_PATTERN_SUFFIX ? "*." : "",
					host->kind == HOST_PATTERN_NET ? "an address" : host->text,
					tunnel ? "no rule with `action: allow`" : "no rule",
					policy_name(p), tunnel ? ": in the tunnel of rule `" : "",
					tunnel ? tunnel : "", tunnel ? "` nothing is swapped" : "");
			}
	}
	return 0;
}

bool credset_binds(const struct credset *s, const struct host *host)
{
	for (unsigned i = 0; s && i < s->n; i++) {
		const struct credential *c = s->entries[i].credential;

		for (unsigned k = 0; k < c->nbindings; k++)
			if (lists_hosts_match(c->bindings[k].hosts, c->bindings[k].nhosts, host))
				return true;
	}
	return false;
}

unsigned credset_count(const struct credset *s)
{
	return s->n;
}

const struct credential *credset_at(const struct credset *s, unsigned i)
{
	return s->entries[i].credential;
}

int credset_find(const struct credset *s, struct slice name)
{
	for (unsigned i = 0; i < s->n; i++)
		if (slice_eq(slice_str(s->entries[i].credential->name), name))
			return (int)i;
	return -ENOENT;
}

struct slice credset_value(const struct credset *s, unsigned i)
{
	const struct secret *secret = s->entries[i].value->secret;

	return secret ? secret_slice(secret) : (struct slice){0};
}

const char *credset_cause(const struct credset *s, unsigned i)
{
	return s->entries[i].value->cause;
}

bool credset_rotates(const struct credset *s, unsigned i)
{
	return !s->entries[i].value->fixed;
}

const struct cred_binding *credset_binding(const struct credset *s, unsigned i,
	const struct host *host, bool over_tls, struct slice method, enum cred_position position)
{
	const struct credential *c = s->entries[i].credential;

	if (!over_tls && !c->plain_http)
		return NULL;
	for (unsigned k = 0; k < c->nbindings; k++) {
		const struct cred_binding *b = &c->bindings[k];

		if ((b->positions & position) &&
			lists_methods_match(b->methods, b->nmethods, method) &&
			lists_hosts_match(b->hosts, b->nhosts, host))
			return b;
	}
	return NULL;
}
