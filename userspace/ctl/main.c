/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c – sallyportctl: asks the daemon over its control socket, and checks policies by itself. A
 * command is a row of `commands`; one of the contract that is not built yet has a row too, and is
 * refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "ctl/check.h"
#include "ctl/client.h"
#include "ctl/show.h"

enum { CTL_WRONG = 2, CTL_ARGS = 8 };

struct ctl {
	const char *state, *host, *method;
	bool json;
	const char *args[CTL_ARGS]; /* what is no option, behind the command */
	unsigned nargs;
};

static int ctl_ask(const struct ctl *c, const char *path)
{
	struct fault fault = {{0}};
	struct buf answer;
	char why[512];
	int r;

	buf_init(&answer, CLIENT_ANSWER);
	r = client_get(c->state, path, &fault, &answer);
	if (r >= 0 && r != 200) {
		show_error(buf_slice(&answer), why, sizeof(why));
		r = fault_set(&fault, -1, "sallyportd answers %d%s%s", r, why[0] ? ": " : "", why);
	}
	if (r >= 0 && c->json)
		printf("%.*s\n", SLICE_ARG(buf_slice(&answer)));
	else if (r >= 0)
		r = show_answer(buf_slice(&answer), &fault);
	buf_done(&answer);
	if (r >= 0)
		return 0;
	(void)fprintf(stderr, "sallyportctl: %s\n", fault.text);
	return 1;
}

static int ctl_status(const struct ctl *c)
{
	return ctl_ask(c, "/v1/status");
}

static int ctl_sandboxes(const struct ctl *c)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	char path[128];

	if (c->nargs == 0)
		return ctl_ask(c, "/v1/sandboxes");
	if (strspn(c->args[0], plain) != strlen(c->args[0]) || strlen(c->args[0]) > 63) {
		(void)fprintf(stderr, "sallyportctl: `%s` is no sandbox's id\n", c->args[0]);
		return CTL_WRONG;
	}
	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s", c->args[0]);
	return ctl_ask(c, path);
}

static int ctl_policy_check(const struct ctl *c)
{
	return check_policy(&(struct check_request){
		.file = c->args[0], .host = c->host, .method = c->method, .json = c->json});
}

static const struct {
	const char *words[2]; /* the second may be NULL */
	unsigned min, max; /* arguments behind it */
	int (*run)(const struct ctl *c); /* NULL = not available in this version */
	const char *help;
} commands[] = {
	{{"status"}, 0, 0, ctl_status,
		"status                       the daemon, and what does not work"},
	{{"sandboxes"}, 0, 1, ctl_sandboxes,
		"sandboxes [ID]               the attached sandboxes, or one"},
	{{"policy", "check"}, 1, 1, ctl_policy_check,
		"policy check FILE [--host HOST[:PORT] [--method METHOD]]\n"
		"                               reads a policy; says what it decides, and which "
		"rule does"},
	{{"policy", "explain"}},
	{{"credential"}},
	{{"approvals"}},
	{{"audit"}},
	{{"doctor"}},
};

static int ctl_usage(FILE *to)
{
	(void)fprintf(to, "usage: sallyportctl [--state DIR] [--json] COMMAND\n");
	for (unsigned i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i].run)
			(void)fprintf(to, "  %s\n", commands[i].help);
	return to == stdout ? 0 : CTL_WRONG;
}

static int ctl_option(const char *name, const char *value, struct ctl *c)
{
	static const struct {
		const char *name;
		size_t offset;
	} options[] = {{"--state", offsetof(struct ctl, state)},
		{"--host", offsetof(struct ctl, host)}, {"--method", offsetof(struct ctl, method)}};

	for (unsigned i = 0; i < ARRAY_SIZE(options); i++) {
		if (strcmp(options[i].name, name) != 0)
			continue;
		if (!value) {
			(void)fprintf(stderr, "sallyportctl: %s needs a value\n", name);
			return CTL_WRONG;
		}
		*(const char **)((char *)c + options[i].offset) = value;
		return 0;
	}
	(void)fprintf(stderr, "sallyportctl: unknown option %s\n", name);
	return ctl_usage(stderr);
}

static int ctl_run(struct ctl *c)
{
	for (unsigned i = 0; i < ARRAY_SIZE(commands); i++) {
		unsigned words = commands[i].words[1] ? 2 : 1;

		if (c->nargs < words || strcmp(c->args[0], commands[i].words[0]) != 0 ||
			(words == 2 && strcmp(c->args[1], commands[i].words[1]) != 0))
			continue;
		if (!commands[i].run) {
			(void)fprintf(stderr,
				"sallyportctl: `%s%s%s` is not available in this version\n",
				c->args[0], words == 2 ? " " : "", words == 2 ? c->args[1] : "");
			return CTL_WRONG;
		}
		c->nargs -= words;
		memmove(c->args, c->args + words, c->nargs * sizeof(c->args[0]));
		if (c->nargs < commands[i].min || c->nargs > commands[i].max)
			return ctl_usage(stderr);
		return commands[i].run(c);
	}
	return ctl_usage(stderr);
}

int main(int argc, char **argv)
{
	struct ctl c = {.state = "/run/sallyport"};

	for (int i = 1; i < argc; i++) {
		const char *a = argv[i];

		if (strcmp(a, "--help") == 0)
			return ctl_usage(stdout);
		if (strcmp(a, "--json") == 0) {
			c.json = true;
		} else if (a[0] == '-' && a[1] == '-') {
			if (ctl_option(a, argv[i + 1], &c) != 0)
				return CTL_WRONG;
			i++;
		} else if (c.nargs < CTL_ARGS) {
			c.args[c.nargs++] = a;
		} else {
			return ctl_usage(stderr);
		}
	}
	return ctl_run(&c);
}
