/* SPDX-License-Identifier: Apache-2.0 */
/* lists.c – see lists.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "conf/table.h"
#include "policy/lists.h"

/* ---- hosts ---- */

/* The digits of HOST:PORT or [IPV6]:PORT; empty when it is neither. */
static struct slice lists_host_port(struct slice text)
{
	size_t bracket = text.n && text.p[0] == '[' ? slice_find(text, ']') + 1 : 0;
	struct slice rest = slice_skip(text, bracket), port;

	port = slice_skip(rest, slice_find(rest, ':') + 1);
	for (size_t i = 0; i < port.n; i++)
		if (port.p[i] < '0' || port.p[i] > '9')
			return (struct slice){0};
	return port.n <= 5 ? port : (struct slice){0};
}

static int lists_host(const struct conf_doc *doc, const struct conf_node *n, bool ports,
	struct fault *fault, struct host_pattern *ret)
{
	char why[HOST_WHY];
	const char *text;
	int r = conf_text(doc, n, "hosts", fault, &text);
	struct slice port;

	if (r < 0 || host_pattern_parse(n->text, ret, why) == 0)
		return r;
	port = lists_host_port(n->text);
	if (port.n && ports)
		return conf_fault(doc, n, fault, "a host has no port here: write ports: [%.*s]",
			SLICE_ARG(port));
	if (port.n)
		return conf_fault(
			doc, n, fault, "a host has no port here: the rules say which are open");
	if (n->text.p[0] == '[')
		return conf_fault(doc, n, fault, "an IPv6 address stands without brackets here");
	return conf_fault(doc, n, fault, "%s", why);
}

int lists_hosts(const struct conf_doc *doc, const struct conf_node *list, bool ports,
	struct fault *fault, struct host_pattern **ret, unsigned *ret_n)
{
	_cleanup_free_ struct host_pattern *hosts = calloc(list->count, sizeof(*hosts));
	unsigned i = 0;

	if (!hosts)
		return -ENOMEM;
	for (const struct conf_node *n = list->first; n; n = n->next) {
		int r = lists_host(doc, n, ports, fault, &hosts[i++]);

		if (r < 0)
			return r;
	}
	*ret = TAKE_PTR(hosts);
	*ret_n = i;
	return 0;
}

bool lists_hosts_match(const struct host_pattern *hosts, unsigned n, const struct host *h)
{
	for (unsigned i = 0; i < n; i++)
		if (host_pattern_match(&hosts[i], h))
			return true;
	return false;
}

/* ---- ports ---- */

static int lists_port(struct slice text, uint16_t *ret)
{
	unsigned port = 0;

	if (text.n == 0 || text.n > 5 || text.p[0] == '0')
		return -EINVAL;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] < '0' || text.p[i] > '9')
			return -EINVAL;
		port = port * 10 + (unsigned)(text.p[i] - '0');
	}
	if (port > 65535)
		return -EINVAL;
	*ret = (uint16_t)port;
	return 0;
}

static int lists_port_range(struct slice text, struct lists_ports *ret)
{
	size_t dash = slice_find(text, '-');

	if (lists_port(slice_first(text, dash), &ret->lo) < 0)
		return -EINVAL;
	ret->hi = ret->lo;
	if (dash < text.n && lists_port(slice_skip(text, dash + 1), &ret->hi) < 0)
		return -EINVAL;
	return ret->lo <= ret->hi ? 0 : -EINVAL;
}

static int lists_ports_order(const void *a, const void *b)
{
	return ((const struct lists_ports *)a)->lo - ((const struct lists_ports *)b)->lo;
}

int lists_ports(const struct conf_doc *doc, const struct conf_node *list, struct fault *fault,
	struct lists_ports **ret, unsigned *ret_n)
{
	_cleanup_free_ struct lists_ports *ports = calloc(list->count, sizeof(*ports));
	unsigned i = 0, joined = 0;

	if (!ports)
		return -ENOMEM;
	for (const struct conf_node *n = list->first; n; n = n->next)
		if (n->kind != CONF_SCALAR || lists_port_range(n->text, &ports[i++]) < 0)
			return conf_fault(doc, n, fault,
				"a port is a number from 1 to 65535 or a range of them (443, "
				"\"9000-9100\")");
	qsort(ports, i, sizeof(*ports), lists_ports_order);
	for (unsigned k = 1; k < i; k++) {
		struct lists_ports *last = &ports[joined];

		if (ports[k].lo > last->hi + 1)
			ports[++joined] = ports[k];
		else if (ports[k].hi > last->hi)
			last->hi = ports[k].hi;
	}
	*ret = TAKE_PTR(ports);
	*ret_n = joined + 1;
	return 0;
}

bool lists_ports_match(const struct lists_ports *ports, unsigned n, uint16_t port)
{
	for (unsigned i = 0; i < n; i++)
		if (port >= ports[i].lo && port <= ports[i].hi)
			return true;
	return false;
}

/* ---- methods ---- */

static const char *const lists_known_methods[] = {
	"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "PATCH", "QUERY"};

/* RFC 9110 section 5.6.2 */
static bool lists_token(struct slice text)
{
	for (size_t i = 0; i < text.n; i++) {
		uint8_t c = text.p[i], low = slice_lower(c);

		if (!(low >= 'a' && low <= 'z') && !(c >= '0' && c <= '9') &&
			!(c && strchr("!#$%&'*+-.^_`|~", c)))
			return false;
	}
	return text.n > 0;
}

static int lists_method(const struct conf_doc *doc, const struct conf_node *n, struct fault *fault,
	const char **ret)
{
	int r = conf_text(doc, n, "methods", fault, ret);

	if (r < 0)
		return r;
	if (!lists_token(n->text))
		return conf_fault(
			doc, n, fault, "a method is one word, as it stands in a request (GET)");
	if (slice_ieq(n->text, SLICE("TRACE")) || slice_ieq(n->text, SLICE("TRACK")))
		return conf_fault(doc, n, fault, "TRACE and TRACK are always refused");
	for (unsigned i = 0; i < ARRAY_SIZE(lists_known_methods); i++) {
		struct slice known = slice_str(lists_known_methods[i]);

		if (slice_ieq(n->text, known) && !slice_eq(n->text, known))
			return conf_fault(doc, n, fault,
				"methods are compared with their case; write %s",
				lists_known_methods[i]);
	}
	return 0;
}

int lists_methods(const struct conf_doc *doc, const struct conf_node *list, struct fault *fault,
	const char ***ret, unsigned *ret_n)
{
	_cleanup_free_ const char **methods = calloc(list->count, sizeof(*methods));
	unsigned i = 0;

	if (!methods)
		return -ENOMEM;
	for (const struct conf_node *n = list->first; n; n = n->next) {
		int r = lists_method(doc, n, fault, &methods[i++]);

		if (r < 0)
			return r;
	}
	*ret = TAKE_PTR(methods);
	*ret_n = i;
	return 0;
}

bool lists_methods_match(const char *const *methods, unsigned n, struct slice method)
{
	for (unsigned i = 0; i < n; i++)
		if (slice_eq(slice_str(methods[i]), method))
			return true;
	return n == 0;
}

/* ---- paths ---- */

int lists_paths(const struct conf_doc *doc, const struct conf_node *list, struct fault *fault,
	struct path_pattern **ret, unsigned *ret_n)
{
	_cleanup_free_ struct path_pattern *paths = NULL;
	unsigned i = 0;
	size_t bytes = 0;
	uint16_t *units;

	if (list->count > LIMIT_PATHS)
		return conf_fault(doc, list, fault,
			"`paths` has at most %d patterns: make two rules of it", LIMIT_PATHS);
	for (const struct conf_node *n = list->first; n; n = n->next)
		bytes += n->text.n; /* a list has none */
	paths = calloc(1, list->count * sizeof(*paths) + bytes * sizeof(*units));
	if (!paths)
		return -ENOMEM;
	units = (uint16_t *)(paths + list->count);
	for (const struct conf_node *n = list->first; n; n = n->next) {
		char why[PATH_WHY];
		const char *text;
		int r = conf_text(doc, n, "paths", fault, &text);

		if (r < 0)
			return r;
		if (path_pattern_parse(n->text, units, &paths[i++], why) < 0)
			return conf_fault(doc, n, fault, "%s", why);
		units += n->text.n;
	}
	*ret = TAKE_PTR(paths);
	*ret_n = i;
	return 0;
}

bool lists_paths_match(
	const struct path_pattern *paths, unsigned n, struct slice target, bool broad)
{
	for (unsigned i = 0; i < n; i++)
		if (path_pattern_match(&paths[i], target, broad))
			return true;
	return n == 0;
}
