/* SPDX-License-Identifier: Apache-2.0 */
/* answers.c – see answers.h. Pure: no library, no I/O, no state. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "dns/answers.h"

enum { ANSWERS_TTL_SHARED = 5 }; /* seconds: the name may be opened soon */

/*
 * Names that the public DNS does not have, and that are asked for all the same: told NXDOMAIN
 * without a query, so that a search list moves on. "internal" is not here: policies open names
 * below it.
 */
static const char *const answers_local[] = {
	"invalid", /* RFC 6761 section 6.4 */
	"local", /* RFC 6762: multicast DNS */
	"localdomain", /* the search domain of a machine that has none */
	"onion", /* RFC 7686 */
};

/* The name is the suffix, or ends in it at a label boundary. */
static bool answers_under(const char *name, const char *suffix, bool itself)
{
	size_t n = strlen(name), s = strlen(suffix);

	if (s == 0 || n < s || memcmp(name + n - s, suffix, s) != 0)
		return false;
	return n == s ? itself : name[n - s - 1] == '.';
}

static const char *answers_last_label(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

/* Below a search domain, but not the domain itself, which a search list asks for as any other name.
 */
static bool answers_searched(const char *name, const struct dns_facts *facts)
{
	for (unsigned i = 0; i < facts->nsearch; i++)
		if (answers_under(name, facts->search[i], false))
			return true;
	return false;
}

static bool answers_is_local(const char *name, const struct dns_facts *facts)
{
	if (!strchr(name, '.'))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(answers_local); i++)
		if (answers_under(name, answers_local[i], true))
			return true;
	return answers_searched(name, facts);
}

/* Of types that are no addresses. The question itself may carry something out, so the name must stand in a rule as it is
 * asked for. HTTPS and SVCB would lead around us: they are not among the types. */
static enum dns_action answers_other(const struct dns_question *q, const struct dns_facts *facts)
{
	if (facts->pool) /* nobody else knows */
		return q->type == DNS_PTR ? DNS_POINTER : DNS_SAY_EMPTY;
	if (q->plain && facts->opened && facts->exact && dns_records_type(q->type))
		return DNS_FORWARD;
	return DNS_SAY_EMPTY;
}

enum dns_action dns_decide(const struct dns_question *q, const struct dns_facts *facts)
{
	const char *last = answers_last_label(q->name);
	bool address = q->type == DNS_A || q->type == DNS_AAAA;

	if (q->name[0] == 0) /* the root is there, and has no address */
		return DNS_SAY_EMPTY;
	if (answers_under(q->name, "localhost", true)) /* RFC 6761 section 6.3 */
		return address ? DNS_SAY_LOOPBACK : DNS_SAY_EMPTY;
	if (facts->off)
		return DNS_SAY_NXDOMAIN;
	if (strspn(last, "0123456789") ==
		strlen(last)) /* an address as text; no such top level domain */
		return DNS_SAY_NXDOMAIN;
	if (answers_is_local(q->name, facts) && !(facts->exact && q->plain))
		return DNS_SAY_NXDOMAIN;
	if (!address)
		return answers_other(q, facts);
	if (q->plain && facts->opened && facts->synthetic)
		return q->type == DNS_A ? DNS_SYNTHETIC : DNS_SAY_EMPTY;
	if (q->plain && facts->opened)
		return DNS_RESOLVE;
	return q->type == DNS_A ? DNS_SAY_SHARED : DNS_SAY_EMPTY;
}

static struct addr answers_v4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	return (struct addr){.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d}};
}

struct addr dns_shared(void)
{
	return answers_v4(198, 19, 255, 254);
}

static void answers_one(struct dns_reply *reply, struct addr a, uint32_t ttl)
{
	reply->addrs[0] = a;
	reply->n = 1;
	reply->ttl = ttl;
}

bool dns_reverse(const char *name, struct addr *ret)
{
	uint8_t part[4];

	for (size_t i = 0; i < ARRAY_SIZE(part); i++) {
		size_t n = strspn(name, "0123456789");
		unsigned value = 0;

		if (n == 0 || n > 3 || (n > 1 && name[0] == '0') || name[n] != '.')
			return false;
		for (size_t k = 0; k < n; k++)
			value = value * 10 + (unsigned)(name[k] - '0');
		if (value > 255)
			return false;
		part[i] = (uint8_t)value;
		name += n + 1;
	}
	if (strcmp(name, "in-addr.arpa") != 0)
		return false;
	*ret = answers_v4(part[3], part[2], part[1], part[0]);
	return true;
}

void dns_synthetic(const struct addr *a, struct dns_reply *ret)
{
	*ret = (struct dns_reply){.rcode = DNS_NOERROR};
	answers_one(ret, *a, DNS_TTL);
}

void dns_settle(enum dns_action action, uint16_t type, struct dns_reply *ret)
{
	*ret = (struct dns_reply){.rcode = DNS_NOERROR};
	switch (action) {
	case DNS_SAY_NXDOMAIN:
		ret->rcode = DNS_NXDOMAIN;
		break;
	case DNS_SAY_LOOPBACK:
		answers_one(ret,
			type == DNS_A ? answers_v4(127, 0, 0, 1) : (struct addr){.ip = {[15] = 1}},
			DNS_TTL);
		break;
	case DNS_SAY_SHARED:
		answers_one(ret, dns_shared(), ANSWERS_TTL_SHARED);
		break;
	default:
		break;
	}
}

/* The rcode for a lookup that gave no address. */
static enum dns_rcode answers_rcode(int err)
{
	switch (err) {
	case -ENOENT:
		return DNS_NXDOMAIN;
	case 0:
	case -ENODATA:
		return DNS_NOERROR;
	default:
		return DNS_SERVFAIL;
	}
}

bool dns_resolved(uint16_t type, int err, const struct addr *addrs, unsigned n,
	bool (*accept)(void *arg, const struct addr *a), void *arg, struct dns_reply *ret)
{
	struct dns_reply v4 = {.ttl = DNS_TTL}, v6 = {.ttl = DNS_TTL};

	if (err != 0 || n == 0) {
		*ret = (struct dns_reply){.rcode = answers_rcode(err)};
		return false;
	}
	for (unsigned i = 0; i < n; i++) {
		struct dns_reply *to = addr_is_v4(&addrs[i]) ? &v4 : &v6;

		if (to->n < LIMIT_ADDRESSES && accept(arg, &addrs[i]))
			to->addrs[to->n++] = addrs[i];
	}
	if (v4.n == 0 && v6.n == 0) {
		dns_settle(type == DNS_A ? DNS_SAY_SHARED : DNS_SAY_EMPTY, type, ret);
		return true;
	}
	/* A first: a client that has both kinds would try IPv6 from a sandbox that may not have it
	 */
	if (type == DNS_A)
		*ret = v4;
	else if (v4.n == 0)
		*ret = v6;
	else
		dns_settle(DNS_SAY_EMPTY, type, ret);
	return false;
}
