/* SPDX-License-Identifier: Apache-2.0 */
/*
 * synthetic_record.h – the text that synthetic addresses are kept in, STATE/sandboxes/ID.names. Pure: no I/O.
 *
 *	sallyport-names 1
 *	198.18.44.7 db.example.com
 *	198.19.3.200 git.example.com
 *
 * Each line ends in a newline and is written whole, behind what is there. So what stands behind the last newline is a
 * line that was being written when the machine or the daemon died; nobody was told of it. Anything else that is not as
 * above was not written by us, and is not guessed at.
 */
#ifndef SALLYPORT_PROXY_SYNTHETIC_RECORD_H
#define SALLYPORT_PROXY_SYNTHETIC_RECORD_H

#include <stddef.h>

#include "base/limits.h"
#include "base/slice.h"

struct buf;
struct fault;
struct synthetic;
struct synthetic_entry;

enum {
	SYNTHETIC_RECORD_HEAD = 18, /* bytes of the first line */
	SYNTHETIC_RECORD_LINE = 15 + 1 + LIMIT_NAME + 1, /* the longest other one */
};

/* Where reading has come to. */
struct synthetic_place {
	const char *path; /* for messages */
	unsigned lines; /* whole ones before this text; 0: the first line is still to come */
};

/*
 * Adds what whole lines say, settled, and moves `at` behind them. 0 and their length; or -EBADMSG with the fault set
 * to "PATH:LINE: …", -ENOMEM. On failure what was added stays.
 */
int synthetic_record_read(struct synthetic *s, struct slice text, struct synthetic_place *at,
	struct fault *fault, size_t *ret_used);

/* Appends the first line; or the line of an entry. 0 or -errno. */
int synthetic_record_head(struct buf *out);
int synthetic_record_line(const struct synthetic_entry *e, struct buf *out);

#endif
