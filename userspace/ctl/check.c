/* SPDX-License-Identifier: Apache-2.0 */
/* check.c – see check.h. The same loader and the same decision as the daemon's; nothing is sent and
 * nobody is asked. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "ctl/check.h"
#include "policy/hosts.h"
#include "policy/policy.h"

enum { CHECK_STEP = 65536, CHECK_OUT = 1 << 20 };

static int check_read(const char *file, struct buf *ret)
{
	_cleanup_close_ int own = -1;
	int fd = STDIN_FILENO;
	ssize_t n = 1;

	if (strcmp(file, "-") != 0)
		fd = own = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (n > 0 &&
		buf_room(ret)) { /* one byte over the limit is enough for the loader to refuse it */
		size_t step = buf_room(ret) < CHECK_STEP ? buf_room(ret) : CHECK_STEP;
		uint8_t *to = buf_reserve(ret, step);

		if (!to)
			return -ENOMEM;
		n = read(fd, to, step);
		if (n > 0)
			buf_commit(ret, (size_t)n);
	}
	return n < 0 ? -errno : 0;
}

/* HOST, HOST:PORT, IPV6, [IPV6]:PORT */
static int check_host(const char *text, struct host *ret, uint16_t *ret_port)
{
	struct slice s = slice_str(text), port = {0};
	size_t colon = slice_find(s, ':');
	unsigned number = 443;

	if (s.n && s.p[0] == '[') {
		size_t end = slice_find(s, ']');

		port = slice_skip(s, end + 1);
		s = slice_skip(slice_first(s, end), 1);
	} else if (colon < s.n && !memchr(s.p + colon + 1, ':', s.n - colon - 1)) {
		port = slice_skip(s, colon);
		s = slice_first(s, colon);
	}
	if (port.n) {
		if (port.p[0] != ':' || port.n < 2 || port.n > 6)
			return -EINVAL;
		number = 0;
		for (size_t i = 1; i < port.n; i++) {
			if (port.p[i] < '0' || port.p[i] > '9')
				return -EINVAL;
			number = number * 10 + (unsigned)(port.p[i] - '0');
		}
	}
	if (number < 1 || number > 65535)
		return -EINVAL;
	*ret_port = (uint16_t)number;
	return host_canon(s, ret);
}

static void check_warn(void *arg, const char *text)
{
	unsigned *count = arg;

	++*count;
	(void)fprintf(stderr, "warning: %s\n", text);
}

/* A refusal by address holds besides the rules; for a name it needs a resolver, for a literal it
 * does not. */
static struct verdict check_decide(
	const struct policy *p, const struct host *h, uint16_t port, const char *method)
{
	const struct subject s = {h, port, slice_str(method)};
	struct verdict v = policy_decide(p, &s);
	struct addr a = h->ip;

	a.port = port;
	if (v.allow && h->is_ip) {
		v.category = policy_address(p, h, &a);
		v.allow = v.category == CATEGORY_NONE;
		if (!v.allow)
			v.rule = "address";
	}
	return v;
}

/* "default", "built-in" and "address" are no rules of the document. */
static const char *check_rule_word(const char *rule)
{
	static const char *const ours[] = {"default", "built-in", "address"};

	for (unsigned i = 0; i < ARRAY_SIZE(ours); i++)
		if (strcmp(rule, ours[i]) == 0)
			return "";
	return "rule ";
}

static void check_print(
	const struct host *h, uint16_t port, const char *method, const struct verdict *v, bool json)
{
	struct buf out;
	struct json j;

	if (!json) {
		printf("%s port %u%s%s: %s by %s%s%s%s%s\n", h->text, port, method ? " " : "",
			method ? method : "", v->allow ? "allowed" : "denied",
			check_rule_word(v->rule), v->rule, v->allow ? "" : " (",
			v->allow ? "" : category_name(v->category), v->allow ? "" : ")");
		return;
	}
	buf_init(&out, CHECK_OUT);
	json_start(&j, &out);
	json_open(&j, NULL, '{');
	json_text(&j, "host", h->text);
	json_number(&j, "port", port);
	json_text(&j, "method", method);
	json_bool(&j, "allow", v->allow);
	json_text(&j, "rule", v->rule);
	json_text(&j, "category", category_name(v->category));
	json_close(&j, '}');
	if (json_end(&j) == 0)
		printf("%.*s\n", SLICE_ARG(buf_slice(&out)));
	buf_done(&out);
}

static int check_answer(const struct check_request *q, const struct policy *p)
{
	struct verdict v;
	struct host h;
	uint16_t port;

	if (!q->host) {
		if (!q->json)
			printf("%s: policy %s is good\n", q->file, policy_name(p));
		else
			printf("{\"good\":true}\n");
		return 0;
	}
	if (check_host(q->host, &h, &port) < 0) {
		(void)fprintf(stderr, "%s: not a host, or a host and a port, in its usual form\n",
			q->host);
		return 2;
	}
	v = check_decide(p, &h, port, q->method);
	check_print(&h, port, q->method, &v, q->json);
	return v.allow ? 0 : 3;
}

int check_policy(const struct check_request *q)
{
	struct fault fault = {{0}};
	struct policy *p = NULL;
	unsigned warnings = 0;
	struct buf text;
	int r, status = 1;

	buf_init(&text, LIMIT_DOCUMENT + 1);
	r = check_read(q->file, &text);
	if (r < 0)
		(void)fprintf(stderr, "%s: %s\n", q->file, strerror(-r));
	else if ((r = policy_load(buf_slice(&text), q->file, &fault, &p)) < 0)
		(void)fprintf(stderr, "%s\n", fault.text[0] ? fault.text : strerror(-r));
	buf_done(&text);
	if (r == 0) {
		policy_check(p, check_warn, &warnings);
		status = check_answer(q, p);
	}
	policy_unref(p);
	return status;
}
