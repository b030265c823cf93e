/* SPDX-License-Identifier: GPL-2.0-or-later */
/* document.h – a text that travels between processes: a sealed copy in memory that nobody can
 * change any more. */
#ifndef SALLYPORT_DOCUMENT_H
#define SALLYPORT_DOCUMENT_H

#include <stddef.h>

/* A sealed memfd with these bytes, positioned at its beginning. A descriptor, or -errno. */
int document_new(const char *name, const void *bytes, size_t n);

/*
 * What a regular file says from its first byte on, at most LIMIT_DOCUMENT bytes; *ret is the caller's
 * to free. 0, -EINVAL for anything that is no regular file (it could block), -EMSGSIZE when too long,
 * -errno.
 */
int document_text(int fd, char **ret, size_t *ret_n);

/* A sealed memfd of whatever the path leads to, read to its end, so that a pipe may be named. May
 * block. */
int document_read(const char *name, const char *path);

#endif
