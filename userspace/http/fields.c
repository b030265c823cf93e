/* SPDX-License-Identifier: Apache-2.0 */
/* fields.c – see fields.h. One table of byte classes serves every parser of this folder. */
#include "base/cleanup.h"
#include "http/fields.h"
#include "model/msg.h"

enum { FIELDS_TCHAR = 1, FIELDS_VCHAR = 2 };

#define T FIELDS_TCHAR | FIELDS_VCHAR
#define V FIELDS_VCHAR
static const uint8_t fields_class[256] = {
	['\t'] = V,
	[' '] = V,
	/* the separators: '"' '(' ')' ',' '/' ':' ';' '<' '=' '>' '?' '@' '[' '\' ']' '{' '}' */
	['!'] = T,
	['"'] = V,
	['#' ... '\''] = T,
	['(' ... ')'] = V,
	['*' ... '+'] = T,
	[','] = V,
	['-' ... '.'] = T,
	['/'] = V,
	['0' ... '9'] = T,
	[':' ... '@'] = V,
	['A' ... 'Z'] = T,
	['[' ... ']'] = V,
	['^' ... 'z'] = T,
	['{'] = V,
	['|'] = T,
	['}'] = V,
	['~'] = T,
	[0x80 ... 0xff] = V,
};
#undef T
#undef V

bool fields_tchar(uint8_t c)
{
	return fields_class[c] & FIELDS_TCHAR;
}

bool fields_vchar(uint8_t c)
{
	return fields_class[c] & FIELDS_VCHAR;
}

bool fields_token(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!fields_tchar(s.p[i]))
			return false;
	return s.n > 0;
}

bool fields_value(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!fields_vchar(s.p[i]))
			return false;
	return true;
}

/*
 * Trailer is here because trailers are dropped, TE because no coding but chunked is spoken to
 * anybody.
 */
static const char *const fields_hop_names[] = {
	"connection",
	"http2-settings",
	"keep-alive",
	"proxy-authenticate",
	"proxy-authorization",
	"proxy-connection",
	"te",
	"trailer",
	"transfer-encoding",
	"upgrade",
};

bool fields_hop(struct slice name)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields_hop_names); i++)
		if (slice_ieq(name, slice_str(fields_hop_names[i])))
			return true;
	return false;
}

bool fields_drop_response(struct slice name)
{
	return fields_hop(name) || slice_ieq(name, SLICE("alt-svc"));
}

bool fields_trailer_allowed(struct slice name)
{
	return !fields_hop(name);
}

bool fields_member(struct slice *list, struct slice *ret)
{
	size_t comma;

	if (list->n == 0)
		return false;
	comma = slice_find(*list, ',');
	*ret = slice_trim(slice_first(*list, comma));
	*list = slice_skip(*list, comma + 1);
	return true;
}

bool fields_token_in(struct slice value, struct slice token)
{
	struct slice member;

	while (fields_member(&value, &member))
		if (slice_ieq(member, token))
			return true;
	return false;
}

bool fields_has_token(const struct msg *m, struct slice name, struct slice token)
{
	const struct field *f;
	unsigned at = 0;

	while ((f = msg_next(m, name, &at)))
		if (fields_token_in(f->value, token))
			return true;
	return false;
}

bool fields_named_by_connection(const struct msg *m, struct slice name)
{
	return !slice_ieq(name, SLICE("content-length")) &&
	       fields_has_token(m, SLICE("connection"), name);
}
