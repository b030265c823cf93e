/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.h – what was decided about a connection or a request, and which rule said so. */
#ifndef SALLYPORT_VERDICT_H
#define SALLYPORT_VERDICT_H

#include <stdbool.h>

#include "model/category.h"

struct verdict {
	bool allow;
	bool alert; /* a denial is told by a TLS alert, not by HTTP (rule: deny: alert) */
	enum category category; /* CATEGORY_NONE when allowed */
	const char
		*rule; /* the rule's name, "default" when none matched; borrowed from the policy */
};

#endif
