/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flows.c – see flows.h.
 *
 * Among the live first: there only the newest user of a 4-tuple is. A client that ended before its connection was accepted
 * left its record among the closed ones; it is taken out, and an old one is nobody's: then the connection waited longer than
 * any accept does, or it is another one, of a socket that the kernel side does not see.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "bpf/capture.h"
#include "capture/flows.h"

enum { FLOWS_CLOSED_SECONDS = 60 };

static int flows_find_closed(
	const struct flows *flows, const struct capture_closed_key *key, struct capture_client *ret)
{
	struct capture_closed found;
	struct timespec now;

	if (bpf_map_lookup_and_delete_elem(flows->closed, key, &found) < 0)
		return -errno;
	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
	if ((uint64_t)now.tv_sec > found.ns / 1000000000 + FLOWS_CLOSED_SECONDS)
		return -ENOENT;
	*ret = found.client;
	return 0;
}

int flows_find(const struct flows *flows, const struct addr *client, const struct addr *asked,
	struct capture_client *ret)
{
	struct capture_closed_key key = {.netns = flows->netns,
		.flow = {.prefixlen = CAPTURE_FLOW_PREFIX,
			.sport = client->port,
			.dport = asked->port}};
	struct capture_client found;

	memcpy(key.flow.src, client->ip, sizeof(key.flow.src));
	memcpy(key.flow.dst, asked->ip, sizeof(key.flow.dst));
	if (bpf_map_lookup_elem(flows->live, &key.flow, &found) == 0) {
		*ret = found;
		return 0;
	}
	return errno == ENOENT ? flows_find_closed(flows, &key, ret) : -errno;
}
