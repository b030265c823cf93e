/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leg.h – one socket with its buffers and, once it speaks TLS, its engine: the same on the sandbox's side and on the
 * upstream's. A leg moves bytes and knows nothing of what they mean.
 *
 * The owner is called by `progress` once for each batch of completions in which something happened (bytes came, bytes
 * went, the end came). It looks at the leg with the functions below, takes and gives bytes, and says leg_flush().
 * After leg_close() the owner has no leg any more; what is still in flight is waited for here.
 */
#ifndef SALLYPORT_PROXY_LEG_H
#define SALLYPORT_PROXY_LEG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "ring/loop.h"

struct seat;
struct tls_engine;
struct worker;

struct leg {
	struct worker *worker;
	struct seat *seat; /* stays until the descriptor is closed */
	void *owner;
	void (*progress)(struct leg *l);
	struct tls_engine *tls; /* NULL on plain text */

	struct buf rx; /* as received, not consumed: ciphertext, or plain text without TLS */
	struct buf plain; /* unsealed, not consumed; TLS only */
	struct buf tx; /* to be sent next */
	struct buf out; /* lent to the send in flight */

	size_t window; /* of rx: what may be received and not be consumed */
	int fd;
	unsigned inflight; /* operations that the kernel holds */
	bool receiving; /* a receive is armed */
	bool sending;
	bool eof; /* the peer's last byte has been received */
	bool ended; /* … and it was a proper end */
	bool broken; /* reset, TLS failure, cut off: nothing more comes, and nothing can be sent */
	bool shut; /* our end has been, or will be, announced */
	bool fin_sent;
	bool closed; /* the owner is gone */
	bool reset; /* close by RST */
	bool dirty; /* on the worker's list */
	struct leg *next_dirty, *next_dying;
	uint64_t bytes_in, bytes_out; /* plain text, as the owner saw it */
};

enum { LEG_OP_RECV = LOOP_OP_USER, LEG_OP_SEND };

/* Takes the descriptor over and starts to receive. NULL when legs are out; the descriptor stays the caller's then. */
struct leg *leg_open(struct seat *seat, int fd, void *owner, void (*progress)(struct leg *l));

/* From here on the leg speaks TLS; the engine was made over l->rx and l->tx and belongs to the leg. */
void leg_secure(struct leg *l, struct tls_engine *tls);
/* 1 done, 0 not yet, -EPROTO failed (an alert may be on its way out: close after leg_drained()). Flushes. */
int leg_handshake(struct leg *l);

/* Plain text that is there; borrowed until leg_consume() or the next completion. */
struct slice leg_readable(struct leg *l);
void leg_consume(struct leg *l, size_t n);
/* Nothing is readable and nothing will come: the end, proper (l->ended) or not. */
bool leg_over(struct leg *l);

/* Plain text bytes that leg_write() takes for certain. */
size_t leg_room(const struct leg *l);
/* All of s, which is at most leg_room(). 0, or -EPIPE when the leg is broken. */
int leg_write(struct leg *l, struct slice s);
/* Sends what is written. To be called once at the end of each step. */
void leg_flush(struct leg *l);
/* No more will be written: close_notify and FIN go out behind the last byte. */
void leg_shut(struct leg *l);
/* All that was written has been given to the kernel. */
bool leg_drained(const struct leg *l);

/*
 * Hands all that `from` has received to `to`, which sends it next, by exchanging buffers: nothing is copied. Both speak
 * plain text. Does nothing while `to` has anything to send. Returns how many bytes went.
 */
size_t leg_forward(struct leg *from, struct leg *to);
/* Receives no more than n bytes that are not consumed, from the next receive on; at most LIMIT_RX, which it begins with. */
void leg_window(struct leg *l, size_t n);

/* Gives idle memory back. */
void leg_relax(struct leg *l);

/* The owner lets go. Unsent bytes are dropped; with reset the peer sees RST. */
void leg_close(struct leg *l, bool reset);

/* ---- for the worker */
void leg_recv_done(void *worker, union ring_ref ref, int res, uint32_t flags);
void leg_send_done(void *worker, union ring_ref ref, int res, uint32_t flags);
/* Calls progress of what is dirty. */
void leg_progress(struct worker *w);
/* Frees what is closed and has nothing in flight. */
void leg_reap(struct worker *w);
/* Calls progress again at the end of this batch. */
void leg_mark(struct leg *l);

#endif
