/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notes.h – features that the helper says are degraded (PROTO_NOTE): those of the machine, and those of each sandbox. A
 * zeroed struct notes holds none. On the control thread.
 */
#ifndef SALLYPORT_PROXY_NOTES_H
#define SALLYPORT_PROXY_NOTES_H

enum { NOTES_MAX = 16 }; /* features at once; netns-helper keeps no more */

struct note {
	struct note *next;
	char *feature, *reason, *remedy;
};

struct notes {
	struct note *first; /* in the order in which they were told */
	unsigned n;
};

/*
 * Sets the reason and remedy of a feature, "" as the reason removes it. 0, -ENOMEM or -E2BIG when there are NOTES_MAX
 * others; what was there stays then.
 */
int notes_set(struct notes *notes, const char *feature, const char *reason, const char *remedy);
/* Forgets all. */
void notes_done(struct notes *notes);

#endif
