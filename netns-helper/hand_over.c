/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hand_over.c – see hand_over.h.
 *
 *   1  the new daemon has said ACTIVE for every sandbox that is active (it has loaded what it needs and
 *      accepts nothing). One refusal, and it is dropped: the old one goes on as if nothing had been
 *   2  the old one is told DRAIN; it stops to accept, reads no event any more, and says DRAINING
 *   3  the path of the control socket and the beat that counts become the new one's; it is told SERVE and accepts
 *   4  the old one ends what it has begun, in a time of its own configuration that it said with DRAINING, and exits
 *
 * The listeners are the same sockets in both: what comes between 2 and 3 waits in their backlog, a few
 * milliseconds. The two never accept, nor read the kernel's events, at once: a failure before 3 leaves nothing with the
 * new one that could be lost, and a ring buffer has one reader.
 *
 * An old daemon that does not answer DRAIN within PROTO_DRAIN_MS hangs, and is killed: a take-over is a remedy for
 * that too. So is one that has not gone PROTO_DRAIN_LATE_MS after its time, connected or not: as long as it lives it
 * has the second place, and the next take-over would wait for it. Without an old one, step 3 follows 1.
 *
 * #syscalls: renameat newfstatat unlinkat pidfd_send_signal poll
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netns-helper/daemon_link.h"
#include "netns-helper/daemon_tell.h"
#include "netns-helper/hand_over.h"
#include "netns-helper/outage.h"
#include "netns-helper/sandboxes.h"

#include "base/clock.h"
#include "base/log.h"

static void hand_over_drain(struct daemon_peer *old)
{
	int r = daemon_tell_word(old, PROTO_DRAIN);

	if (r < 0 && r != -EAGAIN) {
		daemon_link_drop(old);
		return;
	}
	/* a full socket is that of a daemon that does not read */
	log_info("the daemon of pid %d hands over", (int)old->pid);
	sandboxes_link_drains(old->link->sandboxes, daemon_peer_slot(old));
	daemon_peer_to(old, DAEMON_DRAINING);
	old->drain_owed = true;
	old->drain_ms = clock_monotonic_ms() + PROTO_DRAIN_MS;
}

/* It has taken all that is active. */
static void hand_over_settle(struct daemon_peer *serving)
{
	serving->link->sandboxes->settled = serving->pid;
	outage_ends(serving->link->outage, daemon_peer_slot(serving));
}

static void hand_over_serve(struct daemon_peer *new)
{
	struct daemon_link *link = new->link;

	if (renameat(link->state, PROTO_CONTROL_NEXT, link->state, PROTO_CONTROL) < 0)
		(void)log_errno(
			-errno, "the control socket stays the old daemon's: cannot rename it");
	sandboxes_serve(link->sandboxes, daemon_peer_slot(new), new->pid);
	daemon_peer_to(new, DAEMON_SERVING);
	hand_over_settle(new);
	if (daemon_tell_word(new, PROTO_SERVE) < 0) {
		daemon_link_drop(new);
		return;
	}
	log_info("the daemon of pid %d has taken over", (int)new->pid);
}

static void hand_over_step(struct daemon_peer *new)
{
	struct daemon_link *link = new->link;
	struct daemon_peer *old = daemon_link_in(link, DAEMON_SERVING);
	const struct daemon_peer *draining = daemon_link_in(link, DAEMON_DRAINING);

	if (sandboxes_owed(link->sandboxes, daemon_peer_slot(new)))
		return;
	if (old)
		hand_over_drain(old);
	else if (!draining || !draining->drain_owed)
		hand_over_serve(new);
}

void hand_over_look(struct daemon_link *link)
{
	struct daemon_peer *serving = daemon_link_in(link, DAEMON_SERVING);
	struct daemon_peer *new = daemon_link_in(link, DAEMON_CANDIDATE);

	if (new)
		hand_over_step(new);
	else if (serving && link->outage->down &&
		 !sandboxes_owed(link->sandboxes, daemon_peer_slot(serving)))
		hand_over_settle(serving); /* it has come back */
}

int hand_over_draining(struct daemon_peer *old, uint32_t seconds)
{
	if (!old->drain_owed || seconds > PROTO_DRAIN_MOST)
		return -EPROTO;
	old->drain_owed = false;
	old->drain_ms = clock_monotonic_ms() + (uint64_t)seconds * 1000 + PROTO_DRAIN_LATE_MS;
	return 0;
}

/* The one that has hung up. The milliseconds until its time is over, -1 = it is gone. */
static int hand_over_tick_handed(struct daemon_link *link, uint64_t now)
{
	struct pollfd ended = {.fd = link->handed, .events = POLLIN};

	if (link->handed < 0 || !link->handed_ms || poll(&ended, 1, 0) != 0)
		return -1;
	if (now < link->handed_ms)
		return (int)(link->handed_ms - now);
	log_warn("the daemon of pid %d, which handed over, does not end: it is killed",
		(int)link->handed_pid);
	link->handed_ms = 0;
	(void)pidfd_send_signal(link->handed, SIGKILL, NULL, 0); /* it may be gone */
	return -1;
}

static int hand_over_tick_draining(struct daemon_peer *old, uint64_t now)
{
	if (now < old->drain_ms)
		return (int)(old->drain_ms - now);
	log_warn(old->drain_owed
			 ? "the daemon of pid %d does not hand over: it is killed"
			 : "the daemon of pid %d, which handed over, does not end: it is killed",
		(int)old->pid);
	if (old->pidfd >= 0)
		(void)pidfd_send_signal(old->pidfd, SIGKILL, NULL, 0); /* it may be gone */
	old->drain_owed = false;
	old->drain_ms = 0;
	daemon_link_drop(old);
	return 0;
}

int hand_over_tick(struct daemon_link *link)
{
	struct daemon_peer *old = daemon_link_in(link, DAEMON_DRAINING);
	uint64_t now = clock_monotonic_ms();
	int handed = hand_over_tick_handed(link, now);
	int draining = old ? hand_over_tick_draining(old, now) : -1;

	if (handed < 0 || draining < 0)
		return handed < 0 ? draining : handed;
	return handed < draining ? handed : draining;
}

void hand_over_begins(struct daemon_peer *new)
{
	struct stat st;

	if (fstatat(new->link->state, PROTO_CONTROL_NEXT, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return; /* nothing to remove: a daemon listens before it connects */
	new->next_dev = st.st_dev;
	new->next_ino = st.st_ino;
}

/* The path may be that of the next one by now, which has found the socket of a dead one there. */
static void hand_over_unlink(const struct daemon_peer *new)
{
	struct stat st;

	if (!new->next_ino ||
		fstatat(new->link->state, PROTO_CONTROL_NEXT, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (st.st_dev == new->next_dev && st.st_ino == new->next_ino)
		(void)unlinkat(new->link->state, PROTO_CONTROL_NEXT, 0); /* it may just have gone */
}

void hand_over_failed(struct daemon_peer *new)
{
	if (new->link->listener.fd < 0)
		return; /* the helper ends */
	hand_over_unlink(new);
	if (daemon_link_in(new->link, DAEMON_SERVING))
		log_warn("the take-over failed; the daemon that serves goes on");
}
