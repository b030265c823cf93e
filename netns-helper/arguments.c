/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arguments.c – see arguments.h. A row is an option: its name, what it is, where it goes, to which
 * commands it belongs and which of them want it. `--name value` and `--name=value` are the same.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "netns-helper/arguments.h"
#include "netns-helper/state.h"

#include "base/cleanup.h"

enum arguments_kind { ARGUMENTS_TEXT, ARGUMENTS_FLAG, ARGUMENTS_MANY };

struct arguments_row {
	const char *name;
	enum arguments_kind kind;
	size_t offset;
	unsigned int commands; /* that take it */
	unsigned int wanted; /* that do not go without */
	const char *value, *help;
	const char *const *allowed; /* NULL or the values that there are, NULL-terminated */
	const char *const *later; /* … and those that a later version will have */
};

static const char *const arguments_modes[] = {"sealed", "uplink", NULL};
static const char *const arguments_outages[] = {"refuse", "wait", NULL};
static const char *const arguments_lanes[] = {"auto", "bpf", "nft", NULL};

enum {
	ARGUMENTS_ALL = ARGUMENTS_SERVE | ARGUMENTS_ATTACH | ARGUMENTS_DETACH | ARGUMENTS_LIST_ALL |
			ARGUMENTS_ENTER
};

#define AT(member) offsetof(struct arguments, member)
/* clang-format off */
static const struct arguments_row arguments_rows[] = {
	{"--state", ARGUMENTS_TEXT, AT(state), ARGUMENTS_ALL, 0, "DIR", "the state directory (" STATE_DEFAULT ")", NULL, NULL},
	{"--daemon-user", ARGUMENTS_TEXT, AT(daemon_user), ARGUMENTS_SERVE, 0, "USER", "who may connect to link.sock (sallyport)", NULL, NULL},
	{"--outage", ARGUMENTS_TEXT, AT(outage), ARGUMENTS_SERVE, 0, "refuse|wait", "connections while no daemon serves (refuse)", arguments_outages, NULL},
	{"--private", ARGUMENTS_FLAG, AT(private), ARGUMENTS_SERVE, 0, NULL, "end with the parent or the first held sandbox; remove DIR", NULL, NULL},
	{"--id", ARGUMENTS_TEXT, AT(id), ARGUMENTS_ATTACH | ARGUMENTS_DETACH | ARGUMENTS_ENTER, ARGUMENTS_ATTACH | ARGUMENTS_DETACH | ARGUMENTS_ENTER, "ID", "the sandbox's name: [a-z0-9][a-z0-9_.-]*", NULL, NULL},
	{"--netns", ARGUMENTS_TEXT, AT(netns), ARGUMENTS_ATTACH, ARGUMENTS_ATTACH, "PATH|new", "its network namespace", NULL, NULL},
	{"--cgroup", ARGUMENTS_TEXT, AT(cgroup), ARGUMENTS_ATTACH, ARGUMENTS_ATTACH, "PATH", "its cgroup (v2 directory)", NULL, NULL},
	{"--policy", ARGUMENTS_TEXT, AT(policy), ARGUMENTS_ATTACH, 0, "FILE", "its policy (public addresses, no credentials)", NULL, NULL},
	{"--mode", ARGUMENTS_TEXT, AT(mode), ARGUMENTS_ATTACH, 0, "sealed|uplink", "no interface, or kept for what comes in (sealed)", arguments_modes, NULL},
	{"--bounding", ARGUMENTS_TEXT, AT(bounding), ARGUMENTS_ATTACH, 0, "none|CAP,...|HEX", "capabilities that its processes will have at most", NULL, NULL},
	{"--lane", ARGUMENTS_TEXT, AT(lane), ARGUMENTS_ATTACH, 0, "auto|bpf|nft", "how it is captured: nft is without BPF", arguments_lanes, NULL},
	{"--search", ARGUMENTS_MANY, AT(search), ARGUMENTS_ATTACH, 0, "DOMAIN", "a search domain; several are allowed", NULL, NULL},
	{"--unix", ARGUMENTS_MANY, AT(unix_paths), ARGUMENTS_ATTACH, 0, "PATH[/]", "what its unix sockets may reach: this path, with / what is below; several are allowed", NULL, NULL},
	{"--strict", ARGUMENTS_FLAG, AT(strict), ARGUMENTS_ATTACH, 0, NULL, "fail where something would be degraded", NULL, NULL},
	{"--hold", ARGUMENTS_FLAG, AT(hold), ARGUMENTS_ATTACH, 0, NULL, "stay; the sandbox ends with this process or its parent", NULL, NULL},
	{"--own-cgroup", ARGUMENTS_FLAG, AT(own_cgroup), ARGUMENTS_ATTACH, 0, NULL, "remove the cgroup at the end", NULL, NULL},
	{"--daemon", ARGUMENTS_FLAG, AT(daemon), ARGUMENTS_LIST_ALL, 0, NULL, "only say whether sallyportd is connected", NULL, NULL},
	{"--user", ARGUMENTS_TEXT, AT(user), ARGUMENTS_ENTER, 0, "USER", "who the command runs as (SUDO_USER, else nobody)", NULL, NULL},
	{"--trust", ARGUMENTS_TEXT, AT(trust), ARGUMENTS_ENTER, 0, "DIR", "more trust files; its bundle.pem and ca.pem go before those made here", NULL, NULL},
	{"--hide", ARGUMENTS_MANY, AT(hide), ARGUMENTS_ENTER, 0, "FILE", "a file that the command sees empty", NULL, NULL},
	{"--share", ARGUMENTS_MANY, AT(share), ARGUMENTS_ENTER, 0, "PATH", "what it sees of the machine's /tmp, /var/tmp, /dev/shm, /run/user; several are allowed", NULL, NULL},
	{"--env", ARGUMENTS_MANY, AT(env), ARGUMENTS_ENTER, 0, "NAME[=VALUE]", "a variable; NAME alone: the caller's, kept out of ps", NULL, NULL},
};

static const struct {
	const char *name;
	enum arguments_command command;
	bool rest; /* takes words after -- */
	const char *help;
} arguments_commands[] = {
	{"serve", ARGUMENTS_SERVE, false, "run the helper"},
	{"attach", ARGUMENTS_ATTACH, false, "attach a network namespace and a cgroup as a sandbox"},
	{"detach", ARGUMENTS_DETACH, false, "take a sandbox down; its processes stay, without a network"},
	{"list", ARGUMENTS_LIST_ALL, false, "print the sandboxes, one a line"},
	{"enter", ARGUMENTS_ENTER, true, "run a command in a sandbox"},
	{"help", ARGUMENTS_HELP, false, "print this"},
};
/* clang-format on */

static int arguments_wrong(const char *what, const char *why)
{
	(void)fprintf(stderr, "sallyport-netns: %s: %s\n", what, why); /* nowhere else to say it */
	return -EINVAL;
}

static bool arguments_among(const char *const *list, const char *value)
{
	for (; list && *list; list++)
		if (strcmp(*list, value) == 0)
			return true;
	return false;
}

static int arguments_unknown(const struct arguments_row *row, const char *value)
{
	(void)fprintf(stderr, "sallyport-netns: %s %s: there is no such value:", row->name, value);
	for (const char *const *one = row->allowed; *one; one++)
		(void)fprintf(stderr, "%s %s", one == row->allowed ? "" : ",", *one);
	(void)fputc('\n', stderr); /* nowhere else to say it */
	return -EINVAL;
}

static int arguments_value(const struct arguments_row *row, const char *value, struct arguments *a)
{
	char *at = (char *)a + row->offset;
	struct arguments_list *list = (struct arguments_list *)(void *)at;

	if (!*value)
		return arguments_wrong(row->name, "is empty");
	if (arguments_among(row->later, value))
		return arguments_wrong(row->name, "this value is not available in this version");
	if (row->allowed && !arguments_among(row->allowed, value))
		return arguments_unknown(row, value);
	if (row->kind == ARGUMENTS_TEXT) {
		*(const char **)(void *)at = value;
		return 0;
	}
	if (list->n == ARGUMENTS_LIST)
		return arguments_wrong(row->name, "comes too often");
	list->items[list->n++] = value;
	return 0;
}

static const struct arguments_row *arguments_find(const char *word)
{
	size_t n = strcspn(word, "=");

	for (size_t i = 0; i < ARRAY_SIZE(arguments_rows); i++)
		if (strlen(arguments_rows[i].name) == n &&
			strncmp(word, arguments_rows[i].name, n) == 0)
			return &arguments_rows[i];
	return NULL;
}

/* Takes the option at argv[*i] and moves on. Options are noted in `given`, for the command to
 * judge. */
static int arguments_option(char **argv, int *i, struct arguments *a, uint32_t *given)
{
	const struct arguments_row *row = arguments_find(argv[*i]);
	const char *value = strchr(argv[*i], '=');

	if (!row)
		return arguments_wrong(
			argv[*i], "there is no such option; see sallyport-netns help");
	*given |= 1U << (row - arguments_rows);
	if (row->kind == ARGUMENTS_FLAG) {
		if (value)
			return arguments_wrong(row->name, "takes no value");
		*(bool *)((char *)a + row->offset) = true;
		(*i)++;
		return 0;
	}
	value = value ? value + 1 : argv[++*i];
	if (!value)
		return arguments_wrong(row->name, "wants a value");
	(*i)++;
	return arguments_value(row, value, a);
}

static int arguments_judge(size_t command, const struct arguments *a, uint32_t given)
{
	for (size_t i = 0; i < ARRAY_SIZE(arguments_rows); i++) {
		const struct arguments_row *row = &arguments_rows[i];

		if ((given & 1U << i) && !(row->commands & arguments_commands[command].command))
			return arguments_wrong(row->name, "does not belong to this command");
		if (!(given & 1U << i) && (row->wanted & arguments_commands[command].command))
			return arguments_wrong(row->name, "is missing");
	}
	if (!arguments_commands[command].rest && a->rest)
		return arguments_wrong("--", "this command takes no words");
	if (arguments_commands[command].rest && (!a->rest || !a->rest[0]))
		return arguments_wrong("--", "wants a command after it");
	return arguments_commands[command].command;
}

int arguments_parse(int argc, char **argv, struct arguments *ret)
{
	struct arguments a = {.state = STATE_DEFAULT, .daemon_user = "sallyport"};
	size_t command = ARRAY_SIZE(arguments_commands);
	uint32_t given = 0;
	int i = 1, r;

	while (i < argc && !a.rest) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			return ARGUMENTS_HELP; /* whatever else there is */
		} else if (strcmp(argv[i], "--") == 0) {
			a.rest = &argv[i + 1];
		} else if (argv[i][0] == '-') {
			r = arguments_option(argv, &i, &a, &given);
			if (r < 0)
				return r;
		} else if (command < ARRAY_SIZE(arguments_commands)) {
			return arguments_wrong(
				argv[i], "is not an option; a command to run comes after --");
		} else {
			for (command = 0; command < ARRAY_SIZE(arguments_commands); command++)
				if (strcmp(arguments_commands[command].name, argv[i]) == 0)
					break;
			if (command == ARRAY_SIZE(arguments_commands))
				return arguments_wrong(argv[i],
					"there is no such command; see sallyport-netns help");
			i++;
		}
	}
	if (command == ARRAY_SIZE(arguments_commands))
		return arguments_wrong("COMMAND", "is missing; see sallyport-netns help");
	r = arguments_judge(command, &a, given);
	if (r > 0)
		*ret = a;
	return r;
}

bool arguments_wait(const struct arguments *a)
{
	return a->outage && strcmp(a->outage, "wait") == 0;
}

void arguments_help(void)
{
	(void)printf("sallyport-netns [--state DIR] COMMAND [OPTION...]\n"); /* a closed pipe is the
										reader's wish */
	for (size_t c = 0; c < ARRAY_SIZE(arguments_commands); c++) {
		(void)printf(
			"\n  %-8s %s\n", arguments_commands[c].name, arguments_commands[c].help);
		for (size_t i = 0; i < ARRAY_SIZE(arguments_rows); i++) {
			const struct arguments_row *row = &arguments_rows[i];

			if (row->commands & arguments_commands[c].command)
				(void)printf("    %-15s %-12s %s\n", row->name,
					row->value ? row->value : "", row->help);
		}
		if (arguments_commands[c].rest)
			(void)printf("    -- CMD...\n");
	}
}
