/* SPDX-License-Identifier: Apache-2.0 */
/* flows.c – see flows.h. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "bpf/capture.h"
#include "capture/flows.h"

int flows_find(
	int map, const struct addr *client, const struct addr *asked, struct capture_client *ret)
{
	struct capture_flow_key key = {.prefixlen = CAPTURE_FLOW_PREFIX,
		.sport = client->port,
		.dport = asked->port};
	struct capture_client found;

	memcpy(key.src, client->ip, sizeof(key.src));
	memcpy(key.dst, asked->ip, sizeof(key.dst));
	if (bpf_map_lookup_elem(map, &key, &found) < 0)
		return -errno;
	*ret = found;
	return 0;
}
