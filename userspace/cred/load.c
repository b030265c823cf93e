/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.c – the key tables of sallyport-credentials(5) and how a document becomes names and
 * bindings. The document is sealed: no message quotes from it, except the names of credentials and
 * hints for hosts. Values are left where they stand; the caller takes and wipes them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "conf/table.h"
#include "cred/credset_internal.h"

enum { CRED_NAME = 64 };

/* ---- tables ---- */

struct cred_root_raw {
	const struct conf_node *credentials;
};

static const struct conf_key cred_root_keys[] = {
	{"credentials", CONF_TYPE_NODE, true, offsetof(struct cred_root_raw, credentials),
		.help = "the list of them"},
};
static const struct conf_table cred_root_table = {
	"a credentials document", cred_root_keys, ARRAY_SIZE(cred_root_keys)};

struct cred_raw {
	const char *name, *env;
	const struct conf_node *source, *swap;
	int shape, misdirected;
	bool plain_http, weak;
};

static const struct conf_word cred_shapes[] = {
	{"default", 0}, {"jwt", 1, true}, {"prefix:", 2, true}, {"like", 3, true}, {0}};
static const struct conf_word cred_misdirections[] = {{"forward", 0}, {"refuse", 1}, {0}};

#define KEY(member) offsetof(struct cred_raw, member)
static const struct conf_key cred_keys[] = {
	{"name", CONF_TYPE_TEXT, true, KEY(name), .help = "by which it is known everywhere"},
	{"source", CONF_TYPE_MAP, true, KEY(source), .help = "where the value comes from"},
	{"env", CONF_TYPE_TEXT, false, KEY(env),
		.help = "the variable that hands out the placeholder"},
	{"shape", CONF_TYPE_WORD, false, KEY(shape), cred_shapes, .help = "of the placeholder"},
	{"swap", CONF_TYPE_ROWS, true, KEY(swap), .help = "the bindings: where it may be used"},
	{"plain_http", CONF_TYPE_BOOL, false, KEY(plain_http), .help = "also without TLS"},
	{"weak", CONF_TYPE_BOOL, false, KEY(weak),
		.help = "the value may be shorter than 16 bytes"},
	{"misdirected", CONF_TYPE_WORD, false, KEY(misdirected), cred_misdirections,
		.help = "what happens to a placeholder that is no binding's"},
	{"inject", CONF_TYPE_LATER},
	{"use", CONF_TYPE_LATER},
	{"hosts", CONF_TYPE_LATER},
	{"lease", CONF_TYPE_LATER},
	{"expires", CONF_TYPE_LATER},
	{"on_echo", CONF_TYPE_LATER},
	{"scrub_skip", CONF_TYPE_LATER},
};
#undef KEY
static const struct conf_table cred_table = {"a credential", cred_keys, ARRAY_SIZE(cred_keys)};

struct cred_source_raw {
	const char *file;
	const struct conf_node *value;
};

static const struct conf_key cred_source_keys[] = {
	{"file", CONF_TYPE_TEXT, false, offsetof(struct cred_source_raw, file),
		.help = "path of a file that is the value"},
	{"value", CONF_TYPE_NODE, false, offsetof(struct cred_source_raw, value),
		.help = "the value itself"},
	{"exec", CONF_TYPE_LATER},
	{"refresh", CONF_TYPE_LATER},
	{"push", CONF_TYPE_LATER},
	{"env", CONF_TYPE_LATER},
	{"cert", CONF_TYPE_LATER},
	{"key", CONF_TYPE_LATER},
};
static const struct conf_table cred_source_table = {
	"a source", cred_source_keys, ARRAY_SIZE(cred_source_keys)};

struct cred_binding_raw {
	const struct conf_node *hosts, *in, *methods;
	bool wildcard;
};

#define KEY(member) offsetof(struct cred_binding_raw, member)
static const struct conf_key cred_binding_keys[] = {
	{"hosts", CONF_TYPE_LIST, true, KEY(hosts), .help = "patterns of hosts"},
	{"in", CONF_TYPE_LIST, true, KEY(in), .help = "positions in a request"},
	{"methods", CONF_TYPE_LIST, false, KEY(methods), .help = "default any"},
	{"wildcard", CONF_TYPE_BOOL, false, KEY(wildcard),
		.help = "hosts may hold a wildcard or a range"},
	{"paths", CONF_TYPE_LATER},
	{"upgrade", CONF_TYPE_LATER},
};
#undef KEY
static const struct conf_table cred_binding_table = {
	"a binding", cred_binding_keys, ARRAY_SIZE(cred_binding_keys)};

static const struct conf_word cred_positions[] = {{"bearer", CRED_BEARER},
	{"basic-password", CRED_BASIC_PASSWORD}, {"basic-user", 0, true}, {"header:", 0, true},
	{"raw-header", 0, true}, {"cookie:", 0, true}, {"query:", 0, true}, {"query", 0, true},
	{"path", 0, true}, {"form:", 0, true}, {"json:", 0, true}, {"body", 0, true},
	{"jwt", 0, true}, {0}};

const struct conf_table *const *credset_tables(unsigned *ret_n)
{
	static const struct conf_table *const all[] = {
		&cred_root_table, &cred_table, &cred_source_table, &cred_binding_table};

	*ret_n = ARRAY_SIZE(all);
	return all;
}

const char *cred_position_name(enum cred_position position)
{
	for (const struct conf_word *w = cred_positions; w->word; w++)
		if (w->value == (int)position && !w->later)
			return w->word;
	return "none";
}

/* ---- bindings ---- */

/* Suffixes under which anybody may register, besides every top-level domain. Not complete: a net
 * under the author. */
static const char *const cred_public_suffixes[] = {"ac.uk", "co.in", "co.jp", "co.kr", "co.nz",
	"co.uk", "co.za", "com.ar", "com.au", "com.br", "com.cn", "com.mx", "com.sg", "com.tr",
	"com.tw", "gov.uk", "ne.jp", "net.au", "net.cn", "or.jp", "org.au", "org.cn", "org.uk"};

static bool cred_public_suffix(const struct host_pattern *p)
{
	if (!strchr(p->text, '.'))
		return true;
	for (unsigned i = 0; i < ARRAY_SIZE(cred_public_suffixes); i++)
		if (strcmp(p->text, cred_public_suffixes[i]) == 0)
			return true;
	return false;
}

static int cred_hosts_check(const struct conf_doc *doc, const struct conf_node *list,
	const struct cred_binding *b, bool wildcard, struct fault *fault)
{
	const struct conf_node *n = list->first;

	for (unsigned i = 0; i < b->nhosts; i++, n = n->next) {
		const struct host_pattern *p = &b->hosts[i];
		bool wide = p->kind == HOST_PATTERN_SUFFIX ||
			    (p->kind == HOST_PATTERN_NET && p->prefix < 128);

		if (p->kind == HOST_PATTERN_ANY)
			return conf_fault(
				doc, n, fault, "a credential cannot be bound to every host");
		if (p->kind == HOST_PATTERN_SUFFIX && cred_public_suffix(p))
			return conf_fault(doc, n, fault,
				"a credential cannot be bound to a suffix under which anybody may "
				"register");
		if (wide && !wildcard)
			return conf_fault(doc, n, fault,
				"a wildcard or a range in a binding needs `wildcard: true` beside "
				"it");
	}
	return 0;
}

static int cred_fill_binding(const struct conf_doc *doc, const struct conf_node *n,
	struct fault *fault, struct cred_binding *b)
{
	struct cred_binding_raw raw = {0};
	int position, r = conf_read(&cred_binding_table, doc, n, fault, &raw);

	if (r < 0)
		return r;
	b->line = n->line;
	b->column = n->column;
	for (const struct conf_node *in = raw.in->first; in; in = in->next) {
		r = conf_word(doc, in, "in", cred_positions, fault, &position);
		if (r < 0)
			return r;
		b->positions |= (unsigned)position;
	}
	r = lists_hosts(doc, raw.hosts, false, fault, &b->hosts, &b->nhosts);
	if (r == 0)
		r = cred_hosts_check(doc, raw.hosts, b, raw.wildcard, fault);
	if (r == 0 && raw.methods)
		r = lists_methods(doc, raw.methods, fault, &b->methods, &b->nmethods);
	return r;
}

/* ---- credentials ---- */

static bool cred_name_good(const char *name, const char *more, bool digit_first)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < n; i++) {
		uint8_t c = (uint8_t)name[i], low = slice_lower(c);
		bool digit = c >= '0' && c <= '9' && (i > 0 || digit_first);

		if (!(low >= 'a' && low <= 'z') && !digit && !strchr(more, c))
			return false;
	}
	return n > 0 && n <= CRED_NAME;
}

static int cred_fill_source(const struct conf_doc *doc, const struct conf_node *n,
	struct fault *fault, struct credential *c, const struct conf_node **ret_source)
{
	struct cred_source_raw raw = {0};
	const char *text;
	int r = conf_read(&cred_source_table, doc, n, fault, &raw);

	if (r < 0)
		return r;
	if (!raw.file == !raw.value)
		return conf_fault(doc, n, fault, "a source needs `file` or `value`, one of them");
	if (raw.file && raw.file[0] != '/')
		return conf_fault(
			doc, conf_get(n, "file"), fault, "`file` must be an absolute path");
	if (raw.value)
		r = conf_text(doc, raw.value, "value", fault, &text);
	c->path = raw.file;
	*ret_source = raw.file ? conf_get(n, "file") : raw.value;
	return r;
}

static int cred_unique(const struct cred_document *d, const struct conf_node *n,
	const struct credential *c, struct fault *fault)
{
	for (const struct credential *o = d->credentials; o < c; o++) {
		if (strcmp(o->name, c->name) == 0)
			return conf_fault(d->doc, conf_get(n, "name"), fault,
				"there is a credential `%s` already", c->name);
		if (o->env && c->env && strcmp(o->env, c->env) == 0)
			return conf_fault(d->doc, conf_get(n, "env"), fault,
				"credential `%s` has this variable already", o->name);
	}
	return 0;
}

static int cred_fill(struct cred_document *d, const struct conf_node *n, struct fault *fault,
	struct credential *c, const struct conf_node **ret_source)
{
	struct cred_raw raw = {0};
	int r = conf_read(&cred_table, d->doc, n, fault, &raw);

	if (r < 0)
		return r;
	if (!cred_name_good(raw.name, "_.-", true))
		return conf_fault(d->doc, conf_get(n, "name"), fault,
			"a name is 1 to %d letters, digits, `_`, `.` and `-`", CRED_NAME);
	if (raw.env && !cred_name_good(raw.env, "_", false))
		return conf_fault(d->doc, conf_get(n, "env"), fault,
			"`env` is the name of a variable: letters, digits and `_`, no digit first");
	c->line = n->line;
	c->column = n->column;
	c->name = raw.name;
	c->env = raw.env;
	c->plain_http = raw.plain_http;
	c->weak = raw.weak;
	c->refuse = raw.misdirected;
	r = cred_unique(d, n, c, fault);
	if (r == 0)
		r = cred_fill_source(d->doc, raw.source, fault, c, ret_source);
	if (r < 0)
		return r;
	c->bindings = calloc(raw.swap->count, sizeof(*c->bindings));
	if (!c->bindings)
		return -ENOMEM;
	/* the count goes up before the member is filled, so that half of one is freed as well */
	for (const struct conf_node *b = raw.swap->first; b && r == 0; b = b->next)
		r = cred_fill_binding(d->doc, b, fault, &c->bindings[c->nbindings++]);
	return r;
}

static int cred_document_fill(struct cred_document *d, struct fault *fault,
	const struct conf_node *(*ret_sources)[CREDSET_MAX])
{
	struct cred_root_raw raw = {0};
	int r = conf_read(&cred_root_table, d->doc, d->doc->root, fault, &raw);

	if (r < 0)
		return r;
	if (raw.credentials->kind != CONF_LIST)
		return conf_fault(d->doc, raw.credentials, fault, "`credentials` must be a list");
	if (raw.credentials->count > CREDSET_MAX)
		return conf_fault(
			d->doc, raw.credentials, fault, "more than %d credentials", CREDSET_MAX);
	d->credentials = calloc(raw.credentials->count + 1, sizeof(*d->credentials));
	if (!d->credentials)
		return -ENOMEM;
	for (const struct conf_node *n = raw.credentials->first; n && r == 0; n = n->next, d->n++)
		r = cred_fill(d, n, fault, &d->credentials[d->n], &(*ret_sources)[d->n]);
	return r;
}

int cred_document_load(struct slice text, const char *file, const struct source_trust *trust,
	struct fault *fault, struct cred_document **ret,
	const struct conf_node *(*ret_sources)[CREDSET_MAX])
{
	struct cred_document *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	atomic_init(&d->refs, 1);
	d->trust = *trust;
	r = conf_parse_sealed(text, file, fault, &d->doc);
	if (r == 0)
		r = cred_document_fill(d, fault, ret_sources);
	if (r < 0) {
		cred_document_unref(d);
		return r;
	}
	*ret = d;
	return 0;
}

void cred_document_unref(struct cred_document *d)
{
	if (!d || atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (unsigned i = 0; i < d->n; i++) {
		struct credential *c = &d->credentials[i];

		for (unsigned k = 0; k < c->nbindings; k++) {
			free(c->bindings[k].hosts);
			free(c->bindings[k].methods);
		}
		free(c->bindings);
	}
	free(d->credentials);
	conf_free(d->doc);
	free(d);
}
