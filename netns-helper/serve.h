/* SPDX-License-Identifier: GPL-2.0-or-later */
/* serve.h – the resident helper, from its start to its last sandbox. */
#ifndef SALLYPORT_SERVE_H
#define SALLYPORT_SERVE_H

#include <stdbool.h>

struct serve_options {
	const char *state; /* the state directory */
	const char *daemon_user; /* who may connect to link.sock besides root */
	bool private; /* ends with its parent or with the first held sandbox, and removes the
			 directory */
	bool wait; /* in an outage connections wait for the next daemon instead of being refused */
};

/* Serves until SIGTERM, SIGINT or SIGHUP. The exit status. Logs its own failures. */
int serve(const struct serve_options *options);

#endif
