/* SPDX-License-Identifier: Apache-2.0 */
/*
 * families.c – socket families beside IP: each is asked for, and whoever gets one has a way that no
 * IP rule confines ("exposed"). Nothing is sent: with a vsock that would leave the machine.
 * SMC and RxRPC go by sockets of IP that the kernel makes for them: these two are put to the canary.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <liburing.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/battery/attempt.h"

#define FAMILY(family, type, protocol) ((long)(family) << 24 | (long)(type) << 16 | (protocol))

static void families_ask(const struct arena *a)
{
	int family = (int)(a->arg >> 24), type = (int)(a->arg >> 16 & 255),
	    protocol = (int)(a->arg & 0xffff);

	(void)needs(socket(family, type, protocol), "socket");
	report(SAID_EXPOSED, 0, "socket");
}

/* A port of the machine's own; it is not spoken to. */
static void families_vsock_bound(const struct arena *a)
{
	struct sockaddr_vm here = {
		.svm_family = AF_VSOCK, .svm_port = VMADDR_PORT_ANY, .svm_cid = VMADDR_CID_ANY};
	int sock = needs(socket(AF_VSOCK, SOCK_STREAM, 0), "socket");

	(void)a;
	(void)needs(bind(sock, (struct sockaddr *)&here, sizeof(here)), "bind");
	report(SAID_EXPOSED, 0, "bind");
}

/* By io_uring: a filter on socket(2) does not see it. */
static void families_vsock_ring(const struct arena *a)
{
	struct io_uring ring;
	struct io_uring_cqe *cqe;

	(void)a;
	needs_code(-io_uring_queue_init(2, &ring, 0), "io_uring_setup");
	io_uring_prep_socket(io_uring_get_sqe(&ring), AF_VSOCK, SOCK_STREAM, 0, 0);
	needs_code(io_uring_submit(&ring) < 0 ? EIO : 0, "io_uring_enter");
	needs_code(-io_uring_wait_cqe(&ring, &cqe), "io_uring_enter");
	needs_code(cqe->res < 0 ? -cqe->res : 0, "socket");
	report(SAID_EXPOSED, 0, "socket");
}

enum { FAMILIES_SMC = 43, FAMILIES_MCTP = 45, FAMILIES_QRTR = 42, FAMILIES_KCM = 41 };

/* To a peer that knows nothing of SMC it is plain TCP. arg: the family of the address */
static void families_smc(const struct arena *a)
{
	struct address to = a->arg == AF_INET ? here4(a) : here6(a);

	dial(needs(socket(FAMILIES_SMC, SOCK_STREAM, a->arg == AF_INET6), "socket"), &to, a);
}

/* <linux/rxrpc.h> does not go with <netinet/in.h> */
enum { FAMILIES_SOL_RXRPC = 272, FAMILIES_CALL_ID = 1 };
struct families_rxrpc_address {
	uint16_t family, service, transport_type, transport_len;
	union {
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	};
};

/* A call's first packet, by UDP. arg: the family of the address */
static void families_rxrpc(const struct arena *a)
{
	struct address here = a->arg == AF_INET ? here4(a) : here6(a);
	struct families_rxrpc_address to = {.family = AF_RXRPC,
		.service = 1,
		.transport_type = SOCK_DGRAM,
		.transport_len = (uint16_t)here.n};
	int sock = needs(socket(AF_RXRPC, SOCK_DGRAM, (int)a->arg), "socket");
	union {
		char room[CMSG_SPACE(sizeof(unsigned long))];
		struct cmsghdr head;
	} control = {.head = {.cmsg_level = FAMILIES_SOL_RXRPC,
			     .cmsg_type = FAMILIES_CALL_ID,
			     .cmsg_len = CMSG_LEN(sizeof(unsigned long))}};
	struct iovec part = {(char *)a->token, strlen(a->token)};
	struct msghdr message = {.msg_name = &to,
		.msg_namelen = sizeof(to),
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.room)};
	struct pollfd answer = {sock, POLLIN, 0};

	memcpy(&to.v6, &here.v6, here.n);
	memcpy(CMSG_DATA(&control.head), &(unsigned long){1}, sizeof(unsigned long));
	(void)tries(sendmsg(sock, &message, 0), "sendmsg");
	(void)poll(&answer, 1, a->scene->patience * 300); /* a thread of the kernel sends */
	sent();
}

static const struct attempt families_rows[] = {
	{"vsock-stream", "family", families_ask, FAMILY(AF_VSOCK, SOCK_STREAM, 0)},
	{"vsock-dgram", "family", families_ask, FAMILY(AF_VSOCK, SOCK_DGRAM, 0)},
	{"vsock-seqpacket", "family", families_ask, FAMILY(AF_VSOCK, SOCK_SEQPACKET, 0)},
	{"vsock-bound", "family", families_vsock_bound},
	{"vsock-uring", "family", families_vsock_ring},
	{"key", "family", families_ask, FAMILY(AF_KEY, SOCK_RAW, 2)},
	{"llc", "family", families_ask, FAMILY(AF_LLC, SOCK_DGRAM, 0)},
	{"tipc", "family", families_ask, FAMILY(AF_TIPC, SOCK_RDM, 0)},
	{"rds", "family", families_ask, FAMILY(AF_RDS, SOCK_SEQPACKET, 0)},
	{"can", "family", families_ask, FAMILY(AF_CAN, SOCK_RAW, 1)},
	{"smc", "family", families_ask, FAMILY(FAMILIES_SMC, SOCK_STREAM, 0)},
	{"smc6", "family", families_ask, FAMILY(FAMILIES_SMC, SOCK_STREAM, 1)},
	{"smc-connect", "family", families_smc, AF_INET},
	{"smc-connect6", "family", families_smc, AF_INET6},
	{"qrtr", "family", families_ask, FAMILY(FAMILIES_QRTR, SOCK_DGRAM, 0)},
	{"kcm", "family", families_ask, FAMILY(FAMILIES_KCM, SOCK_DGRAM, 0)},
	{"mctp", "family", families_ask, FAMILY(FAMILIES_MCTP, SOCK_DGRAM, 0)},
	{"phonet", "family", families_ask, FAMILY(AF_PHONET, SOCK_DGRAM, 0)},
	{"ieee802154", "family", families_ask, FAMILY(AF_IEEE802154, SOCK_DGRAM, 0)},
	{"bluetooth", "family", families_ask, FAMILY(AF_BLUETOOTH, SOCK_RAW, 1)},
	{"nfc", "family", families_ask, FAMILY(AF_NFC, SOCK_SEQPACKET, 1)},
	{"caif", "family", families_ask, FAMILY(AF_CAIF, SOCK_SEQPACKET, 0)},
	{"rxrpc", "family", families_ask, FAMILY(AF_RXRPC, SOCK_DGRAM, AF_INET)},
	{"rxrpc-call", "family", families_rxrpc, AF_INET},
	{"rxrpc-call6", "family", families_rxrpc, AF_INET6},
	{"pppox", "family", families_ask, FAMILY(AF_PPPOX, SOCK_STREAM, 0)},
	{"ax25", "family", families_ask, FAMILY(AF_AX25, SOCK_DGRAM, 0)},
	{"x25", "family", families_ask, FAMILY(AF_X25, SOCK_SEQPACKET, 0)},
	{"ipx", "family", families_ask, FAMILY(AF_IPX, SOCK_DGRAM, 0)},
	{"appletalk", "family", families_ask, FAMILY(AF_APPLETALK, SOCK_DGRAM, 0)},
	{"atm", "family", families_ask, FAMILY(AF_ATMPVC, SOCK_DGRAM, 0)},
	{"isdn", "family", families_ask, FAMILY(AF_ISDN, SOCK_RAW, 0)},
	{"infiniband", "family", families_ask, FAMILY(AF_IB, SOCK_SEQPACKET, 0)},
};

const struct attempt_list families_list = ATTEMPTS(families_rows);
