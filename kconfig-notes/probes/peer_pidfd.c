/* SPDX-License-Identifier: Apache-2.0 */
/* peer_pidfd.c – SO_PEERPIDFD names a unix peer for good; without it SO_PEERCRED's pid must do. */
#include <sys/socket.h>

#include "probe.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int main(void)
{
	int pair[2], fd = -1;
	socklen_t n = sizeof(fd);

	probe_begin("peer_pidfd");
	probe_need(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
	if (getsockopt(pair[0], SOL_SOCKET, SO_PEERPIDFD, &fd, &n) < 0)
		probe_skipped("%s", strerror(errno));
	probe_need(fd >= 0, "a pidfd");
	probe_ok();
}
