/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.h – what was decided about a connection or a request, and which rule said so. */
#ifndef SALLYPORT_VERDICT_H
#define SALLYPORT_VERDICT_H

#include <stdbool.h>

#include "model/category.h"

/* How the bytes of an allowed connection travel. */
enum verdict_way {
	VERDICT_TERMINATE, /* TLS ends here, requests are judged one by one */
	VERDICT_TUNNEL, /* raw, by a rule with action: tunnel */
	VERDICT_PASS, /* raw, since nothing names the host (default: allow, default_tls: pass) */
};

struct verdict {
	bool allow;
	enum verdict_way way; /* of an allowed connection; of a request always TERMINATE */
	bool alert; /* a denial is told by a TLS alert, not by HTTP (rule: deny: alert) */
	enum category category; /* CATEGORY_NONE when allowed */
	const char
		*rule; /* the rule's name, "default" when none matched; borrowed from the policy */
};

#endif
