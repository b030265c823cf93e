/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loop.c – see loop.h. #syscalls: epoll_create1 epoll_ctl epoll_wait */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "netns-helper/loop.h"

int loop_init(struct loop *l)
{
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	return l->epoll < 0 ? -errno : 0;
}

void loop_done(struct loop *l)
{
	(void)close(l->epoll); /* nothing to lose */
	l->epoll = -1;
}

static int loop_control(struct loop *l, struct loop_source *source, int what, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = source};

	return epoll_ctl(l->epoll, what, source->fd, &event) < 0 ? -errno : 0;
}

int loop_watch(struct loop *l, struct loop_source *source, uint32_t events)
{
	return loop_control(l, source, EPOLL_CTL_ADD, events);
}

int loop_change(struct loop *l, struct loop_source *source, uint32_t events)
{
	return loop_control(l, source, EPOLL_CTL_MOD, events);
}

void loop_forget(struct loop *l, struct loop_source *source)
{
	(void)loop_control(l, source, EPOLL_CTL_DEL, 0); /* it may not have been watched */
}

int loop_turn(struct loop *l, int timeout_ms)
{
	struct epoll_event events[LOOP_BATCH];
	int n = epoll_wait(l->epoll, events, LOOP_BATCH, timeout_ms);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	for (int i = 0; i < n; i++) {
		struct loop_source *source = events[i].data.ptr;

		if (source->fd >= 0)
			source->ready(source, events[i].events);
	}
	return 0;
}
