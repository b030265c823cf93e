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

static bool fields_in(struct slice name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (slice_ieq(name, slice_str(names[i])))
			return true;
	return false;
}

/* TE is here because no coding but chunked is spoken to anybody; fields_wants_trailers() is what is left of it. */
static const char *const fields_hop_names[] = {
	"connection",
	"http2-settings",
	"keep-alive",
	"proxy-authenticate",
	"proxy-authorization",
	"proxy-connection",
	"te",
	"transfer-encoding",
	"upgrade",
};

bool fields_hop(struct slice name)
{
	return fields_in(name, fields_hop_names, ARRAY_SIZE(fields_hop_names));
}

bool fields_drop_response(struct slice name)
{
	return fields_hop(name) || slice_ieq(name, SLICE("alt-svc"));
}

/*
 * What decides on framing, routing, authentication, the request, the response's freshness or the content's meaning, and
 * so has to be there before the content (RFC 9110 section 6.5.1, and the list of RFC 7230 section 4.1.2). Content-* is
 * judged by its beginning.
 */
static const char *const fields_no_trailers[] = {
	"accept",
	"accept-charset",
	"accept-encoding",
	"accept-language",
	"age",
	"authorization",
	"cache-control",
	"clear-site-data",
	"cookie",
	"date",
	"early-data",
	"expect",
	"expires",
	"forwarded",
	"from",
	"host",
	"if-match",
	"if-modified-since",
	"if-none-match",
	"if-range",
	"if-unmodified-since",
	"location",
	"max-forwards",
	"origin",
	"pragma",
	"prefer",
	"range",
	"referer",
	"refresh",
	"retry-after",
	"set-cookie",
	"strict-transport-security",
	"trailer",
	"user-agent",
	"vary",
	"via",
	"warning",
	"www-authenticate",
	"x-forwarded-for",
	"x-forwarded-host",
	"x-forwarded-proto",
	"x-http-method",
	"x-http-method-override",
	"x-method-override",
};

/* Of content-*, these are sums over the content (RFC 9530 section 6, RFC 1864): made for this place. */
static const char *const fields_sums[] = {
	"content-digest",
	"content-md5",
};

bool fields_trailer_allowed(struct slice name)
{
	if (slice_ieq(slice_first(name, 8), SLICE("content-")))
		return fields_in(name, fields_sums, ARRAY_SIZE(fields_sums));
	return !fields_drop_response(name) &&
	       !fields_in(name, fields_no_trailers, ARRAY_SIZE(fields_no_trailers));
}

int fields_trailers_keep(struct msg *m)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < m->nfields; i++)
		if (fields_trailer_allowed(m->fields[i].name))
			m->fields[kept++] = m->fields[i];
	m->nfields = (uint16_t)kept;
	return kept > 0;
}

bool fields_wants_trailers(const struct msg *m)
{
	return m->minor && fields_has_token(m, SLICE("te"), SLICE("trailers"));
}

bool fields_connection_names(const struct msg *m)
{
	const struct field *f;
	unsigned at = 0;

	while ((f = msg_next(m, SLICE("connection"), &at))) {
		struct slice list = f->value, option;

		while (fields_member(&list, &option))
			if (option.n && !slice_ieq(option, SLICE("close")) && !fields_hop(option))
				return true;
	}
	return false;
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
