/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keyfile.h – keys of 32 bytes under names, all in one file of mode 0600: where the file system is memory, each
 * file takes five kilobytes. For one process at a time, in one thread. The caller wipes what it got.
 */
#ifndef SALLYPORT_KEYFILE_H
#define SALLYPORT_KEYFILE_H

#include <stdint.h>

enum { KEYFILE_NAME = 64 /* a name and its NUL; not empty */, KEYFILE_KEY = 32 };

/* 0; -ENOENT: no such name, or no such file; another -errno. */
int keyfile_find(const char *path, const char *name, uint8_t ret[KEYFILE_KEY]);

/* Makes the file if need be; a key of that name is replaced. 0, -ENAMETOOLONG, another -errno. */
int keyfile_put(const char *path, const char *name, const uint8_t key[KEYFILE_KEY]);

/* Overwrites the name and its key with zeros, and ends the file behind the last one. 0 (also when there is no such name), -errno. */
int keyfile_drop(const char *path, const char *name);

#endif
