/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret.c – see secret.h. One mapping for each value: the header and the bytes live in the same locked pages, so
 * nothing of it is ever in the heap. #syscalls: mmap mlock madvise munmap
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/secret.h"

struct secret {
	size_t mapped;
	size_t n;
	uint8_t bytes[];
};

int secret_new(struct slice value, struct secret **ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size;
	struct secret *s;

	if (value.n == 0 || value.n > LIMIT_SECRET)
		return -EINVAL;
	size = (sizeof(*s) + value.n + page - 1) / page * page;
	s = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		return -ENOMEM;
	if (mlock(s, size) < 0 || madvise(s, size, MADV_DONTDUMP) < 0 ||
		madvise(s, size, MADV_WIPEONFORK) < 0) {
		(void)munmap(s, size);
		return -ENOMEM;
	}
	s->mapped = size;
	s->n = value.n;
	memcpy(s->bytes, value.p, value.n);
	*ret = s;
	return 0;
}

struct slice secret_slice(const struct secret *s)
{
	return slice_of(s->bytes, s->n);
}

void secret_free(struct secret *s)
{
	if (!s)
		return;
	size_t mapped = s->mapped;

	explicit_bzero(s, mapped);
	(void)munmap(s, mapped);
}
