/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming.c – see naming.h. A question travels worker → control → worker as one mail, as a lookup does (lookup.c).
 *
 * Owns, for each sandbox: the questions that wait, and while some are being written the file. One flight at a time:
 *
 *	what waits  → lines behind the end of STATE/sandboxes/ID.names → fsync by the ring → settled → back to the workers
 *
 * and what came meanwhile is the next flight, so a burst of names costs two of them, and a slow disk holds up nobody
 * but who asks for new names of that sandbox. A name that is in the table but could not be written keeps its place
 * there, unseen, and is written by the next flight that asks for it, with the same address: no address is given twice,
 * and no name gets two.
 *
 * The file is locked (F_OFD_SETLK) from opening to closing, and what another daemon has appended meanwhile is read
 * first: two that serve the same sandboxes, while one hands over to the other, give one address to one name. One that
 * drains gives none, so the other knows all that were told when it begins to serve (naming_renew()). What a
 * write that failed has left behind is cut off under the same lock.
 *
 * The control thread does not wait for the lock, which a daemon that hangs, or is not ours any more, might keep: a
 * flight is tried again for NAMING_PATIENCE, then it has failed and the questions of it are answered so; what is to be
 * read is tried again until it has been. Nothing is given meanwhile: an address is given under the lock alone.
 *
 * A sandbox cannot go while a question of it is on its way: its seat waits for that (seat->namings).
 *
 * #syscalls: openat fcntl fstat pread64 write ftruncate close unlink getrandom
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "base/log.h"
#include "policy/hosts.h"
#include "proxy/naming.h"
#include "proxy/sandbox.h"
#include "proxy/shared.h"
#include "proxy/synthetic.h"
#include "proxy/synthetic_record.h"
#include "proxy/worker.h"

enum {
	NAMING_FLIGHT = 256, /* names written at once */
	NAMING_BYTES = SYNTHETIC_RECORD_HEAD + NAMING_FLIGHT * SYNTHETIC_RECORD_LINE,
	/* the largest file that we ever write, and a torn line */
	NAMING_FILE = SYNTHETIC_RECORD_HEAD + (SYNTHETIC_MAX + 1) * SYNTHETIC_RECORD_LINE,
	NAMING_AGAIN = 50, /* milliseconds between attempts to lock */
	NAMING_PATIENCE =
		2000, /* milliseconds: a client asks again after 5 s, and is to be told before */
};

static int naming_path(char ret[PATH_MAX], const char *state, const char *id)
{
	int n = snprintf(ret, PATH_MAX, "%s/sandboxes/%s.names", state, id);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* ---- the file */

/* 0, -EAGAIN when another daemon has it, or another -errno. The lock is gone with the descriptor. */
static int naming_lock(int fd)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(fd, F_OFD_SETLK, &whole) == 0)
		return 0;
	return errno == EACCES ? -EAGAIN : -errno;
}

static int naming_read(int fd, size_t from, size_t to, struct buf *ret)
{
	while (from < to) {
		uint8_t *room = buf_reserve(ret, to - from);
		ssize_t n = room ? pread(fd, room, to - from, (off_t)from) : -1;

		if (!room)
			return -ENOMEM;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		buf_commit(ret, (size_t)n);
		from += (size_t)n;
	}
	return 0;
}

/* Reads the whole lines behind those that are known and cuts off what follows them. 0 or -errno with the fault set. */
static int naming_catch_up(struct sandbox *s, int fd, const char *path, struct fault *fault)
{
	struct namings *all = &s->namings;
	struct synthetic_place at = {path, all->lines};
	struct stat st;
	struct buf text;
	size_t used;
	int r;

	if (fstat(fd, &st) < 0)
		return fault_set(fault, -errno, "%s: %s", path, strerrordesc_np(errno));
	if (!S_ISREG(st.st_mode) || st.st_size > NAMING_FILE || (size_t)st.st_size < all->size)
		return fault_set(fault, -EBADMSG,
			"%s: not a file of names, or cut (detach the sandbox and attach it again)",
			path);
	if ((size_t)st.st_size == all->size)
		return 0;
	buf_init(&text, NAMING_FILE);
	r = naming_read(fd, all->size, (size_t)st.st_size, &text);
	r = r ? r : synthetic_record_read(&s->synthetic, buf_slice(&text), &at, fault, &used);
	buf_done(&text);
	if (r < 0)
		return fault_set(fault, r, "%s: %s", path, strerrordesc_np(-r));
	all->size += used;
	all->lines = at.lines;
	if (all->size < (size_t)st.st_size && ftruncate(fd, (off_t)all->size) < 0)
		return fault_set(fault, -errno, "%s: %s", path, strerrordesc_np(errno));
	return 0;
}

static void naming_depart(struct sandbox *s);

/* 0, -EAGAIN when the file is locked, or another -errno; in both cases with the fault set. */
static int naming_read_kept(struct sandbox *s, const char *state, struct fault *fault)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	int r = naming_path(path, state, s->at.id);

	if (r < 0)
		return fault_set(fault, r, "names of %s: %s", s->at.id, strerrordesc_np(-r));
	fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	r = fd < 0 ? -errno : naming_lock(fd);
	if (r < 0)
		return fault_set(fault, r, "%s: %s", path, strerrordesc_np(-r));
	return naming_catch_up(s, fd, path, fault);
}

/* What is owed, and what waits to depart. */
static void naming_again(struct timer *t)
{
	struct sandbox *s =
		container_of(container_of(t, struct namings, again), struct sandbox, namings);
	struct fault fault = {0};

	if (s->namings.owed)
		(void)naming_renew(s, s->shared->state, &fault); /* in the log, where it is final */
	if (s->namings.tries)
		naming_depart(s);
}

static void naming_try_again(struct sandbox *s)
{
	s->namings.again.fire = naming_again;
	timer_start(s->shared->control, &s->namings.again, NAMING_AGAIN);
}

int naming_renew(struct sandbox *s, const char *state, struct fault *fault)
{
	struct namings *all = &s->namings;
	bool owed = all->owed;
	int r = naming_read_kept(s, state, fault);

	all->owed = r == -EAGAIN;
	if (all->owed) {
		if (!owed)
			log_warn(
				"sandbox %s: another daemon has its names locked: they are read as "
				"soon as it lets go",
				s->at.id);
		naming_try_again(s);
		return 0;
	}
	if (owed && r < 0)
		log_error("%s", fault->text);
	else if (owed)
		log_info("sandbox %s: its names have been read", s->at.id);
	return r;
}

void naming_end(struct sandbox *s)
{
	if (s->namings.again.next) /* one that is only prepared has no loop */
		timer_stop(s->shared->control, &s->namings.again);
}

int naming_load(struct sandbox *s, const char *state, struct fault *fault)
{
	if (getrandom(&s->synthetic.seed, sizeof(s->synthetic.seed), 0) < 0)
		return fault_set(
			fault, -errno, "names of %s: %s", s->at.id, strerrordesc_np(errno));
	return naming_renew(s, state, fault);
}

void naming_forget(const char *id, const char *state)
{
	char path[PATH_MAX];

	if (naming_path(path, state, id) == 0)
		(void)unlink(path); /* most have none */
}

/* ---- back to the worker */

static void naming_return(struct mail *m)
{
	struct naming *n = container_of(m, struct naming, mail);
	struct seat *seat = n->seat;

	n->done(n);
	seat->namings--; /* only now: the seat may end with it */
	worker_seat_check(seat);
}

static void naming_answer(struct naming *n, int err)
{
	n->err = err;
	if (err == 0 && !synthetic_address(&n->seat->sandbox->synthetic, n->host, &n->addr))
		n->err = -EIO;
	n->mail.deliver = naming_return;
	loop_post(n->seat->worker->shared->control, n->seat->worker->loop, &n->mail);
}

/* All of the list, which is the caller's. */
static void naming_answer_all(struct naming *list, int err)
{
	while (list) {
		struct naming *n = list;

		list = n->next;
		if (err == 0)
			synthetic_settle(n->entry);
		naming_answer(n, err);
	}
}

/* ---- flights */

static void naming_close(struct namings *all)
{
	if (all->fd >= 0)
		(void)close(TAKE_FD(all->fd));
	if (all->dir >= 0)
		(void)close(TAKE_FD(all->dir));
}

/* The flight could not be kept: what it has written is cut off. */
static void naming_fail(struct sandbox *s, int err)
{
	struct namings *all = &s->namings;
	struct naming *flight = TAKE_PTR(all->flight);

	if (all->grows && ftruncate(all->fd, (off_t)all->size) < 0)
		err = -errno; /* what is there is read by the next: lines of ours, and a torn one */
	all->grows = 0;
	if (!all->told)
		(void)log_errno(err, "cannot keep the names of sandbox %s: new ones are not told",
			s->at.id);
	all->told = true;
	naming_close(all);
	naming_answer_all(flight, err);
}

/* Asks the disk for one of the two. */
static void naming_sync(struct sandbox *s, int fd)
{
	/* user space addresses have 47 bits: the operation fits below */
	union ring_ref ref = {.u64 = (uint64_t)(uintptr_t)s << 8 | NAMING_OP};
	struct io_uring_sqe *sqe = loop_sqe(s->shared->control, ref);

	sqe->opcode = IORING_OP_FSYNC;
	sqe->fd = fd;
}

void naming_synced(void *owner, union ring_ref ref, int res, uint32_t flags)
{
	struct sandbox *s = (struct sandbox *)(uintptr_t)(ref.u64 >> 8);
	struct namings *all = &s->namings;
	struct naming *flight;

	(void)owner;
	(void)flags;
	if (res < 0) {
		naming_fail(s, res);
	} else if (all->dir_next) {
		all->dir_next = false;
		naming_sync(s, all->dir);
		return;
	} else {
		all->size += all->grows;
		all->grows = 0;
		all->lines += all->more;
		all->told = false;
		naming_close(all);
		flight = TAKE_PTR(all->flight);
		naming_answer_all(flight, 0);
	}
	if (all->first)
		naming_depart(s);
}

/* Opens, locks and reads what is new. 0 or -errno. */
static int naming_open(struct sandbox *s)
{
	struct namings *all = &s->namings;
	struct fault fault = {0};
	char path[PATH_MAX];
	int r = naming_path(path, s->shared->state, s->at.id);

	all->fd = all->dir = -1;
	if (r < 0)
		return r;
	all->fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (all->fd < 0)
		return -errno;
	r = naming_lock(all->fd);
	if (r < 0)
		return r;
	r = naming_catch_up(s, all->fd, path, &fault);
	if (r < 0) {
		if (!all->told)
			log_error("%s", fault.text);
		return r;
	}
	if (all->size == 0) {
		*strrchr(path, '/') = 0;
		all->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (all->dir < 0)
			return -errno;
	}
	return 0;
}

/* The entry of the name, a new one if need be. 0 or -errno. */
static int naming_entry(struct sandbox *s, struct naming *n)
{
	struct slice name = slice_of(n->host->text, n->host->n);
	uint32_t random;
	int r;

	n->entry = synthetic_entry(&s->synthetic, name);
	if (n->entry)
		return 0;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	r = synthetic_give(&s->synthetic, &s->shared->synthetic, name, random, &n->entry);
	return r == -ENOSPC ? -E2BIG : r;
}

/* Whether another one of the flight brings the same name. */
static bool naming_twice(const struct namings *all, const struct naming *n)
{
	for (const struct naming *other = all->flight; other; other = other->next)
		if (other->entry == n->entry)
			return true;
	return false;
}

/* Takes the first that waits into the flight, and its line into the text; or answers it. */
static void naming_board(struct sandbox *s, struct buf *text)
{
	struct namings *all = &s->namings;
	struct naming *n = all->first;
	int r;

	all->first = n->next;
	if (!all->first)
		all->last = NULL;
	r = naming_entry(s, n);
	if (r < 0 || atomic_load_explicit(&n->entry->settled, memory_order_relaxed)) {
		naming_answer(n, r);
		return;
	}
	if (!naming_twice(all, n)) {
		r = synthetic_record_line(n->entry, text);
		if (r < 0) {
			naming_answer(n, r);
			return;
		}
		all->more++;
	}
	n->next = all->flight;
	all->flight = n;
}

/* The file is open. 0 or -errno: then the flight is to be failed. */
static int naming_write(struct sandbox *s, struct buf *text)
{
	struct namings *all = &s->namings;
	struct slice bytes = buf_slice(text);
	ssize_t n;

	all->grows = bytes.n;
	do
		n = write(all->fd, bytes.p, bytes.n);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == bytes.n ? 0
				    : -ENOSPC; /* a file is written whole, or the disk is full */
}

/* Whether the file is locked by another and the flight, which has not begun, is tried again. */
static bool naming_waits(struct sandbox *s, int r)
{
	struct namings *all = &s->namings;

	if (r != -EAGAIN || all->tries >= NAMING_PATIENCE / NAMING_AGAIN) {
		all->tries = 0;
		return false;
	}
	all->tries++;
	naming_close(all);
	naming_try_again(s);
	return true;
}

/* Nothing is under way and something waits. */
static void naming_depart(struct sandbox *s)
{
	struct namings *all = &s->namings;
	struct naming *waiting = all->first;
	struct buf text;
	int r;

	if (s->shared->drain) { /* the next daemon has read the file: it gives what is new */
		all->first = all->last = NULL;
		all->tries = 0;
		naming_answer_all(waiting, -ESHUTDOWN);
		return;
	}
	r = naming_open(s);
	if (naming_waits(s, r))
		return;
	buf_init(&text, NAMING_BYTES);
	all->more = 0;
	all->dir_next = all->dir >= 0;
	if (r == 0 && all->size == 0) {
		r = synthetic_record_head(&text);
		all->more = 1;
	}
	while (r == 0 && all->first && all->more < NAMING_FLIGHT)
		naming_board(s, &text);
	if (r < 0) { /* what waits cannot be kept either */
		all->flight = TAKE_PTR(all->first);
		all->last = NULL;
	}
	if (all->flight) {
		r = r ? r : naming_write(s, &text);
		if (r < 0)
			naming_fail(s, r);
		else
			naming_sync(s, all->fd);
	} else {
		naming_close(all); /* all had one, or none can have one */
	}
	buf_done(&text);
}

static void naming_ask(struct mail *m)
{
	struct naming *n = container_of(m, struct naming, mail);
	struct namings *all = &n->seat->sandbox->namings;

	n->next = NULL;
	if (all->last)
		all->last->next = n;
	else
		all->first = n;
	all->last = n;
	if (!all->flight && !all->tries)
		naming_depart(n->seat->sandbox);
}

/* ---- in the worker */

int naming_start(struct seat *seat, struct naming *n, const struct host *host,
	void (*done)(struct naming *n))
{
	struct worker *w = seat->worker;

	if (seat->namings >= LIMIT_LOOKUPS_SEAT)
		return -EAGAIN;
	*n = (struct naming){.seat = seat, .host = host, .done = done};
	n->mail.deliver = naming_ask;
	seat->namings++;
	loop_post(w->loop, w->shared->control, &n->mail);
	return 0;
}
