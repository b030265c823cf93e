/* SPDX-License-Identifier: Apache-2.0 */
/* heartbeat.c – see heartbeat.h. #syscalls: mmap munmap close */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/capture.h"
#include "capture/heartbeat.h"

enum { HEARTBEAT_BYTES = CAPTURE_BEATS * sizeof(struct capture_heartbeat) };

int heartbeat_open(struct heartbeat *h, int fd, unsigned slot)
{
	void *at = MAP_FAILED;
	int r = 0;

	if (slot < CAPTURE_BEATS)
		at = mmap(NULL, HEARTBEAT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	else
		errno = EINVAL;
	if (at == MAP_FAILED)
		r = -errno;
	else
		*h = (struct heartbeat){.memory = at, .slot = slot};
	(void)close(fd); /* the mapping holds it */
	return r;
}

void heartbeat_put(struct heartbeat *h, uint64_t ms)
{
	volatile struct capture_heartbeat *beats = h->memory;

	if (beats)
		beats[h->slot].ns = ms * 1000000; /* one aligned store: readers see it whole */
}

void heartbeat_close(struct heartbeat *h)
{
	if (h->memory)
		(void)munmap(h->memory, HEARTBEAT_BYTES); /* it was mapped as that */
	h->memory = NULL;
}
