/* SPDX-License-Identifier: Apache-2.0 */
/* check.h – what must hold for every input of a fuzzer: what does not is a crash. */
#ifndef SALLYPORT_TEST_CHECK_H
#define SALLYPORT_TEST_CHECK_H

#include <stdlib.h>

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

#endif
