/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet.c – below IP: packet sockets in every form, AF_XDP, a device of its own. On `lo` they can
 * only talk to the sandbox itself; what they can do there is forge (inbound.c).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/battery/attempt.h"
#include "tests/battery/packets.h"

#ifndef AF_XDP
#define AF_XDP 44
#endif

static struct sockaddr_ll packet_to(const struct arena *a, int index)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
		.sll_ifindex = index,
		.sll_protocol = htons(ETH_P_IP),
		.sll_halen = 6};

	memcpy(to.sll_addr, a->scene->peer_mac, 6);
	return to;
}

/* arg: SOCK_RAW or SOCK_DGRAM, + 256 for PACKET_QDISC_BYPASS */
static void packet_send(const struct arena *a)
{
	int index = device_index(a), type = (int)(a->arg & 255);
	struct sockaddr_ll to = packet_to(a, index);
	int sock = needs(socket(AF_PACKET, type, 0), "socket");
	uint8_t out[256];
	size_t n = type == SOCK_RAW ? packet_frame(out, a)
				    : packet_ipv4(out, IPPROTO_UDP, a->scene->own4, a->v4, a);

	if (a->arg & 256)
		option_int(sock, SOL_PACKET, PACKET_QDISC_BYPASS, 1, "PACKET_QDISC_BYPASS");
	(void)tries(sendto(sock, out, n, 0, (struct sockaddr *)&to, sizeof(to)), "sendto");
	sent();
}

/* To the canary over lo, where there is no other link. */
static void packet_on_lo(const struct arena *a)
{
	struct sockaddr_ll to = packet_to(a, (int)if_nametoindex("lo"));
	int sock = needs(socket(AF_PACKET, SOCK_DGRAM, 0), "socket");
	uint8_t out[256];
	size_t n = packet_ipv4(out, (uint8_t)a->arg, a->scene->own4, a->v4, a);

	memset(to.sll_addr, 0, 6);
	(void)tries(sendto(sock, out, n, 0, (struct sockaddr *)&to, sizeof(to)), "sendto");
	sent();
}

static void packet_ring(const struct arena *a)
{
	struct sockaddr_ll to = packet_to(a, device_index(a));
	int sock = needs(socket(AF_PACKET, SOCK_RAW, 0), "socket");
	struct tpacket_req request = {
		.tp_block_size = 4096, .tp_block_nr = 1, .tp_frame_size = 2048, .tp_frame_nr = 2};
	struct tpacket2_hdr *frame;
	void *ring;

	option_int(sock, SOL_PACKET, PACKET_VERSION, TPACKET_V2, "PACKET_VERSION");
	option(sock, SOL_PACKET, PACKET_TX_RING, &request, sizeof(request), "PACKET_TX_RING");
	ring = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, sock, 0);
	(void)needs(ring == MAP_FAILED ? -1 : 0, "mmap");
	(void)needs(bind(sock, (struct sockaddr *)&to, sizeof(to)), "bind");
	frame = ring;
	frame->tp_len = (uint32_t)packet_frame((uint8_t *)ring + TPACKET2_HDRLEN - sizeof(to), a);
	frame->tp_status = TP_STATUS_SEND_REQUEST;
	(void)tries(send(sock, NULL, 0, 0), "send");
	sent();
}

/* Fanout and a virtio header: the other way into the same transmit function. */
static void packet_vnet(const struct arena *a)
{
	struct sockaddr_ll to = packet_to(a, device_index(a));
	int sock = needs(socket(AF_PACKET, SOCK_RAW, 0), "socket");
	uint8_t out[256] = {0};

	option_int(sock, SOL_PACKET, PACKET_VNET_HDR, 1, "PACKET_VNET_HDR");
	(void)tries(sendto(sock, out, 10 + packet_frame(out + 10, a), 0, (struct sockaddr *)&to,
			    sizeof(to)),
		"sendto");
	sent();
}

static void packet_old_kind(const struct arena *a)
{
	struct sockaddr_pkt {
		unsigned short family;
		char device[14];
		uint16_t protocol;
	} to = {.family = AF_PACKET, .protocol = htons(ETH_P_IP)};
	int sock = needs(socket(AF_PACKET, SOCK_PACKET, htons(ETH_P_IP)), "socket");
	uint8_t out[256];

	(void)device_index(a);
	(void)strncpy(to.device, a->scene->device, sizeof(to.device) - 1);
	(void)tries(sendto(sock, out, packet_frame(out, a), 0, (struct sockaddr *)(void *)&to,
			    sizeof(to)),
		"sendto");
	sent();
}

/* A socket of AF_XDP is bound to a queue and fed by rings; no program is needed to send. */
static void packet_xdp(const struct arena *a)
{
	enum { FRAMES = 4, FRAME = 2048 };
	int index = device_index(a), sock = needs(socket(AF_XDP, SOCK_RAW, 0), "socket");
	void *area = mmap(
		NULL, FRAMES * FRAME, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct xdp_umem_reg reg = {
		.addr = (uint64_t)(uintptr_t)area, .len = FRAMES * FRAME, .chunk_size = FRAME};
	struct sockaddr_xdp to = {
		.sxdp_family = AF_XDP, .sxdp_ifindex = (uint32_t)index, .sxdp_flags = XDP_COPY};
	struct xdp_mmap_offsets offsets;
	socklen_t n = sizeof(offsets);
	uint8_t *ring;

	(void)needs(area == MAP_FAILED ? -1 : 0, "mmap");
	option(sock, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg), "XDP_UMEM_REG");
	option_int(sock, SOL_XDP, XDP_UMEM_FILL_RING, FRAMES, "XDP_UMEM_FILL_RING");
	option_int(sock, SOL_XDP, XDP_UMEM_COMPLETION_RING, FRAMES, "XDP_UMEM_COMPLETION_RING");
	option_int(sock, SOL_XDP, XDP_TX_RING, FRAMES, "XDP_TX_RING");
	(void)needs(getsockopt(sock, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &n), "XDP_MMAP_OFFSETS");
	ring = mmap(NULL, offsets.tx.desc + FRAMES * sizeof(struct xdp_desc),
		PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, sock, XDP_PGOFF_TX_RING);
	(void)needs(ring == MAP_FAILED ? -1 : 0, "mmap of the ring");
	(void)needs(bind(sock, (struct sockaddr *)&to, sizeof(to)), "bind");
	*(struct xdp_desc *)(void *)(ring + offsets.tx.desc) =
		(struct xdp_desc){.addr = 0, .len = (uint32_t)packet_frame(area, a)};
	__atomic_store_n((uint32_t *)(void *)(ring + offsets.tx.producer), 1, __ATOMIC_RELEASE);
	(void)tries(sendto(sock, NULL, 0, MSG_DONTWAIT, NULL, 0), "sendto");
	sent();
}

/* A tun device of its own: the packet goes in as if it came from a wire, for the kernel to forward. */
static void packet_tun(const struct arena *a)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	int fd = needs(open("/dev/net/tun", O_RDWR), "/dev/net/tun"), control = udp(AF_INET);
	struct in_addr from = {inet_addr("192.0.2.77")};
	uint8_t out[256];

	(void)write_text("/proc/sys/net/ipv4/ip_forward", "1"); /* may be read-only: then without */
	(void)needs(ioctl(fd, TUNSETIFF, &request), "TUNSETIFF");
	request.ifr_flags = IFF_UP;
	(void)needs(ioctl(control, SIOCSIFFLAGS, &request), "the device up");
	(void)tries(write(fd, out, packet_ipv4(out, IPPROTO_UDP, from, a->v4, a)), "write");
	sent();
}

static const struct attempt packet_rows[] = {
	{"packet-raw", "packet", packet_send, SOCK_RAW},
	{"packet-dgram", "packet", packet_send, SOCK_DGRAM},
	{"packet-raw-bypass", "packet", packet_send, SOCK_RAW | 256},
	{"packet-dgram-bypass", "packet", packet_send, SOCK_DGRAM | 256},
	{"packet-tx-ring", "packet", packet_ring},
	{"packet-vnet", "packet", packet_vnet},
	{"packet-old-kind", "packet", packet_old_kind},
	{"packet-lo-udp", "packet", packet_on_lo, IPPROTO_UDP},
	{"packet-lo-tcp", "packet", packet_on_lo, IPPROTO_TCP},
	{"xdp", "packet", packet_xdp},
	{"tun-own-packets", "link", packet_tun, 0, ATTEMPT_SERIAL},
};

const struct attempt_list packet_list = ATTEMPTS(packet_rows);
