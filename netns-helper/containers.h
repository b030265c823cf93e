/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * containers.h – sandboxes that a container's runtime had attached (scripts/hooks). Nobody holds a connection for
 * them, and a runtime that is killed calls no poststop hook: they end with the last process in their cgroup.
 */
#ifndef SALLYPORT_CONTAINERS_H
#define SALLYPORT_CONTAINERS_H

#include <stdint.h>

struct sandbox;
struct sandboxes;

/* The container's sandbox, unless it is gone or leaving with somebody waiting; NULL = none. owner 0 is nobody's. */
struct sandbox *containers_find(const struct sandboxes *s, uint64_t owner);

/* Ends those whose cgroup is empty or removed; the milliseconds until it wants to be called again, -1 = there is none. */
int containers_tick(struct sandboxes *s, uint64_t now);

#endif
