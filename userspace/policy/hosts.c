/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hosts.c – see hosts.h. A host is read byte by byte against a table of the bytes that a name may
 * have; there is no decoding of any kind. What looks like a number is an address in canonical
 * spelling or it is refused, since resolvers and C libraries read 0x7f.1, 127.1 and 2130706433 as
 * 127.0.0.1 (inet_aton(3); the rule for the last label is the one of the WHATWG URL standard, "ends
 * in a number").
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/alabel.h"
#include "policy/hosts.h"

enum { HOST_LABEL = 63 };

static bool host_byte(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* All digits, or 0x and only hexadecimal digits, also none. */
static bool host_label_numeric(struct slice label)
{
	bool hex = label.n >= 2 && label.p[0] == '0' && label.p[1] == 'x';

	for (size_t i = hex ? 2 : 0; i < label.n; i++) {
		uint8_t c = label.p[i];

		if (!(c >= '0' && c <= '9') && !(hex && c >= 'a' && c <= 'f'))
			return false;
	}
	return true;
}

/* Lower case into ret->text, labels checked. The last label stays in *ret_last. */
static int host_name(struct slice raw, struct host *ret, struct slice *ret_last)
{
	size_t label = 0;

	for (size_t i = 0; i < raw.n; i++) {
		uint8_t c = slice_lower(raw.p[i]);

		ret->text[i] = (char)c;
		if (c != '.') {
			if (!host_byte(c) || i - label >= HOST_LABEL)
				return -EINVAL;
			continue;
		}
		if (i == label)
			return -EINVAL;
		label = i + 1;
	}
	if (label == raw.n)
		return -EINVAL;
	ret->text[raw.n] = '\0';
	ret->n = (uint8_t)raw.n;
	*ret_last = slice_of(ret->text + label, raw.n - label);
	return 0;
}

void host_of_addr(const struct addr *a, struct host *ret)
{
	*ret = (struct host){.is_ip = true, .ip = *a};
	ret->ip.port = 0;
	addr_text(&ret->ip, ret->text);
	ret->n = (uint8_t)strlen(ret->text);
}

int host_canon(struct slice raw, struct host *ret)
{
	struct host h = {0};
	struct slice last;
	struct addr ip;

	if (raw.n && slice_find(raw, ':') < raw.n) {
		if (addr_parse(raw, &ip) < 0)
			return -EINVAL;
		host_of_addr(&ip, ret);
		return 0;
	}
	if (raw.n > 1 && raw.p[raw.n - 1] == '.')
		raw.n--;
	if (raw.n == 0 || raw.n > LIMIT_NAME || host_name(raw, &h, &last) < 0)
		return -EINVAL;
	if (host_label_numeric(last)) {
		if (addr_parse(raw, &ip) < 0)
			return -EINVAL;
		host_of_addr(&ip, ret);
		return 0;
	}
	*ret = h;
	return 0;
}

int host_misread(struct slice raw, struct host *ret)
{
	struct sockaddr_in sa = {.sin_family = AF_INET};
	char text[HOST_LABEL + 1];
	struct addr ip;

	if (raw.n > 1 && raw.p[raw.n - 1] == '.')
		raw.n--;
	if (raw.n == 0 || raw.n > HOST_LABEL)
		return -EINVAL;
	for (size_t i = 0; i < raw.n; i++) {
		text[i] = (char)slice_lower(raw.p[i]);
		if (!host_byte((uint8_t)text[i]) && text[i] != '.')
			return -EINVAL;
	}
	text[raw.n] = '\0';
	if (!inet_aton(text, &sa.sin_addr) ||
		addr_from_sockaddr((struct sockaddr *)&sa, sizeof(sa), &ip) < 0)
		return -EINVAL;
	host_of_addr(&ip, ret);
	return 0;
}

bool host_same(const struct host *a, const struct host *b)
{
	return a->n == b->n && memcmp(a->text, b->text, a->n) == 0;
}

/* ---- ranges of addresses ---- */

bool host_net_has(const struct addr *net, uint8_t prefix, const struct addr *a)
{
	unsigned whole = prefix / 8, bits = prefix % 8;

	if (memcmp(net->ip, a->ip, whole) != 0)
		return false;
	return bits == 0 || ((net->ip[whole] ^ a->ip[whole]) & (0xff00 >> bits) & 0xff) == 0;
}

int host_net_parse(struct slice text, struct addr *ret, uint8_t *ret_prefix)
{
	size_t slash = slice_find(text, '/');
	struct slice digits = slice_skip(text, slash + 1);
	unsigned most, bits = 0;
	struct addr net;

	if (addr_parse(slice_first(text, slash), &net) < 0)
		return -EINVAL;
	most = addr_is_v4(&net) && slice_find(text, ':') == text.n ? 32 : 128;
	if (slash == text.n) {
		bits = most;
	} else if (digits.n == 0 || digits.n > 3 || (digits.n > 1 && digits.p[0] == '0')) {
		return -EINVAL;
	}
	for (size_t i = 0; i < digits.n; i++) {
		if (digits.p[i] < '0' || digits.p[i] > '9')
			return -EINVAL;
		bits = bits * 10 + (unsigned)(digits.p[i] - '0');
	}
	if (bits > most)
		return -EINVAL;
	bits += 128 - most;
	for (unsigned i = bits; i < 128; i++)
		if (net.ip[i / 8] & (0x80 >> i % 8))
			return -EINVAL;
	*ret = net;
	*ret_prefix = (uint8_t)bits;
	return 0;
}

/* ---- patterns ---- */

static int host_why(char why[HOST_WHY], const char *text)
{
	(void)snprintf(why, HOST_WHY, "%s", text);
	return -EINVAL;
}

static int host_pattern_foreign(struct slice text, char why[HOST_WHY])
{
	char hint[LIMIT_NAME + 1];

	if (alabel_name(text, hint, sizeof(hint)) < 0)
		return host_why(why, "a host pattern must be ASCII");
	(void)snprintf(why, HOST_WHY, "a host pattern must be ASCII; write %s", hint);
	return -EINVAL;
}

static int host_pattern_net(struct slice text, struct host_pattern *ret, char why[HOST_WHY])
{
	struct host_pattern p = {.kind = HOST_PATTERN_NET};

	if (host_net_parse(text, &p.net, &p.prefix) < 0)
		return host_why(why, "not an address or a range (192.0.2.1, 10.0.0.0/8, fd00::/8; "
				     "the bits behind the "
				     "prefix must be 0)");
	*ret = p;
	return 0;
}

int host_pattern_parse(struct slice text, struct host_pattern *ret, char why[HOST_WHY])
{
	struct host_pattern p = {.kind = HOST_PATTERN_NAME};
	struct host h;

	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] >= 0x80)
			return host_pattern_foreign(text, why);
	if (slice_eq(text, SLICE("*"))) {
		*ret = (struct host_pattern){.kind = HOST_PATTERN_ANY};
		return 0;
	}
	if (slice_find(text, '/') < text.n || slice_find(text, ':') < text.n) {
		if (memmem(text.p, text.n, "://", 3))
			return host_why(why, "a host pattern is a name, not a URL");
		return host_pattern_net(text, ret, why);
	}
	if (text.n > 2 && text.p[0] == '*' && text.p[1] == '.') {
		p.kind = HOST_PATTERN_SUFFIX;
		text = slice_skip(text, 2);
	}
	if (slice_find(text, '*') < text.n)
		return host_why(why, "`*` stands alone or as the first label (*.example.com)");
	if (host_canon(text, &h) < 0)
		return host_why(why, "not a host name or an address in its usual form");
	if (h.is_ip) {
		if (p.kind == HOST_PATTERN_SUFFIX)
			return host_why(why, "an address has no subdomains");
		*ret = (struct host_pattern){.kind = HOST_PATTERN_NET, .prefix = 128, .net = h.ip};
		return 0;
	}
	p.n = h.n;
	memcpy(p.text, h.text, h.n);
	*ret = p;
	return 0;
}

/* Whether name is one or more labels and then the suffix. */
static bool host_below(const char *name, size_t n, const struct host_pattern *suffix)
{
	size_t head = n - suffix->n;

	return n > (size_t)suffix->n + 1 && name[head - 1] == '.' &&
	       memcmp(name + head, suffix->text, suffix->n) == 0;
}

bool host_pattern_match(const struct host_pattern *p, const struct host *h)
{
	switch (p->kind) {
	case HOST_PATTERN_NAME:
		return !h->is_ip && h->n == p->n && memcmp(h->text, p->text, p->n) == 0;
	case HOST_PATTERN_SUFFIX:
		return !h->is_ip && host_below(h->text, h->n, p);
	case HOST_PATTERN_ANY:
		return !h->is_ip;
	case HOST_PATTERN_NET:
		return h->is_ip && host_net_has(&p->net, p->prefix, &h->ip);
	}
	return false;
}

static bool host_pattern_same_text(const struct host_pattern *a, const struct host_pattern *b)
{
	return a->n == b->n && memcmp(a->text, b->text, a->n) == 0;
}

bool host_pattern_covers(const struct host_pattern *a, const struct host_pattern *b)
{
	if (a->kind == HOST_PATTERN_NET || b->kind == HOST_PATTERN_NET)
		return a->kind == b->kind && a->prefix <= b->prefix &&
		       host_net_has(&a->net, a->prefix, &b->net);
	if (a->kind == HOST_PATTERN_ANY)
		return true;
	if (b->kind == HOST_PATTERN_ANY)
		return false;
	if (a->kind == HOST_PATTERN_NAME)
		return b->kind == HOST_PATTERN_NAME && host_pattern_same_text(a, b);
	return host_below(b->text, b->n, a) ||
	       (b->kind == HOST_PATTERN_SUFFIX && host_pattern_same_text(a, b));
}

bool host_pattern_overlaps(const struct host_pattern *a, const struct host_pattern *b)
{
	/* names form a tree and ranges do too: two of them meet only when one lies within the other
	 */
	return host_pattern_covers(a, b) || host_pattern_covers(b, a);
}
