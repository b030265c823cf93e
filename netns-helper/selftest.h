/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * selftest.h – the proof that what holds a sandbox is effective on its cgroup and its network namespace, and not only
 * on record. Life: selftest_start → (events in the loop) selftest_over → selftest_free.
 */
#ifndef SALLYPORT_NETNS_HELPER_SELFTEST_H
#define SALLYPORT_NETNS_HELPER_SELFTEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

struct attachment;
struct loop;
struct prober;
struct selftest;

enum selftest_outcome {
	SELFTEST_GOOD, /* every knock was refused, and counted where it must be */
	SELFTEST_BAD, /* something does not hold */
	SELFTEST_UNPROVEN, /* it cannot be tried now: nothing speaks against it */
};

struct selftest_result {
	enum selftest_outcome outcome;
	struct fault why; /* unless GOOD */
	const char *remedy;
};

/* Begins one; the attachment must be active or closed (attach_close), and stay until the end. 0 or -errno. */
int selftest_start(
	struct loop *loop, struct prober *prober, struct attachment *a, struct selftest **ret);

/* Whether it is at its end; the result then. Ends one that is late. */
bool selftest_over(struct selftest *t, uint64_t now_ms, struct selftest_result *ret);

/* Milliseconds until selftest_over() wants to be asked again, unless the loop has news before. */
int selftest_wait(const struct selftest *t, uint64_t now_ms);

/* It will be over soon, UNPROVEN, without looking at the attachment again: its process is killed. */
void selftest_stop(struct selftest *t);

/* After its end, outside the loop's callbacks. NULL is allowed. */
void selftest_free(struct selftest *t);

#endif
