/* SPDX-License-Identifier: Apache-2.0 */
/* cleanup.h – scope-bound release: _cleanup_close_, _cleanup_free_, TAKE_FD, TAKE_PTR. */
#ifndef SALLYPORT_CLEANUP_H
#define SALLYPORT_CLEANUP_H

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd); /* nothing can be done about a failed close */
}

static inline void cleanup_free(void *pp)
{
	free(*(void **)pp);
}

#define _cleanup_close_ __attribute__((cleanup(cleanup_close)))
#define _cleanup_free_  __attribute__((cleanup(cleanup_free)))

/* Hands the value over and leaves "nothing" behind. */
#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int _t = (fd);                                                                     \
		(fd) = -1;                                                                         \
		_t;                                                                                \
	})
#define TAKE_PTR(p)                                                                                \
	({                                                                                         \
		__typeof__(p) _t = (p);                                                            \
		(p) = NULL;                                                                        \
		_t;                                                                                \
	})

#define ARRAY_SIZE(a)                   (sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#endif
