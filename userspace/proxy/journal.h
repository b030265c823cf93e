/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.h – one worker's audit events on their way to the control thread: a ring with one writer and one reader.
 * No lock, no allocation. A request that uses a credential reserves its place before the head is sent, so that no use
 * goes unrecorded; other events that find the ring full are counted as lost. One sandbox may hold JOURNAL_SHARE of the
 * places, and never the last ones, which are for what cannot wait: so that none can silence the others, or itself.
 */
#ifndef SALLYPORT_PROXY_JOURNAL_H
#define SALLYPORT_PROXY_JOURNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ring/loop.h"

struct audit_event;

enum {
	JOURNAL_SIZE = 8192, /* events; a power of two; touched only as far as used */
	JOURNAL_SHARE =
		1024, /* places that one sandbox may keep, as many as it may have connections */
	JOURNAL_KEPT = JOURNAL_SIZE / 2, /* places that may be kept altogether */
};

struct journal {
	struct mail bell; /* rung when the reader may be asleep */
	struct loop *from, *to;
	void (*read)(void *arg, const struct audit_event *e); /* in the control thread */
	void (*lost)(void *arg, uint64_t n);
	void *arg;
	struct audit_event *events; /* JOURNAL_SIZE of them */
	_Atomic uint32_t head; /* written by the reader */
	_Atomic uint32_t tail; /* written by the writer */
	_Atomic bool ringing;
	_Atomic uint64_t dropped;
	unsigned reserved; /* the writer's */
};

/* 0 or -ENOMEM. */
int journal_init(struct journal *j, struct loop *from, struct loop *to);
void journal_done(struct journal *j);

/* Reads what is there: in the reader's thread, or when the writer has ended. */
void journal_drain(struct journal *j);

/* Keeps a place; *held counts those of one sandbox, the caller's. False when there is none, or its share is used. */
bool journal_reserve(struct journal *j, unsigned *held);
/* Gives a place back that was not used. */
void journal_release(struct journal *j, unsigned *held);
/* Copies the event in. With held, into the place that was kept: it cannot fail. Otherwise a full ring loses and counts it. */
void journal_write(struct journal *j, const struct audit_event *e, unsigned *held);

#endif
