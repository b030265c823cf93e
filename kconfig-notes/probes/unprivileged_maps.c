/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unprivileged_maps.c – a process without privileges uses maps whose descriptors it was given:
 * looks up a hash map, maps a ring buffer's pages and waits for it (the daemon's side of flows and
 * events).
 */
#include <stdint.h>
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

static int use(int hash, int ring)
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
	return ring_buffer__poll(buffer, 0) < 0 ? 4 : 0;
}

int main(void)
{
	static const char *const failed[] = {
		"", "dropping privileges", "a lookup", "mapping the ring buffer", "waiting for it"};
	uint64_t key = 1, value = 2;
	int hash, ring, status = 0;
	pid_t child;

	probe_begin("unprivileged_maps");
	hash = bpf_map_create(BPF_MAP_TYPE_HASH, "probe", 8, 8, 1, NULL);
	ring = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "probe", 0, 0, 1 << 16, NULL);
	probe_need(
		hash >= 0 && bpf_map_update_elem(hash, &key, &value, BPF_ANY) == 0, "a hash map");
	probe_need(ring >= 0, "a ring buffer");
	child = fork();
	if (child == 0)
		_exit(use(hash, ring));
	probe_need(child > 0 && waitpid(child, &status, 0) == child, "a child");
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 4)
		probe_missing("the unprivileged child died");
	if (WEXITSTATUS(status))
		probe_missing("unprivileged: %s", failed[WEXITSTATUS(status)]);
	probe_ok();
}
