/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * handout.h – what the daemon hands out for a sandbox, STATE/handout/ID/{ca.pem,environment}. Read
 * by root but written by the daemon's user, who may be taken over: nothing but plain files of that
 * user is opened, and nothing but the exact form is accepted.
 */
#ifndef SALLYPORT_HANDOUT_H
#define SALLYPORT_HANDOUT_H

#include <stddef.h>

#include "base/fault.h"

enum {
	HANDOUT_BYTES = 65536, /* of either file */
	HANDOUT_VARIABLES = 256,
};

struct handout {
	char ca[HANDOUT_BYTES + 1];
	size_t ca_n; /* 0: nothing was handed out */
	char environment[HANDOUT_BYTES + 1]; /* what the pointers below lead into */
	struct {
		const char *name; /* [A-Za-z_][A-Za-z0-9_]* */
		const char *value; /* [A-Za-z0-9_]+ */
	} variables[HANDOUT_VARIABLES];
	size_t nvariables;
};

/*
 * Reads both files; `ret` must stay where it is. 0; -ENOENT when there are none, `ret` then being
 * empty; -ELOOP for a symbolic link on the way, -EPERM for a file that is not plainly the daemon's,
 * -EBADMSG for one of another form, -EMSGSIZE for one that is too long, another -errno; with the
 * path in `fault`.
 */
int handout_read(const char *state, const char *id, struct fault *fault, struct handout *ret);

#endif
