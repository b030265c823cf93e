/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_synthetic_record.c – any bytes as the file of a sandbox's names. Beyond not crashing:
 * - what is accepted, written anew in the order of the file, is the file without its torn end, byte for byte: there is
 *   one spelling of everything;
 * - every name is found by its address and every address by its name, and none is of another range;
 * - a prefix of an accepted file is accepted too, with no name that the whole has not: a crash at any byte is survived;
 * - read in two pieces it is the same.
 */
#include "../../userspace/proxy/synthetic_record.c"

#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_all(struct synthetic *s, const uint8_t *data, size_t size, size_t *used)
{
	struct synthetic_place at = {"f", 0};
	struct fault fault = {{0}};
	int r = synthetic_record_read(s, slice_of(data, size), &at, &fault, used);

	CHECK((r == 0) == (fault.text[0] == 0));
	return r;
}

static void check_same(const struct synthetic *s, const uint8_t *data, size_t used)
{
	struct slice rest = slice_of(data, used);
	struct buf out;

	buf_init(&out, used + 1);
	if (used)
		CHECK(synthetic_record_head(&out) == 0);
	rest = slice_skip(rest, SYNTHETIC_RECORD_HEAD);
	while (rest.n) {
		size_t end = slice_find(rest, '\n'), space = slice_find(rest, ' ');
		struct slice name = slice_skip(slice_first(rest, end), space + 1);
		struct synthetic_entry *e = synthetic_entry(s, name);
		struct host found;
		struct addr a;

		CHECK(e);
		CHECK(synthetic_record_line(e, &out) == 0);
		CHECK(addr_parse(slice_first(rest, space), &a) == 0 && synthetic_pool(&a));
		CHECK(synthetic_find(s, &a, &found) &&
			slice_eq(name, slice_of(found.text, found.n)));
		rest = slice_skip(rest, end + 1);
	}
	CHECK(slice_eq(buf_slice(&out), slice_of(data, used)));
	buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct synthetic s = {.seed = 1};
	size_t used, some;

	if (read_all(&s, data, size, &used) == 0) {
		CHECK(used <= size && (used == 0 || data[used - 1] == '\n'));
		check_same(&s, data, used);
		for (size_t n = 0; n < size; n += 1 + n / 4) {
			struct synthetic part = {.seed = 2};
			struct synthetic_place at = {"f", 0};

			CHECK(synthetic_record_read(&part, slice_of(data, n), &at, NULL, &some) ==
				0);
			CHECK(some <= n && synthetic_count(&part) <= synthetic_count(&s));
			CHECK(synthetic_record_read(&part, slice_of(data + some, size - some), &at,
				      NULL, &some) == 0);
			CHECK(synthetic_count(&part) == synthetic_count(&s));
			synthetic_done(&part);
		}
	}
	synthetic_done(&s);
	return 0;
}
