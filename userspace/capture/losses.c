/* SPDX-License-Identifier: Apache-2.0 */
/* losses.c – see losses.h. */
#include <bpf/bpf.h>
#include <errno.h>

#include "bpf/capture.h"
#include "capture/losses.h"

int losses_read(int map, uint64_t netns, struct losses *ret)
{
	struct capture_verdicts v;

	if (bpf_map_lookup_elem(map, &netns, &v) < 0)
		return -errno;
	*ret = (struct losses){.suppressed = v.suppressed, .lost = v.lost};
	return 0;
}
