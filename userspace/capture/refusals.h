/* SPDX-License-Identifier: Apache-2.0 */
/* refusals.h – what the kernel refused, as it happens: the ring buffer of bpf/capture.h, read on the control thread. */
#ifndef SALLYPORT_CAPTURE_REFUSALS_H
#define SALLYPORT_CAPTURE_REFUSALS_H

struct capture_unix_refusal;
struct loop;
struct refusals;

/*
 * Maps the ring buffer (the descriptor is taken over, also on failure) and calls `each` for every event; the path is empty unless the reason is
 * CAPTURE_UNIX. 0 or -errno.
 * #syscalls: mmap epoll_create1 epoll_ctl bpf (BPF_OBJ_GET_INFO_BY_FD)
 */
int refusals_new(struct loop *loop, int map,
	void (*each)(void *arg, const struct capture_unix_refusal *r), void *arg,
	struct refusals **ret);
/* Calls `each` for what is there now. NULL is allowed, as below. */
void refusals_drain(struct refusals *r);
/* Ends it. */
void refusals_free(struct refusals *r);

#endif
