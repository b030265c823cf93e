/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unix_paths.h – entries of the LPM map `unix_paths`: what a sandbox's unix sockets may connect to. */
#ifndef SALLYPORT_NETNS_HELPER_UNIX_PATHS_H
#define SALLYPORT_NETNS_HELPER_UNIX_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_unix_key;
struct fault;

struct unix_paths {
	struct capture_unix_key *keys; /* owned: those in the map now */
	size_t n;
};

/* Where a program puts sockets that are its own. */
const char *const *unix_paths_default(size_t *ret_n);

/*
 * Whether the text may be listed: absolute, no empty, `.` or `..` part, short enough. "/a/b/" allows
 * everything below, "/a/b" this socket alone.
 */
bool unix_paths_valid(const char *path);

/* Enters n paths for a netns (0: those that are not attached). 0, or -errno with the reason and
 * none entered. */
int unix_paths_open(struct unix_paths *u, int map, uint64_t netns, const char *const *paths,
	size_t n, struct fault *f);
/* Removes them. */
void unix_paths_close(struct unix_paths *u, int map);

#endif
