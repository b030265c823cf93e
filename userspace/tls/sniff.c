/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sniff.c – recognising TLS, HTTP/1, HTTP/2 and SSLv2 by their first bytes, and reading a
 * ClientHello.
 *
 * Why a parser of our own beside OpenSSL's: policy is asked, the upstream is chosen and the leaf is
 * minted before an SSL object exists, and the answer must not depend on a library's state. OpenSSL
 * parses the same bytes again, more fully; what both refuse is refused twice, what only one refuses
 * is refused.
 *
 * A hello may be cut anywhere: over TCP segments (the post-quantum ones do not fit one packet) and
 * over records, down to one byte of payload each. So the work is done in two passes over the
 * caller's bytes, without copying them:
 *
 *	walk    – record headers only: is it whole, are the records in order? 0 or -EBADMSG
 *	parse   – a cursor over the payload that steps over record headers: 1 or -EBADMSG
 *
 * Judging the body only when it is whole, and only those bytes, makes the answer independent of how
 * it arrived. Called for each segment that arrives, the walk is repeated: SNIFF_RECORDS bounds
 * that.
 *
 * Not here: whether a name is good (policy/hosts.c), versions and ciphers (OpenSSL), encrypted
 * hellos: the outer name is the name (DNS-04).
 */
#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "tls/sniff.h"

enum {
	RECORD_HEAD = 5,
	RECORD_PAYLOAD = 16384, /* RFC 8446 section 5.1 */
	RECORD_FIRST = 20, /* content types: change_cipher_spec, alert, */
	RECORD_HANDSHAKE = 22,
	RECORD_LAST = 24, /* application_data, heartbeat */
	HANDSHAKE_HEAD = 4,
	HANDSHAKE_CLIENT_HELLO = 1,
	EXTENSION_SERVER_NAME = 0,
	EXTENSION_ALPN = 16,
	NAME_HOST = 0, /* RFC 6066 section 3 */
	METHOD_MAX = 64, /* bytes of a method; the longest registered one has 17 */
	SSLV2_CLIENT_HELLO = 1,
};

/* ---- what is it? ---- */

/* tchar of RFC 9110 section 5.6.2 */
static bool sniff_tchar(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* Openings that would pass for a method otherwise. */
static const struct {
	struct slice text;
	enum sniff_kind kind;
} sniff_texts[] = {
	{{(const uint8_t *)"PRI * HTTP/2.0", 14}, SNIFF_H2_PREFACE},
	{{(const uint8_t *)"SSH-", 4},
		SNIFF_OTHER}, /* "SSH-2.0-software comment", RFC 4253 section 4.2 */
};

/* SSLv2: two bytes of length with the high bit, CLIENT-HELLO, version 0.2 or 3.x (RFC 5246 appendix
 * E.2). */
static int sniff_sslv2(struct slice in, enum sniff_kind *ret)
{
	if (in.n < 3)
		return 0;
	*ret = SNIFF_OTHER;
	if (in.p[2] != SSLV2_CLIENT_HELLO)
		return 1;
	if (in.n > 3 && in.p[3] == 3)
		*ret = SNIFF_SSLV2;
	else if (in.n > 3 && in.p[3] != 0)
		return 1;
	else if (in.n > 4 && in.p[4] == 2)
		*ret = SNIFF_SSLV2;
	else if (in.n <= 4)
		return 0;
	return 1;
}

static int sniff_text(struct slice in, enum sniff_kind *ret)
{
	size_t i;

	if (in.p[0] ==
		'\r') { /* one CRLF before a request line is tolerated, RFC 9112 section 2.2 */
		if (in.n > 1 && in.p[1] != '\n') {
			*ret = SNIFF_OTHER;
			return 1;
		}
		in = slice_skip(in, 2);
	}
	for (i = 0; i < sizeof(sniff_texts) / sizeof(sniff_texts[0]); i++) {
		struct slice text = sniff_texts[i].text;
		size_t n = in.n < text.n ? in.n : text.n;

		if (n == 0)
			return 0;
		if (memcmp(in.p, text.p, n) != 0)
			continue;
		if (n < text.n)
			return 0;
		*ret = sniff_texts[i].kind;
		return 1;
	}
	for (i = 0; i < in.n && i <= METHOD_MAX && sniff_tchar(in.p[i]); i++)
		;
	if (i == in.n && i <= METHOD_MAX)
		return 0;
	*ret = i > 0 && i <= METHOD_MAX && in.p[i] == ' ' ? SNIFF_HTTP1 : SNIFF_OTHER;
	return 1;
}

int sniff(struct slice first, enum sniff_kind *ret)
{
	enum sniff_kind kind = SNIFF_OTHER;
	int r = 1;

	if (first.n == 0)
		return 0;
	/* any record, not only a hello's: some servers drop a warning before it, so with one in front a hello would pass
	 * unseen where bytes that are not TLS do */
	if (first.p[0] >= RECORD_FIRST && first.p[0] <= RECORD_LAST) {
		if (first.n < 2)
			return 0;
		kind = first.p[1] == 3 ? SNIFF_TLS : SNIFF_OTHER;
	} else if (first.p[0] & 0x80) {
		r = sniff_sslv2(first, &kind);
	} else {
		r = sniff_text(first, &kind);
	}
	if (r == 1)
		*ret = kind;
	return r;
}

/* ---- the payload of a run of records, as one string ---- */

struct cursor {
	struct slice in; /* from the cursor on */
	size_t record; /* payload bytes left of the record that it stands in */
	size_t left; /* payload bytes left of the vector that is read */
	bool bad; /* read beyond it, at some time: checked once, at the end of a step */
};

static struct slice cursor_run(struct cursor *c)
{
	if (c->record == 0) {
		c->record = (size_t)c->in.p[3] << 8 | c->in.p[4];
		c->in = slice_skip(c->in, RECORD_HEAD);
	}
	return slice_first(c->in, c->record);
}

/* The next n bytes, to `to` if there is one. The walk has seen that they exist if the vector has
 * them. */
static void cursor_take(struct cursor *c, size_t n, uint8_t *to)
{
	if (n > c->left) {
		c->bad = true;
		c->left = 0;
		return;
	}
	c->left -= n;
	while (n) {
		struct slice run = slice_first(cursor_run(c), n);

		if (to) {
			memcpy(to, run.p, run.n);
			to += run.n;
		}
		c->in = slice_skip(c->in, run.n);
		c->record -= run.n;
		n -= run.n;
	}
}

static size_t cursor_number(struct cursor *c, size_t bytes)
{
	uint8_t b[3] = {0};
	size_t v = 0;

	cursor_take(c, bytes, b);
	for (size_t i = 0; i < bytes; i++)
		v = v << 8 | b[i];
	return c->bad ? 0 : v;
}

/* Enters a vector with a length of that many bytes: a cursor over it alone, c stands behind it. */
static struct cursor cursor_vector(struct cursor *c, size_t length_bytes)
{
	size_t n = cursor_number(c, length_bytes);
	struct cursor inner = *c;

	cursor_take(c, n, NULL);
	inner.left = n;
	inner.bad = c->bad;
	if (c->bad)
		inner.left = 0;
	return inner;
}

/* ---- the hello ---- */

/* 1 when all of the handshake message is there, and c stands at its start; 0, -EBADMSG. */
static int hello_walk(struct slice in, struct cursor *ret)
{
	uint8_t head[HANDSHAKE_HEAD];
	size_t have = 0, need = HANDSHAKE_HEAD, at = 0;

	for (unsigned records = 0; have < need; records++) {
		const uint8_t *r = in.p + at;
		size_t n, there;

		if (records == SNIFF_RECORDS)
			return -EBADMSG;
		if (in.n - at < RECORD_HEAD)
			return in.n < LIMIT_HELLO ? 0 : -EBADMSG;
		n = (size_t)r[3] << 8 | r[4];
		if (r[0] != RECORD_HANDSHAKE || r[1] != 3 || n == 0 || n > RECORD_PAYLOAD)
			return -EBADMSG;
		at += RECORD_HEAD;
		there = in.n - at < n ? in.n - at : n;
		for (size_t i = 0; i < there && have + i < HANDSHAKE_HEAD; i++)
			head[have + i] = in.p[at + i];
		have += there;
		at += there;
		if (have > 0 && head[0] != HANDSHAKE_CLIENT_HELLO)
			return -EBADMSG;
		if (have >= HANDSHAKE_HEAD) {
			need = HANDSHAKE_HEAD +
			       ((size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3]);
			/* a client says nothing more before the answer: what follows in this record
			 * is not a hello's */
			if (need > LIMIT_HELLO || (have - there) + n > need)
				return -EBADMSG;
		}
		if (at > LIMIT_HELLO)
			return -EBADMSG;
		if (there < n)
			return in.n < LIMIT_HELLO ? 0 : -EBADMSG;
	}
	*ret = (struct cursor){.in = in, .left = need};
	return 1;
}

/* RFC 6066 section 3: one list, one entry, of type host_name, not empty. */
static int hello_server_name(struct cursor *ext, struct hello *h)
{
	struct cursor list = cursor_vector(ext, 2), name;
	size_t type;

	if (h->has_sni || ext->bad || ext->left)
		return -EBADMSG;
	type = cursor_number(&list, 1);
	name = cursor_vector(&list, 2);
	if (list.bad || list.left || type != NAME_HOST || name.left == 0 || name.left > SNIFF_SNI)
		return -EBADMSG;
	h->has_sni = true;
	h->sni_n = (uint8_t)name.left;
	cursor_take(&name, name.left, h->sni);
	return 0;
}

/* RFC 7301 section 3.1: one list of names, none of them empty. */
static int hello_alpn(struct cursor *ext, struct hello *h)
{
	struct cursor list = cursor_vector(ext, 2);

	if (h->alpn || ext->bad || ext->left || list.left == 0)
		return -EBADMSG;
	h->alpn = true;
	while (list.left) {
		struct cursor name = cursor_vector(&list, 1);
		uint8_t text[8];
		size_t n = name.left;

		if (list.bad || n == 0)
			return -EBADMSG;
		if (n > sizeof(text))
			continue;
		cursor_take(&name, n, text);
		h->alpn_http11 |= slice_eq(slice_of(text, n), SLICE("http/1.1"));
		h->alpn_h2 |= slice_eq(slice_of(text, n), SLICE("h2"));
	}
	return 0;
}

static const struct {
	size_t type;
	int (*read)(struct cursor *ext, struct hello *h);
} hello_extensions[] = {
	{EXTENSION_SERVER_NAME, hello_server_name},
	{EXTENSION_ALPN, hello_alpn},
};

/* RFC 8446 section 4.1.2 */
static int hello_parse(struct cursor *c, struct hello *h)
{
	struct cursor session, suites, methods, extensions;

	cursor_take(c, HANDSHAKE_HEAD, NULL);
	cursor_take(c, 2 + 32, NULL); /* legacy_version, random */
	session = cursor_vector(c, 1);
	suites = cursor_vector(c, 2);
	methods = cursor_vector(c, 1);
	if (c->bad || session.left > 32 || suites.left < 2 || suites.left % 2 || methods.left < 1)
		return -EBADMSG;
	if (c->left == 0)
		return 0; /* TLS 1.2 without extensions */
	extensions = cursor_vector(c, 2);
	if (c->bad || c->left)
		return -EBADMSG;
	while (extensions.left) {
		size_t type = cursor_number(&extensions, 2);
		struct cursor ext = cursor_vector(&extensions, 2);

		if (extensions.bad)
			return -EBADMSG;
		for (size_t i = 0; i < sizeof(hello_extensions) / sizeof(hello_extensions[0]); i++)
			if (hello_extensions[i].type == type &&
				hello_extensions[i].read(&ext, h) < 0)
				return -EBADMSG;
	}
	return 0;
}

int sniff_client_hello(struct slice in, struct hello *ret)
{
	struct hello h = {0};
	struct cursor c;
	int r = hello_walk(in, &c);

	if (r <= 0)
		return r;
	if (hello_parse(&c, &h) < 0)
		return -EBADMSG;
	*ret = h;
	return 1;
}
