/* SPDX-License-Identifier: Apache-2.0 */
/*
 * need.h – what the product needs of a kernel, as a table: one row for each probe
 * (kconfig-notes/probes), with who needs it, the option, and what to do where it is missing.
 * kconfig-notes/README.md tells the same at length.
 */
#ifndef SALLYPORT_CTL_NEED_H
#define SALLYPORT_CTL_NEED_H

#include <stdbool.h>
#include <stddef.h>

/* What does not work without it. */
enum need_part {
	NEED_ALL, /* nothing works */
	NEED_BPF, /* the bpf lane: sandboxes run in the nft lane */
	NEED_NFT, /* the nft lane, which stands in for it */
	NEED_UPLINK, /* uplink mode */
	NEED_EXTRA, /* something is done in a weaker way */
	NEED_PARTS
};

struct need {
	const char *name; /* of the probe, which is a program of that name */
	enum need_part part;
	bool root; /* it can be tried by root only */
	const char *use; /* what it is for */
	const char *option; /* kernel options, sysctls, capabilities */
	const char *remedy; /* what to do */
};

extern const struct need need_rows[];
extern const size_t need_count;

#endif
