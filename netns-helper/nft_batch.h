/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nft_batch.h – one nf_tables transaction: messages are gathered, sent at once, and every one of
 * them is acknowledged or none has taken effect. Life: new → add… → commit → free.
 */
#ifndef SALLYPORT_NFT_BATCH_H
#define SALLYPORT_NFT_BATCH_H

#include <stdint.h>

struct nft_batch;
struct nlmsghdr;

/* NULL when memory is out. */
struct nft_batch *nft_batch_new(void);
void nft_batch_free(struct nft_batch *b);

/*
 * Begins a message of that type (NFT_MSG_…) and netlink flags besides REQUEST and ACK. The caller
 * puts its attributes in with the nftnl_…_nlmsg_build_payload() of the object, then calls
 * nft_batch_end().
 */
struct nlmsghdr *nft_batch_begin(
	struct nft_batch *b, uint16_t type, uint16_t family, uint16_t flags);
void nft_batch_end(struct nft_batch *b);

/* From here on messages need that option of the kernel, a literal; NULL = none in particular. */
void nft_batch_needs(struct nft_batch *b, const char *option);

/* Remembers a failure (-errno) of building: the commit will return it. */
void nft_batch_fail(struct nft_batch *b, int r);

/* Sends, in the calling thread's network namespace, and reads every acknowledgement. 0 or -errno.
 */
int nft_batch_commit(struct nft_batch *b);

/*
 * After a commit that failed because the kernel does not know something: the option that it lacks.
 * NULL when that is not why.
 */
const char *nft_batch_missing(const struct nft_batch *b);

#endif
