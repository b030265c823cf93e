/* SPDX-License-Identifier: GPL-2.0-or-later */
/* daemon_tell.h – what is said to a daemon: the words of proto.h, and of those about sandboxes what is due. */
#ifndef SALLYPORT_DAEMON_TELL_H
#define SALLYPORT_DAEMON_TELL_H

#include <stdint.h>

struct daemon_peer;

/* HELLO. All of these: 0, or -errno; of -EAGAIN nothing has been sent, and the peer is noted as blocked. */
int daemon_tell_hello(struct daemon_peer *peer);
/* SERVE or DRAIN. */
int daemon_tell_word(struct daemon_peer *peer, uint32_t op);
/* Offers, withdrawals and notes, as far as they are due. */
int daemon_tell_due(struct daemon_peer *peer);

#endif
