/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.c – see link.h.
 *
 * States: connecting (a timer tries) ⇄ connected (a watch reads). Messages have exact sizes and descriptor counts; what
 * deviates ends the connection, for the helper is the only peer there is and a deviation means that the versions differ.
 *
 * #syscalls: socket connect recvmsg sendmsg close
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/log.h"
#include "bpf/capture.h"
#include "control/link.h"
#include "ring/loop.h"

struct link {
	struct loop *loop;
	const char *path;
	const struct link_events *events;
	void *arg;
	int fd; /* -1 while connecting */
	struct watch watch;
	struct timer retry;
	bool greeted;
};

union link_message {
	struct proto_head head;
	struct proto_hello hello;
	struct proto_offer offer;
	struct proto_name name;
	struct proto_note note;
	struct proto_word word;
};

static void link_lost(struct link *l)
{
	watch_stop(l->loop, &l->watch);
	(void)close(TAKE_FD(l->fd));
	l->greeted = false;
	timer_start(l->loop, &l->retry, LINK_RETRY);
	l->events->lost(l->arg);
}

static size_t link_offer_fds(const struct proto_offer *o)
{
	return 1 + (o->lane == PROTO_LANE_BPF) + proto_families(o) * (1 + o->nslots);
}

static bool link_text(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static bool link_offer_valid(const struct proto_offer *o, size_t nfds)
{
	if (!link_text(o->id, sizeof(o->id)) || !o->id[0] || o->nslots < 1 ||
		o->nslots > PROTO_SLOTS || nfds != link_offer_fds(o) ||
		(o->lane != PROTO_LANE_BPF && o->lane != PROTO_LANE_NFT) ||
		(o->mode != PROTO_SEALED && o->mode != PROTO_UPLINK))
		return false;
	for (unsigned i = 0; i < PROTO_SEARCH; i++)
		if (!link_text(o->search[i], sizeof(o->search[i])))
			return false;
	return true;
}

static bool link_note_valid(const struct proto_note *n)
{
	return link_text(n->id, sizeof(n->id)) && link_text(n->feature, sizeof(n->feature)) &&
	       n->feature[0] && link_text(n->reason, sizeof(n->reason)) &&
	       link_text(n->remedy, sizeof(n->remedy));
}

/* True when the message was right; the descriptors have found an owner then. */
static bool link_take(
	struct link *l, const union link_message *m, size_t n, const int *fds, size_t nfds)
{
	if (n < sizeof(m->head) || m->head.version != PROTO_VERSION)
		return false;
	if (m->head.op == PROTO_HELLO && n == sizeof(m->hello) && !l->greeted &&
		m->hello.abi == CAPTURE_ABI && m->hello.slot < PROTO_DAEMONS &&
		nfds == (m->hello.bpf ? LINK_HELLO_FDS : 1)) {
		l->greeted = true;
		l->events->hello(l->arg, &m->hello, fds[0], m->hello.bpf ? fds + 1 : NULL);
		return true;
	}
	if (m->head.op == PROTO_OFFER && n == sizeof(m->offer) && l->greeted &&
		link_offer_valid(&m->offer, nfds)) {
		l->events->offer(l->arg, &m->offer, fds, nfds);
		return true;
	}
	if (m->head.op == PROTO_WITHDRAW && n == sizeof(m->name) && nfds == 0 && l->greeted &&
		link_text(m->name.id, sizeof(m->name.id))) {
		l->events->withdraw(l->arg, m->name.id);
		return true;
	}
	if (m->head.op == PROTO_NOTE && n == sizeof(m->note) && nfds == 0 && l->greeted &&
		link_note_valid(&m->note)) {
		l->events->note(l->arg, &m->note);
		return true;
	}
	if (n == sizeof(m->word) && nfds == 0 && l->greeted &&
		(m->head.op == PROTO_SERVE || m->head.op == PROTO_DRAIN)) {
		(m->head.op == PROTO_SERVE ? l->events->serve : l->events->drain)(l->arg);
		return true;
	}
	return false;
}

static void link_ready(struct watch *w, uint32_t revents)
{
	struct link *l = w->arg;
	union link_message m;
	int fds[FDPASS_MAX];
	size_t nfds = FDPASS_MAX;
	long n = fdpass_recv(l->fd, &m, sizeof(m), fds, &nfds);

	(void)revents;
	if (n == -EAGAIN)
		return;
	if (n > 0 && link_take(l, &m, (size_t)n, fds, nfds))
		return;
	if (n > 0)
		log_error("the helper sent a message of another kind or version; is it of another "
			  "release?");
	while (nfds)
		(void)close(fds[--nfds]);
	link_lost(l);
}

static int link_connect(struct link *l)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (strlen(l->path) >= sizeof(un.sun_path))
		return -ENAMETOOLONG;
	strcpy(un.sun_path, l->path);
	if (connect(fd, (struct sockaddr *)&un, sizeof(un)) < 0)
		return -errno;
	l->fd = TAKE_FD(fd);
	return watch_start(l->loop, &l->watch, l->fd, POLLIN);
}

static void link_retry(struct timer *t)
{
	struct link *l = container_of(t, struct link, retry);

	if (link_connect(l) < 0)
		timer_start(l->loop, t, LINK_RETRY);
}

int link_new(struct loop *loop, const char *path, const struct link_events *events, void *arg,
	struct link **ret)
{
	struct link *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	*l = (struct link){.loop = loop, .path = path, .events = events, .arg = arg, .fd = -1};
	l->watch.ready = link_ready;
	l->watch.arg = l;
	l->retry.fire = link_retry;
	timer_start(loop, &l->retry, 0);
	*ret = l;
	return 0;
}

void link_close(struct link *l)
{
	if (!l)
		return;
	watch_stop(l->loop, &l->watch);
	timer_stop(l->loop, &l->retry);
	if (l->fd >= 0)
		(void)close(TAKE_FD(l->fd));
}

void link_free(struct link *l)
{
	link_close(l);
	free(l);
}

static void link_send(struct link *l, const void *bytes, size_t n)
{
	int r = l->fd < 0 ? -ENOTCONN : fdpass_send(l->fd, bytes, n, NULL, 0);

	if (r < 0)
		(void)log_errno(r, "cannot answer the helper");
}

void link_dialler(struct link *l, const struct proto_dialler *dialler)
{
	link_send(l, dialler, sizeof(*dialler));
}

void link_active(struct link *l, const struct proto_active *active)
{
	link_send(l, active, sizeof(*active));
}

void link_gone(struct link *l, const char *id)
{
	struct proto_name m = {.head = {.op = PROTO_GONE, .version = PROTO_VERSION}};

	(void)snprintf(m.id, sizeof(m.id), "%s", id);
	link_send(l, &m, sizeof(m));
}

void link_draining(struct link *l, uint32_t seconds)
{
	const struct proto_draining m = {
		.head = {.op = PROTO_DRAINING, .version = PROTO_VERSION},
		.seconds = seconds,
	};

	link_send(l, &m, sizeof(m));
}
