/* SPDX-License-Identifier: Apache-2.0 */
/* category.c – see category.h. */
#include <assert.h>

#include "base/cleanup.h"
#include "model/category.h"

static const struct {
	const char *name, *hint;
	unsigned status;
} category_rows[] = {
#define X(name, wire, status, hint) [CATEGORY_##name] = {wire, hint, status},
	CATEGORIES(X)
#undef X
};
static_assert(ARRAY_SIZE(category_rows) == CATEGORY_COUNT, "one row for each category");

const char *category_name(enum category c)
{
	return category_rows[c].name;
}

unsigned category_status(enum category c)
{
	return category_rows[c].status;
}

const char *category_hint(enum category c)
{
	return category_rows[c].hint;
}
