/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h1_head.c – see h1_head.h.
 *
 * Two passes. The scan looks at each byte once, as it arrives: it finds the empty line that ends
 * the head, and refuses at once what may stand nowhere in a head (a bare CR or LF, NUL, any control
 * byte but HTAB). It resumes at *scan, so arrival byte by byte stays linear. Only when the head is
 * whole the second pass cuts it into lines and fields, in one go and without state of its own; it
 * may rely on CR and LF standing in pairs only. Since a fault that the scan sees is always told
 * before one that the second pass would see, the answer does not depend on how the bytes arrived.
 *
 * The framing is settled last, from notes that were taken field by field (head_noted[]), because it
 * depends on several fields and on the version. Everything on which two recipients are known to
 * disagree is refused rather than repaired: obs-fold, white space before a colon, doubled Host, odd
 * Transfer-Encoding, lists of lengths that differ.
 *
 * A trailer section is a head without a first line, which may be empty and in which no field is
 * noted: by then the framing is long settled.
 *
 * Limits: LIMIT_HEAD, LIMIT_FIELDS, FIELDS_CONNECTION_MAX, H1_BODY_TRAILER_MAX. Not here: which
 * methods, hosts and paths are wanted; which fields may stand in trailers.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "http/authority.h"
#include "http/fields.h"
#include "http/h1_body.h"
#include "http/h1_head.h"
#include "http/target.h"
#include "model/msg.h"

enum { HEAD_LENGTH_DIGITS = 19 }; /* the longest run of digits that always fits 64 bits */

/* What is read and what has been noted on the way. */
struct head {
	const char *why;
	unsigned hosts, codings, options, expects;
	bool has_length, close, keep_alive, continues;
	bool trailers; /* nothing is noted: here no field says anything about the message */
	struct slice coding; /* the value of Transfer-Encoding with the white space around it, HTAB
				included */
	struct slice length; /* the digits of Content-Length */
	struct msg m; /* last: its fields are not cleared */
};

static int head_bad(struct head *h, const char *why)
{
	h->why = why;
	return -EBADMSG;
}

static int head_over(struct head *h, const char *why)
{
	h->why = why;
	return -EMSGSIZE;
}

/* ---- the scan ---- */

/* What is scanned: where it must have ended, and whether an empty line may be all of it. */
struct head_part {
	size_t max;
	bool may_be_empty;
	const char *too_long;
};

static const struct head_part head_whole = {LIMIT_HEAD, false, "the head is too long"};
static const struct head_part head_trailers = {
	H1_BODY_TRAILER_MAX, true, "the trailer section is too long"};

/* 1 and the length (up to and with the empty line), 0, or a failure. */
static int head_scan(struct slice in, const struct head_part *part, size_t *scan, size_t *ret_n,
	const char **why)
{
	struct slice s = slice_first(in, part->max);
	size_t i = *scan;

	for (; i < s.n; i++) {
		uint8_t c = s.p[i];

		if (fields_vchar(c))
			continue;
		if (c == '\r') {
			if (i + 1 == s.n)
				break; /* look at it again together with what follows */
			if (s.p[i + 1] != '\n') {
				*why = "a CR without LF in the head";
				return -EBADMSG;
			}
			i++;
			if (i >= 3 ? s.p[i - 2] == '\n' : i == 1 && part->may_be_empty) {
				*ret_n = i + 1;
				return 1;
			}
		} else {
			*why = c == '\n' ? "a LF without CR in the head"
					 : "a control byte in the head";
			return -EBADMSG;
		}
	}
	*scan = i;
	if (s.n == part->max) {
		*why = part->too_long;
		return -EMSGSIZE;
	}
	return 0;
}

/* Takes a line off the front, without its CRLF. The scan has seen to it that there is one. */
static struct slice head_line(struct slice *rest)
{
	struct slice line = slice_first(*rest, slice_find(*rest, '\r'));

	*rest = slice_skip(*rest, line.n + 2);
	return line;
}

/* "HTTP/1.0" or "HTTP/1.1", nothing else, in capitals. */
static bool head_version(struct slice s, uint8_t *minor)
{
	if (s.n != 8 || !slice_eq(slice_first(s, 7), SLICE("HTTP/1.")) ||
		(s.p[7] != '0' && s.p[7] != '1'))
		return false;
	*minor = (uint8_t)(s.p[7] - '0');
	return true;
}

/* ---- notes: the fields that say something about the message itself ---- */

enum { HEAD_KEEP = 0, HEAD_DROP = 1 }; /* of the field, from a note */

static int head_note_host(struct head *h, struct slice value, struct slice raw)
{
	struct authority a;

	(void)raw;
	if (h->m.status)
		return HEAD_KEEP; /* means nothing in a response */
	if (h->hosts++)
		return head_bad(h, "more than one Host");
	if (authority_parse(value, &a) < 0)
		return head_bad(h, "Host is not a host with an optional port");
	return HEAD_KEEP;
}

static int head_note_coding(struct head *h, struct slice value, struct slice raw)
{
	(void)value;
	h->codings++;
	h->coding = raw;
	return HEAD_KEEP;
}

/*
 * Every member of every Content-Length must be the same digits; they become one field with one
 * member.
 */
static int head_note_length(struct head *h, struct slice value, struct slice raw)
{
	struct slice member;
	bool again = h->has_length;

	(void)raw;
	do {
		size_t comma = slice_find(value, ',');

		member = slice_trim(slice_first(value, comma));
		if (member.n == 0)
			return head_bad(h, "Content-Length is not a number");
		for (size_t i = 0; i < member.n; i++)
			if (member.p[i] < '0' || member.p[i] > '9')
				return head_bad(h, "Content-Length is not a number");
		if (member.n > HEAD_LENGTH_DIGITS)
			return head_bad(h, "Content-Length is too large");
		if (h->has_length && !slice_eq(member, h->length))
			return head_bad(h, "Content-Length values that differ");
		h->has_length = true;
		h->length = member;
		if (comma == value.n)
			break;
		value = slice_skip(value, comma + 1);
	} while (true);
	if (again)
		return HEAD_DROP;
	h->m.fields[h->m.nfields].value = h->length;
	return HEAD_KEEP;
}

static int head_note_connection(struct head *h, struct slice value, struct slice raw)
{
	struct slice option;

	(void)raw;
	while (fields_member(&value, &option)) {
		if (++h->options > FIELDS_CONNECTION_MAX)
			return head_over(h, "too many connection options");
		if (slice_ieq(option, SLICE("close")))
			h->close = true;
		else if (slice_ieq(option, SLICE("keep-alive")))
			h->keep_alive = true;
	}
	return HEAD_KEEP;
}

static int head_note_expect(struct head *h, struct slice value, struct slice raw)
{
	(void)raw;
	h->expects++;
	h->continues = slice_ieq(value, SLICE("100-continue"));
	return HEAD_KEEP;
}

static const struct {
	const char *name;
	int (*note)(struct head *h, struct slice value, struct slice raw);
} head_noted[] = {
	{"connection", head_note_connection},
	{"content-length", head_note_length},
	{"expect", head_note_expect},
	{"host", head_note_host},
	{"transfer-encoding", head_note_coding},
};

/* ---- lines ---- */

static int head_field(struct head *h, struct slice line)
{
	size_t colon = slice_find(line, ':');
	struct slice raw = slice_skip(line, colon + 1);
	struct field f = {slice_first(line, colon), slice_trim(raw)};
	int r = HEAD_KEEP;

	if (line.p[0] == ' ' || line.p[0] == '\t')
		return head_bad(h, "a folded field line");
	if (colon == line.n)
		return head_bad(h, "a field line without a colon");
	if (f.name.n && (line.p[colon - 1] == ' ' || line.p[colon - 1] == '\t'))
		return head_bad(h, "white space between a field name and its colon");
	if (!fields_token(f.name))
		return head_bad(h, "a field name that is not a token");
	if (h->m.nfields == LIMIT_FIELDS)
		return head_over(h, "too many fields");
	h->m.fields[h->m.nfields] = f;
	for (size_t i = 0; !h->trailers && i < ARRAY_SIZE(head_noted); i++)
		if (slice_ieq(f.name, slice_str(head_noted[i].name)))
			r = head_noted[i].note(h, f.value, raw);
	if (r == HEAD_KEEP)
		h->m.nfields++;
	return r < 0 ? r : 0;
}

static int head_fields(struct head *h, struct slice rest)
{
	for (;;) {
		struct slice line = head_line(&rest);
		int r;

		if (line.n == 0)
			return 0;
		r = head_field(h, line);
		if (r < 0)
			return r;
	}
}

/* Takes all fields of that name out of the message. */
static void head_forget(struct msg *m, struct slice name)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < m->nfields; i++)
		if (!slice_ieq(m->fields[i].name, name))
			m->fields[kept++] = m->fields[i];
	m->nfields = (uint16_t)kept;
}

static uint64_t head_number(struct slice digits)
{
	uint64_t n = 0;

	for (size_t i = 0; i < digits.n; i++)
		n = n * 10 + (uint64_t)(digits.p[i] - '0');
	return n;
}

/*
 * The one way to write it that every recipient reads alike. A HTAB before or behind the word is
 * within the grammar, yet refused: some recipients do not trim it and then see no coding at all.
 */
static int head_coding(struct head *h)
{
	struct slice word = h->coding;

	while (word.n && word.p[0] == ' ')
		word = slice_skip(word, 1);
	while (word.n && word.p[word.n - 1] == ' ')
		word.n--;
	if (h->codings > 1)
		return head_bad(h, "more than one Transfer-Encoding");
	if (h->m.minor == 0)
		return head_bad(h, "Transfer-Encoding in HTTP/1.0");
	if (!slice_ieq(word, SLICE("chunked")))
		return head_bad(h, "Transfer-Encoding is not exactly chunked");
	h->m.framing = FRAMING_CHUNKED;
	return 0;
}

static void head_length(struct head *h)
{
	h->m.framing = FRAMING_LENGTH;
	h->m.length = head_number(h->length);
}

/* ---- requests ---- */

static int head_request_line(struct head *h, struct slice line)
{
	size_t first = slice_find(line, ' '), second;
	struct slice rest = slice_skip(line, first + 1);
	struct target t;

	second = slice_find(rest, ' ');
	h->m.method = slice_first(line, first);
	h->m.target = slice_first(rest, second);
	if (line.n == 0)
		return head_bad(h, "no request line");
	if (first == line.n || second == rest.n)
		return head_bad(h, "the request line has not three parts");
	if (!fields_token(h->m.method))
		return head_bad(h, "the method is not a token");
	if (!head_version(slice_skip(rest, second + 1), &h->m.minor))
		return head_bad(h, "the version is not HTTP/1.1 or HTTP/1.0");
	if (target_parse(h->m.target, h->m.method, &t) < 0)
		return head_bad(h, "the request target is malformed");
	return 0;
}

static int head_request_framing(struct head *h)
{
	h->m.keep_alive = !h->close && (h->m.minor == 1 || h->keep_alive);
	h->m.expect_continue = h->m.minor == 1 && h->expects == 1 && h->continues;
	if (h->hosts == 0 && h->m.minor == 1)
		return head_bad(h, "no Host");
	if (h->codings && h->has_length)
		return head_bad(h, "both Content-Length and Transfer-Encoding");
	if (h->codings)
		return head_coding(h);
	if (h->has_length)
		head_length(h);
	return 0;
}

static int head_request(struct head *h, struct slice head)
{
	int r = head_request_line(h, head_line(&head));

	if (r == 0)
		r = head_fields(h, head);
	return r < 0 ? r : head_request_framing(h);
}

/* ---- responses ---- */

static int head_status_line(struct head *h, struct slice line)
{
	struct slice version = slice_first(line, slice_find(line, ' ')), rest;

	rest = slice_skip(line, version.n + 1);
	if (!head_version(version, &h->m.minor))
		return head_bad(h, "the version is not HTTP/1.1 or HTTP/1.0");
	/* the SP before an empty reason is often left out */
	if (rest.n < 3 || (rest.n > 3 && rest.p[3] != ' '))
		return head_bad(h, "the status is not a number of three digits");
	for (int i = 0; i < 3; i++)
		if (rest.p[i] < (i ? '0' : '1') || rest.p[i] > '9')
			return head_bad(h, "the status is not a number of three digits");
	h->m.status = (uint16_t)head_number(slice_first(rest, 3));
	h->m.reason = slice_skip(rest, 4);
	return 0;
}

/* RFC 9112 section 6.3, in its order. */
static int head_response_framing(struct head *h, bool to_head)
{
	static const struct slice length = {(const uint8_t *)"content-length", 14};
	struct msg *m = &h->m;
	bool never = m->status < 200 || m->status == 204; /* has no body, whatever it says */

	if (h->codings) {
		int r = head_coding(h);

		if (r < 0)
			return r;
		m->doubtful = h->has_length || never;
		if (h->has_length)
			head_forget(m, length);
	} else if (h->has_length) {
		head_length(h);
		/*
		 * RFC 9110 section 8.6 forbids it there; if it is not 0 its body may follow after
		 * all
		 */
		m->doubtful = never && m->length;
		if (never)
			head_forget(m, length);
	} else {
		m->framing = FRAMING_CLOSE;
	}
	if (never || m->status == 304 || to_head) {
		m->framing = FRAMING_NONE;
		m->length = 0;
	}
	m->keep_alive = !h->close && (m->minor == 1 || h->keep_alive) && !m->doubtful &&
			m->framing != FRAMING_CLOSE;
	return 0;
}

static int head_response(struct head *h, struct slice head, bool to_head)
{
	int r = head_status_line(h, head_line(&head));

	if (r == 0)
		r = head_fields(h, head);
	return r < 0 ? r : head_response_framing(h, to_head);
}

/* ---- entry ---- */

static void head_init(struct head *h)
{
	memset(h, 0, offsetof(struct head, m.fields));
}

/* Copies the fields that there are, not the room for all. */
static void head_give(const struct head *h, struct msg *ret)
{
	memcpy(ret, &h->m, offsetof(struct msg, fields) + h->m.nfields * sizeof(struct field));
}

static int head_answer(const struct head *h, int r, size_t n, size_t *scan, struct msg *ret,
	size_t *ret_used, const char **ret_why)
{
	if (r < 0) {
		*ret_why = h->why;
		return r;
	}
	head_give(h, ret);
	*ret_used = n;
	*scan = 0;
	return 1;
}

int h1_request_parse(
	struct slice in, size_t *scan, struct msg *ret, size_t *ret_used, const char **ret_why)
{
	struct slice empty = SLICE("\r\n");
	struct head h;
	size_t n;
	int r = head_scan(in, &head_whole, scan, &n, ret_why);

	if (r <= 0)
		return r;
	head_init(&h);
	in = slice_first(in, n);
	if (slice_eq(slice_first(in, empty.n), empty))
		in = slice_skip(in, empty.n); /* RFC 9112 section 2.2; a second one is a fault */
	return head_answer(&h, head_request(&h, in), n, scan, ret, ret_used, ret_why);
}

int h1_response_parse(struct slice in, size_t *scan, bool to_head, struct msg *ret,
	size_t *ret_used, const char **ret_why)
{
	struct head h;
	size_t n;
	int r = head_scan(in, &head_whole, scan, &n, ret_why);

	if (r <= 0)
		return r;
	head_init(&h);
	r = head_response(&h, slice_first(in, n), to_head);
	return head_answer(&h, r, n, scan, ret, ret_used, ret_why);
}

int h1_trailers_parse(
	struct slice in, size_t *scan, struct msg *ret, size_t *ret_used, const char **ret_why)
{
	struct head h;
	size_t n;
	int r = head_scan(in, &head_trailers, scan, &n, ret_why);

	if (r <= 0)
		return r;
	head_init(&h);
	h.trailers = true;
	return head_answer(
		&h, head_fields(&h, slice_first(in, n)), n, scan, ret, ret_used, ret_why);
}
