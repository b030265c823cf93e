/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c – see check.h. The same loaders and the same decision as the daemon's; nothing is sent and
 * nobody is asked. Whoever gives the wrong kind of document is told which command reads it: all are
 * YAML and nobody remembers.
 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "conf/yaml.h"
#include "cred/credset.h"
#include "ctl/check.h"
#include "policy/hosts.h"
#include "policy/policy.h"

enum { CHECK_STEP = 65536, CHECK_OUT = 1 << 20 };

static const char check_user[] = "sallyport"; /* whose group may read credentials */

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

/* A target that http/target.h takes: origin-form, or `*`. */
static bool check_path(const char *text)
{
	for (const char *c = text; *c; c++)
		if (*c < 0x21 || *c > 0x7e || *c == '#')
			return false;
	return text[0] == '/' || strcmp(text, "*") == 0;
}

static void check_warn(void *arg, const char *text)
{
	(void)arg;
	(void)fprintf(stderr, "warning: %s\n", text);
}

/* A refusal by address holds besides the rules; for a name it needs a resolver, for a literal it
 * does not. */
static struct verdict check_decide(const struct policy *p, const struct subject *s)
{
	struct verdict v = policy_decide(p, s);
	struct addr a = s->host->ip;

	a.port = s->port;
	if (v.allow && s->host->is_ip) {
		v.category = policy_address(p, s->host, &a);
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

static const char *check_verdict_word(const struct verdict *v)
{
	static const char *const words[] = {[VERDICT_TERMINATE] = "allowed",
		[VERDICT_TUNNEL] = "tunnelled",
		[VERDICT_PASS] = "passed through"};

	return v->allow ? words[v->way] : "denied";
}

static const char *const check_ways[] = {
	[VERDICT_TERMINATE] = "terminate", [VERDICT_TUNNEL] = "tunnel", [VERDICT_PASS] = "pass"};

static void check_print(
	const struct check_request *q, const struct host *h, uint16_t port, const struct verdict *v)
{
	struct buf out;
	struct json j;

	if (!q->json) {
		printf("%s port %u%s%s%s%s: %s by %s%s%s%s%s\n", h->text, port,
			q->method ? " " : "", q->method ? q->method : "", q->path ? " " : "",
			q->path ? q->path : "", check_verdict_word(v), check_rule_word(v->rule),
			v->rule, v->allow ? "" : " (", v->allow ? "" : category_name(v->category),
			v->allow ? "" : ")");
		return;
	}
	buf_init(&out, CHECK_OUT);
	json_start(&j, &out);
	json_open(&j, NULL, '{');
	json_text(&j, "host", h->text);
	json_number(&j, "port", port);
	json_text(&j, "method", q->method);
	json_text(&j, "path", q->path);
	json_bool(&j, "allow", v->allow);
	if (v->allow)
		json_text(&j, "way", check_ways[v->way]);
	json_text(&j, "rule", v->rule);
	json_text(&j, "category", category_name(v->category));
	json_close(&j, '}');
	if (json_end(&j) == 0)
		printf("%.*s\n", SLICE_ARG(buf_slice(&out)));
	buf_done(&out);
}

static void check_good(const struct check_request *q)
{
	if (q->json)
		printf("{\"good\":true}\n");
	else
		printf("%s is good\n", strcmp(q->file, "-") == 0 ? "standard input" : q->file);
}

static int check_answer(const struct check_request *q, const struct policy *p)
{
	struct subject s;
	struct verdict v;
	struct host h;
	uint16_t port;

	if (!q->host) {
		check_good(q);
		return 0;
	}
	if (check_host(q->host, &h, &port) < 0) {
		(void)fprintf(stderr, "%s: not a host, or a host and a port, in its usual form\n",
			q->host);
		return 2;
	}
	if (q->path && !check_path(q->path)) {
		(void)fprintf(stderr,
			"%s: not a path as it is sent (/a/b?q, escapes for what is not ASCII)\n",
			q->path);
		return 2;
	}
	s = (struct subject){&h, port, slice_str(q->method), slice_str(q->path)};
	v = check_decide(p, &s);
	check_print(q, &h, port, &v);
	return v.allow ? 0 : 3;
}

/* ---- which document it is ---- */

/* The first row whose key the document has at its top. */
static const struct {
	const char *key, *what, *command;
} check_kinds[] = {
	{"rules", "a policy", "sallyportctl policy check"},
	{"default", "a policy", "sallyportctl policy check"},
	{"state", "a configuration of the daemon", "sallyportd --check-config"},
	{"user", "a configuration of the daemon", "sallyportd --check-config"},
	{"resolvers", "a configuration of the daemon", "sallyportd --check-config"},
	{"audit", "a configuration of the daemon", "sallyportd --check-config"},
	{"credentials", "a credentials document", "sallyportctl credentials check"},
};

static void check_kind(struct slice text, const char *file, const char *command)
{
	struct fault unused = {{0}};
	struct conf_doc *doc;
	unsigned i = 0;

	if (conf_parse_sealed(text, file, &unused, &doc) < 0)
		return;
	while (i < ARRAY_SIZE(check_kinds) && !conf_get(doc->root, check_kinds[i].key))
		i++;
	if (i < ARRAY_SIZE(check_kinds) && strcmp(check_kinds[i].command, command) != 0)
		(void)fprintf(stderr, "this looks like %s: try `%s %s`\n", check_kinds[i].what,
			check_kinds[i].command, file);
	conf_free(doc);
}

/* ---- policy check ---- */

static int check_load(const char *file, struct policy **ret)
{
	struct fault fault = {{0}};
	struct buf text;
	int r;

	buf_init(&text, LIMIT_DOCUMENT + 1);
	r = check_read(file, &text);
	if (r < 0) {
		(void)fprintf(stderr, "%s: %s\n", file, strerror(-r));
	} else if ((r = policy_load(buf_slice(&text), file, &fault, ret)) < 0) {
		(void)fprintf(stderr, "%s\n", fault.text[0] ? fault.text : strerror(-r));
		check_kind(buf_slice(&text), file, "sallyportctl policy check");
	}
	buf_done(&text);
	return r;
}

int check_policy(const struct check_request *q)
{
	struct policy *p = NULL;
	int status = 1;

	if (check_load(q->file, &p) == 0) {
		policy_check(p, check_warn, NULL);
		status = check_answer(q, p);
	}
	policy_unref(p);
	return status;
}

/* ---- credentials check ---- */

static int check_trust(struct source_trust *ret)
{
	const struct passwd *pw = getpwnam(check_user);

	if (geteuid() != 0) {
		(void)fprintf(stderr, "credentials are root's: use sudo\n");
		return -EPERM;
	}
	if (!pw) {
		(void)fprintf(stderr, "there is no user %s: run scripts/setup\n", check_user);
		return -ENOENT;
	}
	*ret = (struct source_trust){.owner = 0, .group = pw->pw_gid};
	return 0;
}

static int check_load_credentials(const char *file, struct credset **ret)
{
	struct fault fault = {{0}};
	struct source_trust trust;
	struct source_mark mark;
	struct buf text;
	int r = check_trust(&trust);

	if (r < 0)
		return r;
	buf_init(&text, LIMIT_DOCUMENT);
	r = strcmp(file, "-") == 0 ? source_read_fd(STDIN_FILENO, file, &fault, &text)
				   : source_read(file, &trust, &fault, &text, &mark);
	if (r == 0)
		r = credset_load(buf_slice(&text), file, &trust, &fault, ret);
	if (r < 0) {
		(void)fprintf(stderr, "%s\n", fault.text[0] ? fault.text : strerror(-r));
		if (buf_used(&text) == 0) /* it may be none of this kind, and need no chmod */
			(void)check_read(file, &text);
		check_kind(buf_slice(&text), file, "sallyportctl credentials check");
	}
	buf_done(&text);
	return r;
}

static int check_opened(const struct credset *s, const char *policy)
{
	struct fault fault = {{0}};
	struct policy *p = NULL;
	int r = check_load(policy, &p);

	if (r == 0) {
		r = credset_check_against_policy(s, p, &fault);
		if (r < 0)
			(void)fprintf(stderr, "%s\n", fault.text);
		else
			credset_check_tunnels(s, p, check_warn, NULL);
	}
	policy_unref(p);
	return r;
}

int check_credentials(const struct check_request *q)
{
	struct credset *s = NULL;
	int r = check_load_credentials(q->file, &s);

	if (r == 0) {
		credset_check(s, check_warn, NULL);
		r = q->policy ? check_opened(s, q->policy) : 0;
	}
	if (r == 0)
		check_good(q);
	credset_unref(s);
	return r < 0 ? 1 : 0;
}
