/* SPDX-License-Identifier: Apache-2.0 */
/* msg_same.h – two heads say the same, whatever memory their bytes are in. */
#ifndef SALLYPORT_FUZZ_MSG_SAME_H
#define SALLYPORT_FUZZ_MSG_SAME_H

#include "model/msg.h"

static inline bool msg_same(const struct msg *a, const struct msg *b)
{
	if (!slice_eq(a->method, b->method) || !slice_eq(a->target, b->target) ||
		a->status != b->status || !slice_eq(a->reason, b->reason) || a->minor != b->minor ||
		a->keep_alive != b->keep_alive || a->expect_continue != b->expect_continue ||
		a->doubtful != b->doubtful || a->framing != b->framing || a->length != b->length ||
		a->nfields != b->nfields)
		return false;
	for (unsigned i = 0; i < a->nfields; i++)
		if (!slice_eq(a->fields[i].name, b->fields[i].name) ||
			!slice_eq(a->fields[i].value, b->fields[i].value))
			return false;
	return true;
}

#endif
