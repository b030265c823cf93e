/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range.h – which class an address is of: the table of bpf/ranges.h, for userspace. The cgroup
 * programs answer the same question from the same rows on the sandbox's side; the dialler asks
 * again before every connect.
 */
#ifndef SALLYPORT_RANGE_H
#define SALLYPORT_RANGE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/ranges.h"
#include "model/category.h"

struct addr;

/* The class of the address as the sandbox may try it: the synthetic pool is public there. The port
 * does not matter. */
enum range_class range_sandbox(const struct addr *a);
/* The class of the address as the daemon may dial it. */
enum range_class range_dialler(const struct addr *a);

/* CATEGORY_NONE for PUBLIC, METADATA_ADDRESS for METADATA, PRIVATE_ADDRESS for every other class.
 */
enum category range_category(enum range_class c);
/* "PUBLIC" … "BENCHMARK". */
const char *range_name(enum range_class c);

enum range_side { RANGE_SANDBOX, RANGE_DIALLER, RANGE_SIDES };

/* A row of the table, IPv4 v4-mapped; class[] holds enum range_class. */
struct range_row {
	uint8_t ip[16];
	uint8_t prefix; /* of 128 */
	uint8_t class[RANGE_SIDES];
};

/* All rows, unsorted, for who looks up the longest prefix elsewhere (the kernel's LPM map). */
const struct range_row *range_rows(size_t *ret_n);

#endif
