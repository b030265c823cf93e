/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refusals.c – see refusals.h. libbpf's ring_buffer does the reading; its epoll descriptor is watched like any other.
 *
 * Not every event wakes us: only the first in a second (record_wake() in bpf/record.bpf.h), since waking costs more than
 * the refusal. So each wake is followed by looks for longer than that second; and so is the beginning, as whoever read
 * before us may have been woken for what is there, and for what follows it.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bpf/capture.h"
#include "capture/refusals.h"
#include "ring/loop.h"

enum {
	REFUSALS_LOOK = 50, /* milliseconds from one look to the next */
	REFUSALS_LOOKING = 1500, /* … and from a wake to the last one: more than a second */
};

struct refusals {
	struct loop *loop;
	int map;
	struct ring_buffer *ring;
	struct watch watch;
	struct timer look;
	uint64_t until; /* when looking ends, on the loop's clock */
	void (*each)(void *arg, const struct capture_unix_refusal *r);
	void *arg;
};

static int refusals_sample(void *ctx, void *data, size_t size)
{
	struct capture_unix_refusal one = {.path = ""};
	struct refusals *r = ctx;

	if (size < sizeof(one.refusal))
		return 0;
	memcpy(&one, data, size < sizeof(one) ? size : sizeof(one));
	r->each(r->arg, &one);
	return 0;
}

static void refusals_read(struct refusals *r)
{
	(void)ring_buffer__consume(
		r->ring); /* only the callback's failure could be told, and it has none */
	if (loop_now(r->loop) < r->until)
		timer_start(r->loop, &r->look, REFUSALS_LOOK);
}

static void refusals_ready(struct watch *w, uint32_t revents)
{
	struct refusals *r = w->arg;

	(void)revents;
	r->until = loop_now(r->loop) + REFUSALS_LOOKING;
	refusals_read(r);
}

static void refusals_look(struct timer *t)
{
	refusals_read(container_of(t, struct refusals, look));
}

void refusals_drain(struct refusals *r)
{
	if (r)
		refusals_read(r);
}

int refusals_new(struct loop *loop, int map,
	void (*each)(void *arg, const struct capture_unix_refusal *r), void *arg,
	struct refusals **ret)
{
	struct refusals *r = calloc(1, sizeof(*r));
	int e;

	if (!r) {
		(void)close(map);
		return -ENOMEM;
	}
	*r = (struct refusals){.loop = loop, .map = map, .each = each, .arg = arg};
	r->look.fire = refusals_look;
	r->watch.ready = refusals_ready;
	r->watch.arg = r;
	r->ring = ring_buffer__new(map, refusals_sample, r, NULL);
	e = r->ring ? watch_start(loop, &r->watch, ring_buffer__epoll_fd(r->ring), POLLIN) : -errno;
	if (e < 0) {
		refusals_free(r);
		return e;
	}
	r->until = loop_now(loop) + REFUSALS_LOOKING;
	timer_start(loop, &r->look, 0);
	*ret = r;
	return 0;
}

void refusals_free(struct refusals *r)
{
	if (!r)
		return;
	watch_stop(r->loop, &r->watch);
	timer_stop(r->loop, &r->look);
	ring_buffer__free(r->ring);
	(void)close(r->map);
	free(r);
}
