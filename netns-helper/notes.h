/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * notes.h – what does not work as it should, of one sandbox or of the machine: a feature, why, and
 * what mends it. What is new is due to be told to the daemon. Life: zeroed → notes_set … → notes_free.
 */
#ifndef SALLYPORT_NETNS_HELPER_NOTES_H
#define SALLYPORT_NETNS_HELPER_NOTES_H

#include <stdbool.h>
#include <stddef.h>

#include "netns-helper/proto.h"

enum { NOTES_MAX = 16 };

struct note {
	struct note *next;
	bool due; /* to be told */
	char feature[PROTO_FEATURE];
	char reason[PROTO_TEXT]; /* empty: whole again; forgotten when that has been told */
	char remedy[PROTO_TEXT];
};

struct notes {
	struct note *first;
	size_t n;
};

/*
 * Notes the feature as degraded, or with reason "" as whole again; texts are cut to size. 1 when that
 * is news, 0 when it is as before, -ENOSPC beyond NOTES_MAX, -ENOMEM.
 */
int notes_set(struct notes *n, const char *feature, const char *reason, const char *remedy);

/* Whether the feature is degraded. */
bool notes_hold(const struct notes *n, const char *feature);

/* The next that is to be told, or NULL; borrowed until the next call of another function here. */
struct note *notes_due(const struct notes *n);
/* It has been told. */
void notes_told(struct notes *n, struct note *note);
/* Nobody has been told anything: all that is degraded is due. */
void notes_renew(struct notes *n);

void notes_free(struct notes *n);

#endif
