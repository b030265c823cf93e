/* SPDX-License-Identifier: Apache-2.0 */
/* outsider.h – what one asks of the confederate outside, on its socket `descriptors`. */
#ifndef SALLYPORT_OUTSIDER_H
#define SALLYPORT_OUTSIDER_H

#include <netinet/in.h>
#include <stdint.h>

enum outsider_what {
	OUTSIDER_TCP = 1,
	OUTSIDER_UDP,
	OUTSIDER_ESTABLISHED,
	OUTSIDER_CONNECTED,
	OUTSIDER_LISTENER,
	OUTSIDER_NETNS
};

/* For a socket that is connected: where to. */
struct outsider_request {
	char what; /* enum outsider_what */
	struct in_addr ip;
	uint16_t port; /* host order */
};

/* Descriptors that it holds for those who take them by force (process.c). */
enum { OUTSIDER_HELD_UDP = 100 };

#endif
