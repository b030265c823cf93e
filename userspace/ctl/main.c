/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c – sallyportctl: asks the daemon over its control socket, and checks documents by itself. A
 * command is a row of `commands`; one of the contract that is not built yet has a row too, and is
 * refused. A word that no row has is told with the nearest one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "conf/nearest.h"
#include "ctl/check.h"
#include "ctl/client.h"
#include "ctl/doctor.h"
#include "ctl/show.h"

enum { CTL_WRONG = 2, CTL_ARGS = 8 };

struct ctl {
	const char *state, *host, *method, *path, *policy, *lane, *mode, *probes;
	bool json;
	const char *args[CTL_ARGS]; /* what is no option, behind the command */
	unsigned nargs;
};

/* `sandbox`: the one that the path is about, or NULL. */
static int ctl_ask(const struct ctl *c, const char *path, const char *sandbox)
{
	struct fault fault = {{0}};
	struct buf answer;
	char why[512];
	int r;

	buf_init(&answer, CLIENT_ANSWER);
	r = client_get(c->state, path, &fault, &answer);
	if (r == 404 && sandbox) {
		r = fault_set(&fault, -1,
			"there is no sandbox %s (`sallyportctl sandboxes` shows those there are)",
			sandbox);
	} else if (r >= 0 && r != 200) {
		show_error(buf_slice(&answer), why, sizeof(why));
		r = fault_set(&fault, -1, "sallyportd answers %d%s%s", r, why[0] ? ": " : "", why);
	}
	if (r >= 0 && c->json)
		printf("%.*s\n", SLICE_ARG(buf_slice(&answer)));
	else if (r >= 0)
		r = show_answer(buf_slice(&answer), stdout, &fault);
	buf_done(&answer);
	if (r >= 0)
		return 0;
	(void)fprintf(stderr, "sallyportctl: %s\n", fault.text);
	return 1;
}

static int ctl_status(const struct ctl *c)
{
	return ctl_ask(c, "/v1/status", NULL);
}

static int ctl_sandboxes(const struct ctl *c)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	char path[128];

	if (c->nargs == 0)
		return ctl_ask(c, "/v1/sandboxes", NULL);
	if (strspn(c->args[0], plain) != strlen(c->args[0]) || strlen(c->args[0]) > 63) {
		(void)fprintf(stderr, "sallyportctl: `%s` is no sandbox's id\n", c->args[0]);
		return CTL_WRONG;
	}
	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s", c->args[0]);
	return ctl_ask(c, path, c->args[0]);
}

static int ctl_policy_check(const struct ctl *c)
{
	return check_policy(&(struct check_request){.file = c->args[0],
		.host = c->host,
		.method = c->method,
		.path = c->path,
		.json = c->json});
}

static int ctl_credentials_check(const struct ctl *c)
{
	return check_credentials(
		&(struct check_request){.file = c->args[0], .policy = c->policy, .json = c->json});
}

static int ctl_doctor(const struct ctl *c)
{
	return doctor_run(&(struct doctor_request){.state = c->state,
		.lane = c->lane,
		.mode = c->mode,
		.probes = c->probes,
		.json = c->json});
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
		"policy check FILE [--host HOST[:PORT] [--method METHOD] [--path PATH]]\n"
		"                               reads a policy; says what it decides, and which "
		"rule does"},
	{{"credentials", "check"}, 1, 1, ctl_credentials_check,
		"credentials check FILE [--policy FILE]\n"
		"                               reads a credentials document and its sources; as "
		"root"},
	{{"doctor"}, 0, 0, ctl_doctor,
		"doctor [--lane auto|bpf|nft] [--mode sealed|uplink] [--probes DIR]\n"
		"                               tries what this machine must offer; as root"},
	{{"policy", "explain"}},
	{{"credential"}},
	{{"approvals"}},
	{{"audit"}},
};

static int ctl_usage(FILE *to)
{
	(void)fprintf(to, "usage: sallyportctl [--state DIR] [--json] COMMAND\n");
	for (unsigned i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i].run)
			(void)fprintf(to, "  %s\n", commands[i].help);
	return to == stdout ? 0 : CTL_WRONG;
}

static int ctl_unknown(const char *what, const char *word, const struct nearest *best)
{
	char hint[NEAREST_HINT];

	(void)fprintf(stderr, "sallyportctl: unknown %s `%s`%s (--help lists what there is)\n",
		what, word, nearest_hint(best, hint));
	return CTL_WRONG;
}

/* No row has these words: the first is wrong, or it is right and the second is wrong or missing. */
static int ctl_unknown_command(const struct ctl *c)
{
	struct nearest first, second;
	bool group = false;
	char what[64];

	nearest_to(&first, slice_str(c->args[0]));
	nearest_to(&second, slice_str(c->nargs > 1 ? c->args[1] : ""));
	for (unsigned i = 0; i < ARRAY_SIZE(commands); i++) {
		nearest_try(&first, commands[i].words[0]);
		if (!commands[i].words[1] || strcmp(commands[i].words[0], c->args[0]) != 0)
			continue;
		nearest_try(&second, commands[i].words[1]);
		group = true;
	}
	if (!group)
		return ctl_unknown("command", c->args[0], &first);
	if (c->nargs > 1) {
		(void)snprintf(what, sizeof(what), "%s command", c->args[0]);
		return ctl_unknown(what, c->args[1], &second);
	}
	(void)fprintf(stderr, "sallyportctl: `%s` needs a second word\n", c->args[0]);
	return ctl_usage(stderr);
}

static int ctl_option(const char *name, const char *value, struct ctl *c)
{
	static const struct {
		const char *name;
		size_t offset;
	} options[] = {{"--state", offsetof(struct ctl, state)},
		{"--host", offsetof(struct ctl, host)}, {"--method", offsetof(struct ctl, method)},
		{"--path", offsetof(struct ctl, path)}, {"--policy", offsetof(struct ctl, policy)},
		{"--lane", offsetof(struct ctl, lane)}, {"--mode", offsetof(struct ctl, mode)},
		{"--probes", offsetof(struct ctl, probes)}};
	struct nearest best;

	nearest_to(&best, slice_str(name));
	nearest_try(&best, "--json");
	nearest_try(&best, "--help");
	for (unsigned i = 0; i < ARRAY_SIZE(options); i++) {
		nearest_try(&best, options[i].name);
		if (strcmp(options[i].name, name) != 0)
			continue;
		if (!value) {
			(void)fprintf(stderr, "sallyportctl: %s needs a value\n", name);
			return CTL_WRONG;
		}
		*(const char **)((char *)c + options[i].offset) = value;
		return 0;
	}
	(void)ctl_unknown("option", name, &best);
	return CTL_WRONG;
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
	return c->nargs ? ctl_unknown_command(c) : ctl_usage(stderr);
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
