/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_policy.c – any document is a policy or a fault with a place; of a policy, decisions agree
 * with each other: a name that no port opens is denied at every port; a method or a path that passes
 * means that the connection does unless it is a tunnel, which knows neither; a denial for its path means that the method
 * could pass, and no path passes that none could; a name that is tunnelled at
 * some port is one that gets its own address; metadata is open only where an opening says so.
 */
#include <stdlib.h>
#include <string.h>

#include "../../userspace/policy/load.c"

static const char *const hosts[] = {
	"a.test", "x.a.test", "api.example.com", "b", "192.0.2.1", "10.1.2.3"};
static const uint16_t ports[] = {1, 80, 443, 9000, 65535};
static const char *const methods[] = {"", "GET", "POST", "TRACE"};
static const char *const paths[] = {"", "/", "/a/b", "/a%2Fb?q", "/%61/@c/", "//a;x/d.git", "*",
	"/a/../b", "/%2E%2e", "/..;/%c0%ae"};

/* Of one request, or half of one: the method or the path is empty. */
static void check_request(
	const struct policy *p, const struct subject *s, const struct verdict *connection)
{
	struct verdict v = policy_decide(p, s), anywhere;
	struct subject some = *s;
	bool tunnel = connection->way == VERDICT_TUNNEL;

	some.path.n = 0;
	anywhere = policy_decide(p, &some);
	if ((v.allow && (!connection->allow || slice_eq(s->method, SLICE("TRACE")))) ||
		v.allow != (v.category == CATEGORY_NONE) || !v.rule)
		abort();
	if (tunnel != (v.category == CATEGORY_PROTOCOL_DENIED))
		abort();
	if (!tunnel && connection->allow == (v.category == CATEGORY_HOST_DENIED))
		abort();
	if (v.category == CATEGORY_PATH_DENIED && !anywhere.allow)
		abort(); /* no path could pass */
	if (v.category == CATEGORY_BAD_REQUEST &&
		(!path_fault(s->path) || strcmp(v.rule, "built-in")))
		abort();
	if (v.allow && !tunnel && s->path.n && s->method.n && !anywhere.allow)
		abort();
}

static void check_decisions(const struct policy *p, const struct host *h)
{
	for (unsigned i = 0; i < ARRAY_SIZE(ports); i++) {
		struct verdict c = policy_decide(p, &(struct subject){h, ports[i], {0}, {0}});
		bool tunnel = c.way == VERDICT_TUNNEL;

		if (c.allow && !policy_opens_name(p, h))
			abort();
		if (tunnel && (!c.allow || !policy_tunnels_name(p, h)))
			abort();
		for (unsigned m = 0; m < ARRAY_SIZE(methods); m++)
			for (unsigned k = m == 0; k < ARRAY_SIZE(paths); k++)
				check_request(p,
					&(struct subject){h, ports[i], slice_str(methods[m]),
						slice_str(paths[k])},
					&c);
	}
}

static void check_metadata(const struct policy *p, const struct host *h)
{
	struct policy_opening o[POLICY_OPENINGS];
	unsigned n = policy_openings(p, o, POLICY_OPENINGS);
	struct addr a;
	bool told = false;

	if (n > POLICY_OPENINGS || addr_parse(SLICE("169.254.169.254"), &a) < 0)
		abort();
	a.port = 80;
	for (unsigned i = 0; i < n; i++)
		told |= o[i].metadata && o[i].prefix == 128;
	if (policy_address(p, h, &a) == CATEGORY_NONE && !told)
		abort();
	memcpy(a.ip + 12, (uint8_t[]){127, 0, 0, 1}, 4);
	if (policy_address(p, h, &a) == CATEGORY_NONE)
		abort();
}

static void ignore(void *arg, const char *text)
{
	if (strncmp(text, "f:", 2) != 0)
		abort();
	(void)arg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fault fault = {{0}};
	struct policy *p = NULL;
	int r = policy_load(slice_of(data, size), "f", &fault, &p);

	if (r < 0 && (r != -EBADMSG || strncmp(fault.text, "f:", 2) != 0 || p))
		abort();
	for (unsigned i = 0; r == 0 && i < ARRAY_SIZE(hosts); i++) {
		struct host h;

		if (host_canon(slice_str(hosts[i]), &h) < 0)
			abort();
		check_decisions(p, &h);
		check_metadata(p, &h);
		(void)policy_upstream_ca(p, &h);
	}
	if (r == 0)
		policy_check(p, ignore, NULL);
	policy_unref(p);
	return 0;
}
