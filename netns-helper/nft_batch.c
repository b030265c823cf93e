/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nft_batch.c – see nft_batch.h. A ruleset of which one message failed loads nothing at all and a
 * program that does not look would run on without it: hence each message asks for its
 * acknowledgement, and their number is checked. #syscalls: socket setsockopt bind sendto recvmsg
 * close
 */
#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include <libmnl/libmnl.h>
#include <libnftnl/common.h>

#include "netns-helper/nft_batch.h"

enum {
	NFT_BATCH_BYTES = 131072,
	NFT_BATCH_MESSAGE = 16384, /* no message of ours is longer */
	NFT_BATCH_ANSWER = 8192,
	NFT_BATCH_RCVBUF = 1 << 20, /* room for every acknowledgement */
	NFT_BATCH_SECONDS = 5,
	NFT_BATCH_NEEDS = 16,
};

/* What messages from a number on need. */
struct nft_batch_need {
	uint32_t seq;
	const char *option;
};

struct nft_batch {
	struct mnl_nlmsg_batch *batch;
	uint32_t seq; /* of the next message; the first one is 1 */
	uint32_t wanted; /* messages that ask for an acknowledgement */
	int failed;
	struct nft_batch_need needs[NFT_BATCH_NEEDS];
	size_t nneeds;
	const char *missing;
	char bytes[NFT_BATCH_BYTES + NFT_BATCH_MESSAGE];
};

struct nft_batch *nft_batch_new(void)
{
	struct nft_batch *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->batch = mnl_nlmsg_batch_start(b->bytes, NFT_BATCH_BYTES);
	if (!b->batch) {
		free(b);
		return NULL;
	}
	b->seq = 1;
	(void)nftnl_batch_begin(mnl_nlmsg_batch_current(b->batch), b->seq++); /* is always built */
	(void)mnl_nlmsg_batch_next(b->batch); /* the first fits */
	return b;
}

void nft_batch_free(struct nft_batch *b)
{
	if (!b)
		return;
	mnl_nlmsg_batch_stop(b->batch);
	free(b);
}

struct nlmsghdr *nft_batch_begin(
	struct nft_batch *b, uint16_t type, uint16_t family, uint16_t flags)
{
	b->wanted++;
	return nftnl_nlmsg_build_hdr(
		mnl_nlmsg_batch_current(b->batch), type, family, flags | NLM_F_ACK, b->seq++);
}

void nft_batch_end(struct nft_batch *b)
{
	if (!mnl_nlmsg_batch_next(b->batch))
		nft_batch_fail(b, -ENOBUFS);
}

void nft_batch_needs(struct nft_batch *b, const char *option)
{
	if (b->nneeds == NFT_BATCH_NEEDS) {
		nft_batch_fail(b, -ENOBUFS);
		return;
	}
	b->needs[b->nneeds++] = (struct nft_batch_need){b->seq, option};
}

static bool nft_batch_means_unknown(int r)
{
	return r == -ENOENT || r == -EOPNOTSUPP || r == -EAFNOSUPPORT || r == -EPROTONOSUPPORT;
}

const char *nft_batch_missing(const struct nft_batch *b)
{
	return b->missing;
}

/* The message of that number was answered with an error. */
static int nft_batch_refused(struct nft_batch *b, uint32_t seq, int error)
{
	for (size_t i = 0; i < b->nneeds && b->needs[i].seq <= seq; i++)
		b->missing = nft_batch_means_unknown(error) ? b->needs[i].option : NULL;
	return error;
}

void nft_batch_fail(struct nft_batch *b, int r)
{
	if (b->failed == 0)
		b->failed = r;
}

static int nft_batch_open(struct mnl_socket **ret)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
	const struct timeval limit = {.tv_sec = NFT_BATCH_SECONDS};
	const int on = 1, room = NFT_BATCH_RCVBUF;
	int r;

	if (!nl)
		return -errno;
	/* without these a burst of acknowledgements is cut off, which is an error below and not a
	 * silent loss */
	(void)setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	(void)mnl_socket_setsockopt(nl, NETLINK_CAP_ACK, (void *)&on, sizeof(on));
	if (setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
		mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0) {
		r = -errno;
		(void)mnl_socket_close(nl); /* nothing was sent */
		return r;
	}
	*ret = nl;
	return 0;
}

/* Counts acknowledgements in one datagram. Their number, or the first error. */
static int nft_batch_count(struct nft_batch *b, const char *bytes, size_t n)
{
	const struct nlmsghdr *message = (const struct nlmsghdr *)bytes;
	int left = (int)n, count = 0;

	for (; mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left)) {
		const struct nlmsgerr *answer = mnl_nlmsg_get_payload(message);

		if (message->nlmsg_type != NLMSG_ERROR)
			continue;
		if (mnl_nlmsg_get_payload_len(message) < sizeof(*answer))
			return -EBADMSG;
		if (answer->error)
			return nft_batch_refused(b, message->nlmsg_seq, answer->error);
		count++;
	}
	return count;
}

int nft_batch_commit(struct nft_batch *b)
{
	char answer[NFT_BATCH_ANSWER];
	struct mnl_socket *nl = NULL;
	uint32_t got = 0;
	int r;

	if (b->failed)
		return b->failed;
	(void)nftnl_batch_end(mnl_nlmsg_batch_current(b->batch), b->seq++); /* is always built */
	if (!mnl_nlmsg_batch_next(b->batch))
		return -ENOBUFS;
	r = nft_batch_open(&nl);
	if (r < 0)
		return r;
	if (mnl_socket_sendto(nl, mnl_nlmsg_batch_head(b->batch), mnl_nlmsg_batch_size(b->batch)) <
		0)
		r = -errno;
	while (r >= 0 && got < b->wanted) {
		ssize_t n = mnl_socket_recvfrom(nl, answer, sizeof(answer));

		if (n < 0)
			r = errno == EAGAIN ? -ETIMEDOUT : -errno;
		else
			r = nft_batch_count(b, answer, (size_t)n);
		if (r > 0)
			got += (uint32_t)r;
	}
	(void)mnl_socket_close(nl); /* every answer that matters has been read */
	return r < 0 ? r : 0;
}
