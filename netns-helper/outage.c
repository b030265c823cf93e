/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * outage.c – see outage.h.
 *
 * The kernel's programs refuse by themselves (bpf/outage.bpf.h): here `down` is set in the moment in which the daemon's
 * socket closes, and cleared when the next one has taken every sandbox. A daemon that hangs, with its
 * socket open, shows by its beat, which the programs read without us.
 *
 * The nft lane has no such reader: the tables of its sandboxes are told (attach_set_outage), within
 * a turn of the loop when the daemon is gone, and within OUTAGE_LOOK_MS of the beat being late when it hangs. So the
 * heartbeat is there without BPF too, in sealed memory that daemons map just the same.
 *
 * What had been let in and not been accepted when the daemon died waits in the listeners' backlog: for OUTAGE_PATIENCE_MS
 * a daemon that comes back serves it as if nothing had been; then it is reset, as nobody can say when one comes. Only
 * while none is connected: two that accept from one socket could meet. What a daemon that hangs has accepted, or
 * has in its backlog, waits for it.
 *
 * With `wait` the kernel refuses nothing, and nothing is reset.
 *
 * #syscalls: memfd_create ftruncate fcntl mmap bpf poll accept4 setsockopt close
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/capture.h"
#include "netns-helper/outage.h"
#include "netns-helper/programs.h"
#include "netns-helper/sandboxes.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"

enum {
	OUTAGE_LOOK_MS = 250, /* between looks at the beat */
	OUTAGE_PATIENCE_MS = 3000, /* of a connection that nobody has accepted */
	OUTAGE_TABLES = 64, /* tables in one turn of the loop */
	OUTAGE_AGAIN_MS = 1000, /* until a table that did not take it is tried again */
	OUTAGE_BYTES = CAPTURE_BEATS * sizeof(struct capture_heartbeat),
};

/* ---- memory and map */

static uint64_t outage_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Of one page that cannot be shrunk: whoever maps it never faults. */
static int outage_memory(void)
{
	_cleanup_close_ int fd =
		memfd_create("sallyport-heartbeat", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, OUTAGE_BYTES) < 0 ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static void outage_say(struct outage *o)
{
	const struct capture_outage say = {
		.down = o->down, .wait = o->wait, .slot = o->slot, .ns = outage_now_ns()};
	const uint32_t only = 0;
	int r = o->map < 0 ? 0 : bpf_map_update_elem(o->map, &only, &say, BPF_ANY);

	if (r < 0)
		(void)log_errno(r, "the kernel cannot be told whether a daemon serves");
}

int outage_open(struct outage *o, const struct programs *programs, bool wait, struct fault *f)
{
	struct programs_outage_fds fds = {-1, -1};
	void *at;

	if (programs)
		programs_outage_fds(programs, &fds);
	*o = (struct outage){.heartbeat = programs ? fds.heartbeat : outage_memory(),
		.owned = !programs,
		.map = fds.outage,
		.wait = wait,
		.down = true,
		.swept = true,
		.since_ms = clock_monotonic_ms()};
	if (o->heartbeat < 0)
		return fault_set(f, o->heartbeat, "cannot make the heartbeat's memory: %s",
			strerror(-o->heartbeat));
	at = mmap(NULL, OUTAGE_BYTES, PROT_READ, MAP_SHARED, o->heartbeat, 0);
	if (at == MAP_FAILED)
		return fault_set(f, -errno, "cannot map the heartbeat: %s", strerror(errno));
	o->beats = at;
	outage_say(o);
	return 0;
}

void outage_close(struct outage *o)
{
	if (o->beats)
		(void)munmap((void *)o->beats, OUTAGE_BYTES); /* it was mapped as that */
	o->beats = NULL;
	if (o->owned)
		cleanup_close(&o->heartbeat);
}

/* ---- begin and end */

void outage_begins(struct outage *o)
{
	o->down = true;
	o->late = false;
	o->swept = false;
	o->since_ms = clock_monotonic_ms();
	outage_say(o);
	log_warn("no daemon serves: connections %s", o->wait ? "wait" : "are refused");
}

void outage_ends(struct outage *o, unsigned int slot)
{
	o->down = false;
	o->late = false;
	o->slot = slot;
	o->look_ms = clock_monotonic_ms() + OUTAGE_LOOK_MS;
	outage_say(o);
}

/* ---- the tables of the nft lane */

static int outage_tell_tables(const struct outage *o, struct sandboxes *s, uint64_t now)
{
	bool refuses = !o->wait && (o->down || o->late);
	unsigned int turns = 0;
	int wait = -1;

	for (struct sandbox *one = s->first; one; one = one->next) {
		int r;

		if (one->state != SANDBOX_ACTIVE || one->attachment->outage == refuses ||
			one->attachment->lane != PROTO_LANE_NFT || now < one->outage_ms)
			continue;
		if (turns++ == OUTAGE_TABLES)
			return 0;
		r = attach_set_outage(one->attachment, refuses);
		if (r == 0)
			continue;
		one->outage_ms = now + OUTAGE_AGAIN_MS;
		wait = OUTAGE_AGAIN_MS;
		(void)log_errno(r,
			"sandbox %s: its nft table cannot be told whether a daemon serves",
			one->attachment->id);
	}
	return wait;
}

/* ---- the beat */

static bool outage_is_late(const struct outage *o)
{
	const volatile struct capture_heartbeat *beat = &o->beats[o->slot];

	return outage_now_ns() > beat->ns + CAPTURE_BEAT_LATE_MS * 1000000ULL;
}

/* While there are sandboxes: without one nobody is kept waiting. */
static int outage_look(struct outage *o, const struct sandboxes *s, uint64_t now)
{
	bool late;

	if (o->down || !s->count)
		return -1;
	if (now < o->look_ms)
		return (int)(o->look_ms - now);
	o->look_ms = now + OUTAGE_LOOK_MS;
	late = outage_is_late(o);
	if (late != o->late && late)
		log_error("the daemon hangs, for more than %d s: connections %s",
			CAPTURE_BEAT_LATE_MS / 1000, o->wait ? "wait" : "are refused");
	else if (late != o->late)
		log_info("the daemon gives signs of life again");
	o->late = late;
	return OUTAGE_LOOK_MS;
}

/* ---- what nobody accepted */

static void outage_reset(int listener)
{
	const struct linger hard = {.l_onoff = 1, .l_linger = 0};
	struct pollfd ready = {.fd = listener, .events = POLLIN};

	while (poll(&ready, 1, 0) > 0 && (ready.revents & POLLIN)) {
		_cleanup_close_ int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			return; /* out of descriptors: the rest waits on */
		/* worst case it ends by a FIN */
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	}
}

static int outage_sweep(struct outage *o, const struct sandboxes *s, uint64_t now)
{
	if (o->wait || !o->down || o->swept)
		return -1;
	if (now < o->since_ms + OUTAGE_PATIENCE_MS)
		return (int)(o->since_ms + OUTAGE_PATIENCE_MS - now);
	o->swept = true;
	for (size_t i = 0; i < PROTO_DAEMONS; i++)
		if (s->linked[i])
			return -1; /* one is here, and may accept already */
	for (const struct sandbox *one = s->first; one; one = one->next)
		for (unsigned int i = 0; one->state == SANDBOX_ACTIVE && i < 2 * PROTO_SLOTS; i++) {
			int fd = one->attachment->listeners.tcp[i / PROTO_SLOTS][i % PROTO_SLOTS];

			if (fd >= 0)
				outage_reset(fd);
		}
	return -1;
}

int outage_tick(struct outage *o, struct sandboxes *s)
{
	uint64_t now = clock_monotonic_ms();
	int look = outage_look(o, s, now), tables = outage_tell_tables(o, s, now),
	    sweep = outage_sweep(o, s, now), soonest = look;

	if (tables >= 0 && (soonest < 0 || tables < soonest))
		soonest = tables;
	if (sweep >= 0 && (soonest < 0 || sweep < soonest))
		soonest = sweep;
	return soonest;
}
