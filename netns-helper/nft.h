/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nft.h – the nf_tables table `inet sallyport` in a sandbox's network namespace: what refuses
 * sockets that the cgroup programs do not see. Called inside the namespace (netns_within).
 */
#ifndef SALLYPORT_NFT_H
#define SALLYPORT_NFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_opening;

struct nft_spec {
	uint8_t own4[4];
	uint8_t own6[16];
	const struct capture_opening *openings; /* borrowed during the call */
	size_t nopenings;
};

/* Loads the table in one transaction, in place of one that a dead helper left. 0 or -errno with
 * nothing changed. */
int nft_load(const struct nft_spec *spec);

/* Whether tables of somebody else are there is not looked at. Removes ours; 0 also when it is gone
 * already. */
int nft_unload(void);

#endif
