/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * main.c – sallyport-netns: `serve` is the resident, privileged half; the other commands ask it, or
 * (enter) go where it leads. See sallyport-netns(8).
 */
#include <errno.h>
#include <unistd.h>

#include "netns-helper/arguments.h"
#include "netns-helper/client.h"
#include "netns-helper/serve.h"

#include "base/cleanup.h"
#include "base/log.h"

enum { MAIN_USAGE = 64 }; /* EX_USAGE of sysexits.h */

static int main_serve(const struct arguments *a)
{
	const struct serve_options options = {.state = a->state,
		.daemon_user = a->daemon_user,
		.private = a->private,
		.wait = arguments_wait(a)};

	return serve(&options);
}

static int main_help(const struct arguments *a)
{
	(void)a; /* nothing to choose */
	arguments_help();
	return 0;
}

static const struct {
	enum arguments_command command;
	int (*run)(const struct arguments *a);
} main_commands[] = {
	{ARGUMENTS_SERVE, main_serve},
	{ARGUMENTS_ATTACH, client_attach},
	{ARGUMENTS_DETACH, client_detach},
	{ARGUMENTS_LIST_ALL, client_list},
	{ARGUMENTS_ENTER, client_enter},
	{ARGUMENTS_HELP, main_help},
};

int main(int argc, char **argv)
{
	struct arguments a;
	int command = arguments_parse(argc, argv, &a);

	log_open("sallyport-netns", LOG_LEVEL_INFO);
	if (command != ARGUMENTS_SERVE || isatty(STDERR_FILENO))
		log_plain();
	for (size_t i = 0; i < ARRAY_SIZE(main_commands); i++)
		if ((int)main_commands[i].command == command)
			return main_commands[i].run(&a);
	return MAIN_USAGE;
}
