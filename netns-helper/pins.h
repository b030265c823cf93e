/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pins.h – what holds maps and links without a descriptor: files of a bpffs.
 *
 *   NAME            a map of all sandboxes, under its own name
 *   flows/ID        a sandbox's flow map
 *   links/ID        sk_lookup's attachment to a sandbox's netns; it lasts until it is dropped here
 *   links/ID/HOOK   likewise, where there are several (dialler.c)
 *
 * bpffs keeps names with dots for itself: a dot in ID is written as a colon, which no id has.
 */
#ifndef SALLYPORT_NETNS_HELPER_PINS_H
#define SALLYPORT_NETNS_HELPER_PINS_H

struct fault;

struct pins {
	int dir; /* owned; -1 = not opened */
};

/*
 * Opens an existing directory on a bpffs that is this instance's alone, and clears it: links that a
 * dead helper left, and its programs on cgroups, are detached, all pins removed. 0, or -errno with the reason.
 */
int pins_open(const char *path, struct fault *f, struct pins *ret);
/* Only the clearing, of a directory that a dead helper left on a bpffs. */
void pins_clear_at(const char *path);
/* Clears it in the same way. What was not opened may be closed. */
void pins_close(struct pins *p);

/* Each pins fd, which stays the caller's. 0 or -errno, -EEXIST if the name is taken. hook, here and below: NULL when
 * the id has one link alone. */
int pins_put_map(const struct pins *p, const char *name, int fd);
int pins_put_flows(const struct pins *p, const char *id, int fd);
int pins_put_link(const struct pins *p, const char *id, const char *hook, int fd);

/* A new descriptor of a sandbox's flow map, the caller's to close, or -errno. */
int pins_open_flows(const struct pins *p, const char *id);

/* Likewise of a link. */
int pins_open_link(const struct pins *p, const char *id, const char *hook);

/* What was not put may be dropped. A link is detached when this returns, whoever else holds it. */
void pins_drop_flows(const struct pins *p, const char *id);
void pins_drop_link(const struct pins *p, const char *id, const char *hook);

#endif
