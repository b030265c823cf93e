/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c – what a credentials document permits that is wider or weaker than usual, and what of it
 * will not work as its author may expect. One line each, never with a value in it; the questions are
 * the rows of `check_questions`.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "cred/credset_internal.h"
#include "policy/policy.h"

enum { CHECK_TLS_PORT = 443 };

static bool check_wide(const struct host_pattern *p)
{
	return p->kind == HOST_PATTERN_SUFFIX || (p->kind == HOST_PATTERN_NET && p->prefix < 128);
}

static bool check_wildcard(const struct credset_entry *e)
{
	for (unsigned i = 0; i < e->credential->nbindings; i++)
		for (unsigned k = 0; k < e->credential->bindings[i].nhosts; k++)
			if (check_wide(&e->credential->bindings[i].hosts[k]))
				return true;
	return false;
}

static bool check_plain(const struct credset_entry *e)
{
	return e->credential->plain_http;
}

static bool check_short(const struct credset_entry *e)
{
	return e->value->secret && secret_slice(e->value->secret).n < LIMIT_SECRET_WEAK;
}

static bool check_weak(const struct credset_entry *e)
{
	return e->credential->weak && !check_short(e);
}

static bool check_in_document(const struct credset_entry *e)
{
	return !e->credential->path;
}

static bool check_no_variable(const struct credset_entry *e)
{
	return !e->credential->env;
}

static const struct {
	bool (*asks)(const struct credset_entry *e);
	const char *warning;
} check_questions[] = {
	{check_plain, "`plain_http: true`: the value is also sent without TLS, where everybody on "
		      "the way reads it"},
	{check_short, "the value has less than 16 bytes: it can be guessed, and found by chance in "
		      "what a sandbox sends"},
	{check_weak, "`weak: true` is not needed: the value has 16 bytes or more; remove it"},
	{check_wildcard, "a binding holds a wildcard or a range: every host in it gets the value; "
			 "name the hosts if you can"},
	{check_in_document, "the value stands in the document: it does not rotate, and parts of it "
			    "pass through memory that is not locked; write `source: {file: …}`"},
	{check_no_variable, "no `env`: nothing hands its placeholder to a program"},
};

static void check_tunnelled(const struct credset_entry *e, const struct cred_binding *b,
	const struct policy *p, void (*warn)(void *arg, const char *text), void *arg)
{
	for (unsigned i = 0; i < b->nhosts; i++) {
		const char *rule = policy_tunnels_pattern(p, &b->hosts[i], CHECK_TLS_PORT);
		struct fault line = {{0}};

		if (!rule)
			continue;
		(void)fault_set(&line, 0,
			"%s:%u:%u: credential `%s` is bound to hosts that rule `%s` of policy `%s` "
			"tunnels "
			"at port 443: nothing is swapped there",
			e->document->doc->file, b->line, b->column, e->credential->name, rule,
			policy_name(p));
		warn(arg, line.text);
		return;
	}
}

void credset_check_tunnels(const struct credset *s, const struct policy *p,
	void (*warn)(void *arg, const char *text), void *arg)
{
	for (unsigned i = 0; i < s->n; i++)
		for (unsigned k = 0; k < s->entries[i].credential->nbindings; k++)
			check_tunnelled(&s->entries[i], &s->entries[i].credential->bindings[k], p,
				warn, arg);
}

void credset_check(const struct credset *s, void (*warn)(void *arg, const char *text), void *arg)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct credset_entry *e = &s->entries[i];

		for (unsigned k = 0; k < ARRAY_SIZE(check_questions); k++) {
			struct fault line = {{0}};

			if (!check_questions[k].asks(e))
				continue;
			(void)fault_set(&line, 0, "%s:%u:%u: credential `%s`: %s",
				e->document->doc->file, e->credential->line, e->credential->column,
				e->credential->name, check_questions[k].warning);
			warn(arg, line.text);
		}
	}
}
