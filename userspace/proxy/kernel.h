/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h – the maps that all sandboxes share, as the control thread uses them: refusals become events, counters of what
 * has no event become events too, lines of the audit learn paths, uses of credentials are counted for auditors.
 * Without a helper, or with one that has no BPF, all of it does nothing.
 */
#ifndef SALLYPORT_PROXY_KERNEL_H
#define SALLYPORT_PROXY_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/losses.h"
#include "control/link.h"
#include "ring/loop.h"

struct audit;
struct audit_client;
struct audit_event;
struct audit_paths;
struct refusals;
struct sandbox;
struct shared;

struct kernel_early;

struct kernel {
	struct loop *loop; /* borrowed, as the next three */
	struct shared *shared; /* its `closed` is ours */
	struct audit *audit;
	struct sandbox *const *sandboxes; /* the registry's list */
	int maps[LINK_MAPS]; /* owned; -1 = not there. Events are with `refusals`. */
	struct refusals *refusals; /* NULL: none can be read */
	struct kernel_early *early; /* refusals of sandboxes that are not known yet, KERNEL_EARLY */
	unsigned nearly;
	bool draining; /* entries of sandboxes that we do not have are not ours to remove */
	struct losses foreign, dialler; /* told of the accounts that are no sandbox's */
	unsigned pairs; /* in the map of uses, if they are counted: those of sandboxes too */
	bool counted;
	uint64_t uses_untold; /* uses that the full map has no room for */
};

/* 0 or -errno. */
int kernel_init(struct kernel *k, struct shared *shared, struct sandbox *const *sandboxes);
/* A helper is there. The descriptors change owner; NULL: it has no BPF. */
void kernel_hello(struct kernel *k, const int maps[LINK_MAPS]);
/* From here on the refusals are ours to read: nobody else does. Failures are logged, and shown by status. */
void kernel_serve(struct kernel *k);
/* Another daemon is about to read them: a last look, then no more. Uses are still counted. */
void kernel_drain(struct kernel *k);
/* The helper is gone; the maps stay readable until the next one. */
void kernel_lost(struct kernel *k);
void kernel_done(struct kernel *k);

/*
 * A sandbox is now in the list: what it did before is written. And one is about to leave it: what it did until now is, with
 * what its counters say at the last.
 */
void kernel_joined(struct kernel *k, struct sandbox *s);
void kernel_leaves(struct kernel *k, struct sandbox *s);
/* Now and then: tells in the audit what the counters say that was told by no event. */
void kernel_look(struct kernel *k);
/* A sandbox is gone, or those that a helper did not offer again: their uses go. */
void kernel_prune(struct kernel *k);

/* An event of the data path that is about to be written: its uses are counted in the map. */
void kernel_note_uses(struct kernel *k, const struct audit_event *e);
/* For audit_paths_by(). */
void kernel_paths(void *kernel, const struct audit_client *client, struct audit_paths *ret);

#endif
