/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h1_reading.c – how the parsers of http/ read whatever bytes: what test_h1_differences.py compares with another's
 * reading. Standard input is a row of "KIND LENGTH\n" and so many bytes; KIND is q for a connection's requests, r for
 * its replies to one GET. For each comes, every text in hexadecimal:
 *
 *	request METHOD TARGET MINOR		or	reply STATUS REASON MINOR
 *	field NAME VALUE
 *	body BYTES				and then	trailer NAME VALUE
 *	whole
 *	…
 *	end clean | more | refused | closed | tunnel
 */
#include <stdio.h>
#include <stdlib.h>

#include "http/h1_body.h"
#include "http/h1_head.h"
#include "model/msg.h"

struct reading {
	struct slice in; /* what is left */
	bool replies;
};

static void say_hex(struct slice s)
{
	putchar(' ');
	for (size_t i = 0; i < s.n; i++)
		printf("%02x", s.p[i]);
	if (s.n == 0)
		putchar('-');
}

static void say_fields(const char *what, const struct msg *m)
{
	for (unsigned i = 0; i < m->nfields; i++) {
		fputs(what, stdout);
		say_hex(m->fields[i].name);
		say_hex(m->fields[i].value);
		putchar('\n');
	}
}

static void say_head(const struct reading *r, const struct msg *m)
{
	if (r->replies) {
		printf("reply %u", m->status);
		say_hex(m->reason);
	} else {
		printf("request");
		say_hex(m->method);
		say_hex(m->target);
	}
	printf(" %u\n", m->minor);
	say_fields("field", m);
}

/* NULL: the body and what belongs to it are read; otherwise the word for the end. */
static const char *read_body(struct reading *r, const struct msg *m)
{
	struct h1_body b;
	struct slice data;
	struct msg trailers;
	size_t used, scan = 0;
	const char *why;
	int e;

	h1_body_init(&b, m->framing, m->length);
	fputs("body ", stdout);
	do {
		e = h1_body_next(&b, r->in, &used, &data);
		if (e < 0) {
			puts("");
			return "refused";
		}
		for (size_t i = 0; i < data.n; i++)
			printf("%02x", data.p[i]);
		r->in = slice_skip(r->in, used);
	} while (e == 0 && r->in.n);
	puts("");
	if (e == 0)
		return h1_body_eof(&b) < 0 ? "more" : NULL;
	if (e == 1)
		return NULL;
	e = h1_trailers_parse(r->in, &scan, &trailers, &used, &why);
	if (e != 1)
		return e < 0 ? "refused" : "more";
	r->in = slice_skip(r->in, used);
	say_fields("trailer", &trailers);
	return NULL;
}

static const char *read_message(struct reading *r)
{
	const char *end, *why;
	size_t scan = 0, used;
	struct msg m;
	int e = r->replies ? h1_response_parse(r->in, &scan, false, &m, &used, &why)
			   : h1_request_parse(r->in, &scan, &m, &used, &why);

	if (e != 1)
		return e < 0 ? "refused" : "more";
	r->in = slice_skip(r->in, used);
	say_head(r, &m);
	if (slice_eq(m.method, SLICE("CONNECT")) || m.status == 101)
		return "tunnel";
	end = read_body(r, &m);
	if (end)
		return end;
	puts("whole");
	if (r->replies)
		return m.status < 200 ? NULL : "clean"; /* what follows was not asked for */
	return m.keep_alive ? NULL : "closed";
}

static void read_all(struct reading *r)
{
	const char *end = NULL;

	while (!end && r->in.n)
		end = read_message(r);
	printf("end %s\n", end ? end : r->replies ? "more" : "clean");
}

int main(void)
{
	size_t n;
	char kind;

	while (scanf(" %c %zu", &kind, &n) == 2 && getchar() == '\n') {
		uint8_t *p = malloc(n + 1); /* exactly: nothing is read behind it */
		struct reading r = {.in = {p + 1, n}, .replies = kind == 'r'};

		if (!p || fread(p + 1, 1, n, stdin) != n)
			return 1;
		read_all(&r);
		free(p);
	}
	return 0;
}
