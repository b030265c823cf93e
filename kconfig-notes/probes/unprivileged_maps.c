/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unprivileged_maps.c – a process without privileges uses maps whose descriptors it was given:
 * looks up a hash map, maps a ring buffer's pages and waits for it (the daemon's side of flows and
 * events), stores into the memory of an array (its heartbeat).
 */
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "probe.h"

static int nothing(void *arg, void *data, size_t n)
{
	(void)arg, (void)data, (void)n;
	return 0;
}

static int beat(int array)
{
	volatile uint64_t *at =
		mmap(NULL, sizeof(*at), PROT_READ | PROT_WRITE, MAP_SHARED, array, 0);

	if (at == MAP_FAILED)
		return 5;
	*at = 7;
	return 0;
}

static int use(int hash, int ring, int array)
{
	uint64_t key = 1, value = 0;
	struct ring_buffer *buffer;

	if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0 ||
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 1;
	if (bpf_map_lookup_elem(hash, &key, &value) < 0 || value != 2)
		return 2;
	buffer = ring_buffer__new(ring, nothing, NULL, NULL);
	if (!buffer)
		return 3;
	return ring_buffer__poll(buffer, 0) < 0 ? 4 : beat(array);
}

int main(void)
{
	static const char *const failed[] = {"", "dropping privileges", "a lookup",
		"mapping the ring buffer", "waiting for it", "mapping an array"};
	LIBBPF_OPTS(bpf_map_create_opts, mmapable, .map_flags = BPF_F_MMAPABLE);
	uint64_t key = 1, value = 2;
	int hash, ring, array, status = 0;
	uint32_t first = 0;
	pid_t child;

	probe_begin("unprivileged_maps");
	hash = bpf_map_create(BPF_MAP_TYPE_HASH, "probe", 8, 8, 1, NULL);
	ring = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "probe", 0, 0, 1 << 16, NULL);
	probe_need(
		hash >= 0 && bpf_map_update_elem(hash, &key, &value, BPF_ANY) == 0, "a hash map");
	probe_need(ring >= 0, "a ring buffer");
	array = bpf_map_create(BPF_MAP_TYPE_ARRAY, "probe", 4, 8, 1, &mmapable);
	probe_need(array >= 0, "an array that can be mapped");
	child = fork();
	if (child == 0)
		_exit(use(hash, ring, array));
	probe_need(child > 0 && waitpid(child, &status, 0) == child, "a child");
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 5)
		probe_missing("the unprivileged child died");
	if (WEXITSTATUS(status))
		probe_missing("unprivileged: %s", failed[WEXITSTATUS(status)]);
	probe_need(bpf_map_lookup_elem(array, &first, &value) == 0 && value == 7,
		"what was stored, by a lookup");
	probe_ok();
}
