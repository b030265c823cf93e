/* SPDX-License-Identifier: Apache-2.0 */
/* file.h – whole small files: read with a bound, replaced atomically. Not for secrets' sources (cred/source.h judges these). */
#ifndef SALLYPORT_FILE_H
#define SALLYPORT_FILE_H

#include <sys/types.h>

#include "base/buf.h"

/* Appends the file's bytes. 0, -ENOENT, -EFBIG when they do not fit the buffer's room, another -errno. */
int file_read(const char *path, struct buf *ret);

/* Writes PATH.new with that mode, fsyncs, renames over PATH, fsyncs the directory (rename(2), fsync(2)). 0 or -errno. */
int file_replace(const char *path, mode_t mode, struct slice bytes);

/* Makes the directory unless it is there. 0, -ENOTDIR when something else has its name, another -errno. */
int file_mkdir(const char *path, mode_t mode);

#endif
