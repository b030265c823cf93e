/* SPDX-License-Identifier: Apache-2.0 */
/* daemon_conf.c – see daemon_conf.h. Texts are borrowed from the document's tree, which lives as
 * long as the result. */
#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "conf/daemon_conf.h"
#include "conf/table.h"
#include "model/range.h"

enum {
	DAEMON_CONF_DNS_PORT = 53,
	DAEMON_CONF_DRAIN = 30,
	DAEMON_CONF_DRAIN_MOST = 86400, /* netns-helper/proto.h: PROTO_DRAIN_MOST */
	DAEMON_CONF_POOL_LONGEST = 24, /* bits of the prefix of `synthetic` */
	DAEMON_CONF_POOL_SIZE = 1 << 17,
};
#define DAEMON_CONF_POOL_FIRST (198u << 24 | 18u << 16) /* 198.18.0.0/15 */

/* what stands around a struct daemon_conf */
struct daemon_conf_store {
	struct daemon_conf conf;
	struct conf_doc *doc;
	const struct conf_node *resolvers, *synthetic, *credentials, *audit;
};

#define KEY(member) offsetof(struct daemon_conf_store, member)

static const struct conf_key daemon_conf_keys[] = {
	{"state", CONF_TYPE_TEXT, false, KEY(conf.state),
		.help = "directory of sockets and records"},
	{"user", CONF_TYPE_TEXT, false, KEY(conf.user), .help = "whose uid the daemon takes"},
	{"helper_user", CONF_TYPE_LATER},
	{"workers", CONF_TYPE_NUMBER, false, KEY(conf.workers), .max = LIMIT_WORKERS,
		.help = "worker threads, 0 = one for each core"},
	{"resolvers", CONF_TYPE_LIST, false, KEY(resolvers), .help = "addresses of DNS servers"},
	{"synthetic", CONF_TYPE_NODE, false, KEY(synthetic),
		.help = "the range that names get addresses from"},
	{"ca", CONF_TYPE_TEXT, false, KEY(conf.ca), .help = "CA certificates for all upstreams"},
	{"credentials", CONF_TYPE_ROWS, false, KEY(credentials),
		.help = "documents and their sandboxes"},
	{"brokers", CONF_TYPE_LATER},
	{"audit", CONF_TYPE_MAP, false, KEY(audit), .help = "where the audit goes"},
	{"drain", CONF_TYPE_NUMBER, false, KEY(conf.drain), .max = DAEMON_CONF_DRAIN_MOST,
		.help = "seconds for what is under way when another daemon takes over"},
	{"key", CONF_TYPE_LATER},
};
#undef KEY

static const struct conf_table daemon_conf_table = {
	"the configuration", daemon_conf_keys, ARRAY_SIZE(daemon_conf_keys)};

static const struct conf_key daemon_audit_keys[] = {
	{"file", CONF_TYPE_TEXT, false, offsetof(struct daemon_conf, audit_file),
		.help = "path of the audit"},
	{"size", CONF_TYPE_NUMBER, false, offsetof(struct daemon_conf, audit_size), .min = 1 << 16,
		.max = 1ULL << 40, .help = "bytes before it is rotated"},
};

static const struct conf_table daemon_audit_table = {
	"audit", daemon_audit_keys, ARRAY_SIZE(daemon_audit_keys)};

struct daemon_credentials_raw {
	const struct conf_node *sandboxes, *descriptor;
	const char *file;
};

static const struct conf_key daemon_credentials_keys[] = {
	{"sandboxes", CONF_TYPE_LIST, true, offsetof(struct daemon_credentials_raw, sandboxes),
		.help = "ids, or a prefix and *"},
	{"file", CONF_TYPE_TEXT, false, offsetof(struct daemon_credentials_raw, file),
		.help = "path of a credentials document"},
	{"descriptor", CONF_TYPE_NODE, false, offsetof(struct daemon_credentials_raw, descriptor),
		.help = "an inherited descriptor with one"},
};

static const struct conf_table daemon_credentials_table = {
	"an entry of credentials", daemon_credentials_keys, ARRAY_SIZE(daemon_credentials_keys)};

const struct conf_table *const *daemon_conf_tables(unsigned *ret_n)
{
	static const struct conf_table *const all[] = {
		&daemon_conf_table, &daemon_audit_table, &daemon_credentials_table};

	*ret_n = ARRAY_SIZE(all);
	return all;
}

/* ADDRESS, IPV4:PORT or [IPV6]:PORT */
static int daemon_conf_resolver(struct slice text, struct addr *ret)
{
	struct slice host = text, port = {0};
	unsigned number = 0;
	size_t colon;

	if (text.n && text.p[0] == '[') {
		size_t end = slice_find(text, ']');

		if (end == text.n)
			return -EINVAL;
		host = slice_skip(slice_first(text, end), 1);
		port = slice_skip(text, end + 1);
	} else if ((colon = slice_find(text, ':')) < text.n &&
		   slice_find(slice_skip(text, colon + 1), ':') == text.n - colon - 1) {
		host = slice_first(text, colon);
		port = slice_skip(text, colon);
	}
	if (addr_parse(host, ret) < 0)
		return -EINVAL;
	ret->port = DAEMON_CONF_DNS_PORT;
	if (port.n == 0)
		return 0;
	if (port.p[0] != ':' || port.n < 2 || port.n > 6)
		return -EINVAL;
	for (size_t i = 1; i < port.n; i++) {
		if (port.p[i] < '0' || port.p[i] > '9')
			return -EINVAL;
		number = number * 10 + (unsigned)(port.p[i] - '0');
	}
	ret->port = (uint16_t)number;
	return number >= 1 && number <= 65535 ? 0 : -EINVAL;
}

static int daemon_conf_resolvers(struct daemon_conf_store *s, struct fault *fault)
{
	const struct conf_node *list = s->resolvers;

	if (!list)
		return 0;
	for (const struct conf_node *n = list->first; n; n = n->next) {
		const char *text;
		int r = conf_text(s->doc, n, "resolvers", fault, &text);

		if (r < 0)
			return r;
		if (s->conf.nresolvers == DAEMON_CONF_RESOLVERS)
			return conf_fault(s->doc, n, fault,
				"`resolvers` holds at most %d addresses", DAEMON_CONF_RESOLVERS);
		if (daemon_conf_resolver(n->text, &s->conf.resolvers[s->conf.nresolvers]) < 0)
			return conf_fault(s->doc, n, fault,
				"a resolver is an address, with a port if need be (192.0.2.53, "
				"192.0.2.53:5353, [2001:db8::53]:5353)");
		s->conf.nresolvers++;
	}
	return 0;
}

/* ADDRESS/LENGTH of IPv4, host bits 0, of 256 addresses or more. 0 and the ends, or -EINVAL. */
static int daemon_conf_range(struct slice text, struct addr *ret_first, struct addr *ret_last)
{
	size_t slash = slice_find(text, '/');
	struct slice length = slice_skip(text, slash + 1);
	unsigned prefix = 0;

	if (addr_parse(slice_first(text, slash), ret_first) < 0 || !addr_is_v4(ret_first) ||
		slice_find(text, ':') < text.n)
		return -EINVAL;
	if (length.n == 0 || length.n > 2 || length.p[0] == '0')
		return -EINVAL;
	for (size_t i = 0; i < length.n; i++) {
		if (length.p[i] < '0' || length.p[i] > '9')
			return -EINVAL;
		prefix = prefix * 10 + (unsigned)(length.p[i] - '0');
	}
	if (prefix > DAEMON_CONF_POOL_LONGEST)
		return -EINVAL;
	*ret_last = *ret_first;
	for (unsigned bit = prefix; bit < 32; bit++) {
		uint8_t mask = (uint8_t)(0x80 >> bit % 8), *byte = ret_last->ip + 12 + bit / 8;

		if (*byte & mask)
			return -EINVAL;
		*byte |= mask;
	}
	return 0;
}

static uint32_t daemon_conf_v4(const struct addr *a)
{
	uint32_t v4;

	memcpy(&v4, a->ip + 12, sizeof(v4));
	return be32toh(v4);
}

/* What the kernel lets a sandbox ask for, and what is dialled by nobody: an address that stands for a name is both. */
static bool daemon_conf_pool(const struct addr *a)
{
	return range_sandbox(a) == RANGE_PUBLIC && range_dialler(a) == RANGE_BENCHMARK;
}

static int daemon_conf_synthetic(struct daemon_conf_store *s, struct fault *fault)
{
	const struct conf_node *n = s->synthetic;
	struct addr first, last;

	if (!n)
		return 0;
	if (n->kind != CONF_SCALAR || daemon_conf_range(n->text, &first, &last) < 0)
		return conf_fault(s->doc, n, fault,
			"`synthetic` is a range of IPv4 addresses, 256 or more (198.18.0.0/15; the "
			"bits "
			"behind the prefix must be 0)");
	if (!daemon_conf_pool(&first) || !daemon_conf_pool(&last))
		return conf_fault(s->doc, n, fault,
			"`synthetic` must lie within 198.18.0.0/15: the kernel lets a sandbox ask "
			"for "
			"these addresses, and no server has one of them");
	s->conf.synthetic_first = daemon_conf_v4(&first);
	s->conf.synthetic_last = daemon_conf_v4(&last);
	return 0;
}

/* An id of at most LIMIT_SANDBOX_ID characters; `*` may stand at its end. */
static bool daemon_conf_pattern_good(struct slice text)
{
	if (text.n > LIMIT_SANDBOX_ID)
		return false;
	for (size_t i = 0; i < text.n; i++) {
		uint8_t c = text.p[i], low = slice_lower(c);
		bool plain = (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
			     c == '_' || c == '.';

		if (!plain && !(c == '*' && i + 1 == text.n))
			return false;
	}
	return text.n > 0;
}

static int daemon_conf_patterns(struct daemon_conf_store *s, const struct conf_node *list,
	struct fault *fault, struct daemon_credentials *e)
{
	e->sandboxes = calloc(list->count, sizeof(*e->sandboxes));
	if (!e->sandboxes)
		return -ENOMEM;
	for (const struct conf_node *n = list->first; n; n = n->next) {
		int r = conf_text(s->doc, n, "sandboxes", fault, &e->sandboxes[e->nsandboxes]);

		if (r < 0)
			return r;
		if (!daemon_conf_pattern_good(n->text))
			return conf_fault(s->doc, n, fault,
				"a sandbox pattern is an id, or the beginning of one and `*` "
				"(build-*)");
		e->nsandboxes++;
	}
	return 0;
}

static int daemon_conf_entry(struct daemon_conf_store *s, const struct conf_node *n,
	struct fault *fault, struct daemon_credentials *e)
{
	struct daemon_credentials_raw raw = {0};
	uint64_t descriptor;
	int r = conf_read(&daemon_credentials_table, s->doc, n, fault, &raw);

	if (r < 0)
		return r;
	if (!raw.file == !raw.descriptor)
		return conf_fault(s->doc, n, fault,
			"an entry of credentials needs `file` or `descriptor`, one of them");
	e->file = raw.file;
	e->line = n->line;
	e->descriptor = -1;
	if (raw.descriptor) {
		r = conf_number(
			s->doc, raw.descriptor, "descriptor", 3, 1 << 20, fault, &descriptor);
		if (r < 0)
			return r;
		e->descriptor = (int)descriptor;
	}
	return daemon_conf_patterns(s, raw.sandboxes, fault, e);
}

static int daemon_conf_credentials(struct daemon_conf_store *s, struct fault *fault)
{
	const struct conf_node *list = s->credentials;

	if (!list)
		return 0;
	s->conf.credentials = calloc(list->count, sizeof(*s->conf.credentials));
	if (!s->conf.credentials)
		return -ENOMEM;
	for (const struct conf_node *n = list->first; n; n = n->next) {
		int r = daemon_conf_entry(
			s, n, fault, &s->conf.credentials[s->conf.ncredentials++]);

		if (r < 0)
			return r;
	}
	return 0;
}

static int daemon_conf_absolute(
	const struct daemon_conf_store *s, const char *key, const char *path, struct fault *fault)
{
	if (!path || path[0] == '/')
		return 0;
	return conf_fault(
		s->doc, conf_get(s->doc->root, key), fault, "`%s` must be an absolute path", key);
}

static int daemon_conf_fill(struct daemon_conf_store *s, struct fault *fault)
{
	int r = conf_read(&daemon_conf_table, s->doc, s->doc->root, fault, s);

	if (r == 0)
		r = daemon_conf_absolute(s, "state", s->conf.state, fault);
	if (r == 0)
		r = daemon_conf_absolute(s, "ca", s->conf.ca, fault);
	if (r == 0 && s->audit)
		r = conf_read(&daemon_audit_table, s->doc, s->audit, fault, &s->conf);
	if (r == 0)
		r = daemon_conf_resolvers(s, fault);
	if (r == 0)
		r = daemon_conf_synthetic(s, fault);
	if (r == 0)
		r = daemon_conf_credentials(s, fault);
	return r;
}

int daemon_conf_load(
	struct slice text, const char *file, struct fault *fault, struct daemon_conf **ret)
{
	struct daemon_conf_store *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->conf.state = "/run/sallyport";
	s->conf.user = "sallyport";
	s->conf.drain = DAEMON_CONF_DRAIN;
	s->conf.audit_size = 64 << 20;
	s->conf.synthetic_first = DAEMON_CONF_POOL_FIRST;
	s->conf.synthetic_last = DAEMON_CONF_POOL_FIRST + DAEMON_CONF_POOL_SIZE - 1;
	r = conf_parse(text, file, fault, &s->doc);
	if (r == 0)
		r = daemon_conf_fill(s, fault);
	if (r < 0) {
		daemon_conf_free(&s->conf);
		return r;
	}
	*ret = &s->conf;
	return 0;
}

void daemon_conf_free(struct daemon_conf *c)
{
	struct daemon_conf_store *s;

	if (!c)
		return;
	s = container_of(c, struct daemon_conf_store, conf);
	for (unsigned i = 0; i < c->ncredentials; i++)
		free(c->credentials[i].sandboxes);
	free(c->credentials);
	conf_free(s->doc);
	free(s);
}

bool daemon_conf_covers(const struct daemon_credentials *entry, const char *sandbox)
{
	for (unsigned i = 0; i < entry->nsandboxes; i++) {
		const char *p = entry->sandboxes[i];
		size_t n = strlen(p);

		if (n && p[n - 1] == '*' ? strncmp(p, sandbox, n - 1) == 0
					 : strcmp(p, sandbox) == 0)
			return true;
	}
	return false;
}

unsigned daemon_conf_system_resolvers(struct slice text, struct addr *ret, unsigned max)
{
	static const struct slice word = {(const uint8_t *)"nameserver", 10};
	unsigned n = 0;

	while (text.n && n < max) {
		size_t end = slice_find(text, '\n');
		struct slice line = slice_first(text, end), rest = slice_skip(line, word.n);

		text = slice_skip(text, end + 1);
		if (!slice_eq(slice_first(line, word.n), word) || !rest.n ||
			(rest.p[0] != ' ' && rest.p[0] != '\t'))
			continue;
		rest = slice_trim(rest);
		for (size_t i = 0; i < rest.n; i++)
			if (rest.p[i] == ' ' || rest.p[i] == '\t' || rest.p[i] == '\r')
				rest.n = i;
		if (addr_parse(rest, &ret[n]) == 0)
			ret[n++].port = DAEMON_CONF_DNS_PORT;
	}
	return n;
}
