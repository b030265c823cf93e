/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ranges.h – the address classes, once. From these rows the LPM map of the cgroup programs, the nft
 * sets and the dialler's check (userspace/model/range.c) are filled; nothing else in the tree lists
 * special addresses.
 *
 * A row is: the prefix, its length, the class on the sandbox's side, the class on the dialler's
 * side, where it is from. The longest prefix decides; an IPv4 row stands behind those that hold it.
 * IPv4 that no row names is PUBLIC; IPv6 is PUBLIC only inside 2000::/3, as the rest is not
 * assigned. A row with class PUBLIC is an exception from a wider row.
 *
 * Two kinds of address are not settled by their own row. A v4-mapped address *is* its IPv4 address
 * (callers hold IPv4 in that form throughout). The other forms that carry an IPv4 address are,
 * where their own row says PUBLIC, of the class of the address inside: range_embedded() below finds
 * it, for BPF and for userspace alike.
 *
 * Documentation ranges are PUBLIC: they route nowhere, and the tests live in them. 198.18.0.0/15 is
 * open on the sandbox's side, where the synthetic DNS pool and the shared address of denied names
 * are, and refused by the dialler. HOST, an address of the host itself, has no row: the helper
 * follows those live.
 */
#ifndef SALLYPORT_BPF_RANGES_H
#define SALLYPORT_BPF_RANGES_H

/* The numbers are kept in maps and audit: append only. */
#define RANGE_CLASSES(X)                                                                           \
	X(PUBLIC)                                                                                  \
	X(LOOPBACK)                                                                                \
	X(PRIVATE)                                                                                 \
	X(LINK_LOCAL)                                                                              \
	X(METADATA)                                                                                \
	X(CGNAT)                                                                                   \
	X(MULTICAST)                                                                               \
	X(RESERVED)                                                                                \
	X(BENCHMARK)                                                                               \
	X(HOST)

enum range_class {
#define X(name) RANGE_##name,
	RANGE_CLASSES(X)
#undef X
		RANGE_COUNT
};

/* X(a, b, c, d, length of 32, sandbox, dialler, source) */
/* clang-format off */
#define RANGES4(X)                                                                                        \
	X(0, 0, 0, 0, 8, RESERVED, RESERVED, "RFC 791 this network")                                      \
	X(10, 0, 0, 0, 8, PRIVATE, PRIVATE, "RFC 1918")                                                   \
	X(100, 64, 0, 0, 10, CGNAT, CGNAT, "RFC 6598")                                                    \
	X(100, 100, 100, 200, 32, METADATA, METADATA, "Alibaba Cloud metadata")                           \
	X(127, 0, 0, 0, 8, LOOPBACK, LOOPBACK, "RFC 1122")                                                \
	X(168, 63, 129, 16, 32, METADATA, METADATA, "Azure wire server")                                  \
	X(169, 254, 0, 0, 16, LINK_LOCAL, LINK_LOCAL, "RFC 3927")                                         \
	X(169, 254, 0, 23, 32, METADATA, METADATA, "Tencent Cloud metadata")                              \
	X(169, 254, 42, 42, 32, METADATA, METADATA, "Scaleway metadata")                                  \
	X(169, 254, 169, 254, 32, METADATA, METADATA, "metadata of most clouds")                          \
	X(169, 254, 170, 2, 32, METADATA, METADATA, "AWS ECS task credentials")                           \
	X(169, 254, 170, 23, 32, METADATA, METADATA, "AWS EKS pod identity")                              \
	X(172, 16, 0, 0, 12, PRIVATE, PRIVATE, "RFC 1918")                                                \
	X(192, 0, 0, 0, 24, RESERVED, RESERVED, "RFC 6890 protocol assignments")                          \
	X(192, 0, 0, 9, 32, PUBLIC, PUBLIC, "RFC 7723 PCP anycast")                                       \
	X(192, 0, 0, 10, 32, PUBLIC, PUBLIC, "RFC 8155 TURN anycast")                                     \
	X(192, 0, 0, 192, 32, METADATA, METADATA, "Oracle Cloud classic metadata")                        \
	X(192, 88, 99, 0, 24, RESERVED, RESERVED, "RFC 7526 6to4 relay anycast, deprecated")              \
	X(192, 168, 0, 0, 16, PRIVATE, PRIVATE, "RFC 1918")                                               \
	X(198, 18, 0, 0, 15, PUBLIC, BENCHMARK, "RFC 2544; the synthetic pool")                           \
	X(224, 0, 0, 0, 4, MULTICAST, MULTICAST, "RFC 5771")                                              \
	X(240, 0, 0, 0, 4, RESERVED, RESERVED, "RFC 1112 section 4, and limited broadcast")

/* X(eight groups, length of 128, sandbox, dialler, source) */
#define RANGES6(X)                                                                                        \
	X(0, 0, 0, 0, 0, 0, 0, 0, 0, RESERVED, RESERVED, "RFC 4291, not assigned")                        \
	X(0, 0, 0, 0, 0, 0, 0, 0, 96, PUBLIC, PUBLIC, "RFC 4291 v4-compatible: by the IPv4 inside")       \
	X(0, 0, 0, 0, 0, 0, 0, 1, 128, LOOPBACK, LOOPBACK, "RFC 4291")                                    \
	X(0, 0, 0, 0, 0xffff, 0, 0, 0, 96, PUBLIC, PUBLIC, "RFC 7915 v4-translated: by the IPv4 inside")  \
	X(0x64, 0xff9b, 0, 0, 0, 0, 0, 0, 96, PUBLIC, PUBLIC, "RFC 6052 NAT64: by the IPv4 inside")       \
	X(0x64, 0xff9b, 1, 0, 0, 0, 0, 0, 48, PRIVATE, PRIVATE, "RFC 8215 local NAT64")                   \
	X(0x2000, 0, 0, 0, 0, 0, 0, 0, 3, PUBLIC, PUBLIC, "RFC 4291 global unicast")                      \
	X(0x2001, 0, 0, 0, 0, 0, 0, 0, 23, RESERVED, RESERVED, "RFC 2928 protocol assignments")           \
	X(0x2001, 0, 0, 0, 0, 0, 0, 0, 32, PUBLIC, PUBLIC, "RFC 4380 Teredo: by the IPv4s inside")        \
	X(0x2001, 1, 0, 0, 0, 0, 0, 1, 128, PUBLIC, PUBLIC, "RFC 7723 PCP anycast")                       \
	X(0x2001, 1, 0, 0, 0, 0, 0, 2, 128, PUBLIC, PUBLIC, "RFC 8155 TURN anycast")                      \
	X(0x2001, 2, 0, 0, 0, 0, 0, 0, 48, BENCHMARK, BENCHMARK, "RFC 5180")                              \
	X(0x2001, 3, 0, 0, 0, 0, 0, 0, 32, PUBLIC, PUBLIC, "RFC 7450 AMT")                                \
	X(0x2001, 4, 0x112, 0, 0, 0, 0, 0, 48, PUBLIC, PUBLIC, "RFC 7535 AS112")                          \
	X(0x2001, 0x20, 0, 0, 0, 0, 0, 0, 28, PUBLIC, PUBLIC, "RFC 7343 ORCHIDv2")                        \
	X(0x2001, 0x30, 0, 0, 0, 0, 0, 0, 28, PUBLIC, PUBLIC, "RFC 9374 DRIP")                            \
	X(0xfc00, 0, 0, 0, 0, 0, 0, 0, 7, PRIVATE, PRIVATE, "RFC 4193")                                   \
	X(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42, 128, METADATA, METADATA, "Scaleway metadata")                \
	X(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe, 128, METADATA, METADATA, "Oracle Cloud metadata")     \
	X(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23, 128, METADATA, METADATA, "AWS EKS pod identity")            \
	X(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254, 128, METADATA, METADATA, "AWS EC2 metadata")               \
	X(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254, 128, METADATA, METADATA, "Google Cloud metadata")           \
	X(0xfe80, 0, 0, 0, 0, 0, 0, 0, 10, LINK_LOCAL, LINK_LOCAL, "RFC 4291")                            \
	X(0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe, 128, METADATA, METADATA, "OpenStack metadata")           \
	X(0xfec0, 0, 0, 0, 0, 0, 0, 0, 10, PRIVATE, PRIVATE, "RFC 3879 site-local, deprecated")           \
	X(0xff00, 0, 0, 0, 0, 0, 0, 0, 8, MULTICAST, MULTICAST, "RFC 4291")
/* clang-format on */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define RANGE_BE32(x) __builtin_bswap32(x)
#else
#define RANGE_BE32(x) (x)
#endif

/*
 * The IPv4 addresses inside an IPv6 address that is not v4-mapped. w is the address as four words
 * in network order; ret gets up to two IPv4 addresses in network order (Teredo carries its server
 * and its client); returns how many. An address is refused if any of them is.
 */
static inline __attribute__((always_inline)) unsigned range_embedded(
	const unsigned int w[4], unsigned int ret[2])
{
	/* v4-compatible ::/96, v4-translated ::ffff:0:0:0/96 */
	if (w[0] == 0 && w[1] == 0 && (w[2] == 0 || w[2] == RANGE_BE32(0xffff0000u))) {
		ret[0] = w[3];
		return 1;
	}
	/* NAT64 64:ff9b::/96 */
	if (w[0] == RANGE_BE32(0x0064ff9bu) && w[1] == 0 && w[2] == 0) {
		ret[0] = w[3];
		return 1;
	}
	/* 6to4 2002:aabb:ccdd::/48 */
	if ((w[0] & RANGE_BE32(0xffff0000u)) == RANGE_BE32(0x20020000u)) {
		unsigned int high = RANGE_BE32(w[0]), low = RANGE_BE32(w[1]);

		ret[0] = RANGE_BE32(high << 16 | low >> 16);
		return 1;
	}
	/* Teredo 2001:0:server:flags:port:~client */
	if (w[0] == RANGE_BE32(0x20010000u)) {
		ret[0] = w[1];
		ret[1] = ~w[3];
		return 2;
	}
	/* ISATAP, any prefix: interface identifier [02]00:5efe:a.b.c.d */
	if ((w[2] & RANGE_BE32(0xfdffffffu)) == RANGE_BE32(0x00005efeu)) {
		ret[0] = w[3];
		return 1;
	}
	return 0;
}

#endif
