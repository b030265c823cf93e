/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head.h – a head that owns its bytes: kept from the moment when it is judged and rewritten until it is sent, and may have
 * to be sent once more. May hold a secret: head_done() wipes it.
 */
#ifndef SALLYPORT_PROXY_HEAD_H
#define SALLYPORT_PROXY_HEAD_H

#include "base/buf.h"
#include "model/msg.h"

struct head {
	struct buf bytes;
	struct msg msg; /* its slices point into bytes */
};

void head_init(struct head *h);
/* Copies m with all that its slices point to. 0, -ENOBUFS for more than two heads' worth of bytes, -ENOMEM. */
int head_keep(struct head *h, const struct msg *m);
void head_done(struct head *h);

#endif
