/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.h – one thing that happened, as a record of fixed size without pointers: a worker fills it
 * and hands it to the control thread, which writes it as one line of JSON. Never holds the value of
 * a credential: there is no field for one.
 *
 * A zeroed event is valid. Fill kind, time (clock_wall_text()), sandbox and what the kind has;
 * texts that a peer controls go in by audit_text() and audit_path(), which cut and mask.
 */
#ifndef SALLYPORT_AUDIT_EVENT_H
#define SALLYPORT_AUDIT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "model/addr.h"
#include "model/category.h"

enum {
	AUDIT_VERSION = 1, /* "v" of every line */
	AUDIT_RULE = 64, /* texts, bytes with NUL */
	AUDIT_METHOD = 32,
	AUDIT_TARGET = LIMIT_NAME + 9, /* "[…]:65535" */
	AUDIT_PATH = 1024,
	AUDIT_NAME = 64,
	AUDIT_NOTE = 128,
	AUDIT_USES = 8,
	AUDIT_SOCKET = 32,
	AUDIT_FILE = 256, /* the path of an executable or a cgroup and NUL */
	AUDIT_LINE = 32768, /* the longest line that an event can become */
};

/* enum, "kind" */
#define AUDIT_KINDS(X)                                                                             \
	X(CONNECTION, "connection")                                                                \
	X(REQUEST, "request")                                                                      \
	X(REFUSAL, "refusal")                                                                      \
	X(NOTICE, "notice")                                                                        \
	X(LOSSES, "losses")

enum audit_kind {
#define X(name, wire) AUDIT_##name,
	AUDIT_KINDS(X)
#undef X
		AUDIT_KIND_COUNT
};

/* enum (a bit), element of "protocols", from the lowest upwards */
#define AUDIT_PROTOCOLS(X)                                                                         \
	X(TCP, "tcp")                                                                              \
	X(UDP, "udp")                                                                              \
	X(UNIX, "unix")                                                                            \
	X(DNS, "dns")                                                                              \
	X(TLS, "tls")                                                                              \
	X(HTTP1, "http/1.1")                                                                       \
	X(HTTP2, "h2")

enum audit_protocol_index {
#define X(name, wire) AUDIT_PROTOCOL_INDEX_##name,
	AUDIT_PROTOCOLS(X)
#undef X
		AUDIT_PROTOCOL_COUNT
};
enum audit_protocol {
#define X(name, wire) AUDIT_PROTOCOL_##name = 1 << AUDIT_PROTOCOL_INDEX_##name,
	AUDIT_PROTOCOLS(X)
#undef X
};

/* TUNNEL and PASS: allowed, as raw bytes; by a rule, or since nothing names the host. */
enum audit_decision { AUDIT_ALLOW, AUDIT_DENY, AUDIT_TUNNEL, AUDIT_PASS, AUDIT_DECISION_COUNT };

/* Who did it, by the kernel's record. */
struct audit_client {
	bool attributed; /* false: written as "unattributed", the rest is ignored */
	uint32_t pid; /* of the thread */
	uint32_t tgid; /* of the process */
	uint32_t uid;
	uint64_t start_ns; /* of the process, since boot: with tgid it names one process */
	uint64_t cgroup;
	uint64_t exe_ino;
	uint32_t exe_dev; /* the kernel's form: major << 20 | minor */
	char comm[16]; /* need not end in NUL */
};

/*
 * Where those numbers are, looked up when the line is written: of the executable as the process saw it, of the cgroup
 * below the v2 root. Empty: not known.
 */
struct audit_paths {
	char exe[AUDIT_FILE], cgroup[AUDIT_FILE];
};

/* A credential that was put in. */
struct audit_use {
	char credential[AUDIT_NAME];
	char position[24];
	uint32_t count;
};

struct audit_event {
	enum audit_kind kind;
	char time[CLOCK_TEXT];
	char sandbox[LIMIT_SANDBOX_ID + 1];

	/* connection, request, refusal */
	struct audit_client client;
	struct addr
		asked; /* the address and port that the client asked for; all zero: not written */
	char target
		[AUDIT_TARGET]; /* host:port that the client named to what it took for a proxy; empty: not written */
	char host[LIMIT_NAME + 1]; /* the judged host; empty: not written */
	uint8_t protocols; /* enum audit_protocol, several */
	enum audit_decision decision;
	char rule[AUDIT_RULE]; /* empty: not written */
	enum category category; /* NONE: not written */

	/* connection, request */
	uint64_t bytes_up, bytes_down; /* of payload, as the client sees it */
	uint64_t duration_ms;
	/* request */
	char method[AUDIT_METHOD];
	char path[AUDIT_PATH]; /* by audit_path() */
	bool path_cut; /* it was longer */
	uint16_t status; /* told to the client; 0: none */
	uint8_t nuses;
	struct audit_use uses[AUDIT_USES];
	uint32_t misdirected; /* placeholders in a place that no binding allows */

	/* refusal */
	char socket[AUDIT_SOCKET]; /* what socket() asked for, when that was refused; `path` also
				      with a refused unix socket */
	int32_t error; /* the errno that the client got, negative or positive */
	uint64_t count; /* times since the last event of this destination; 0 is written as 1 */

	/* notice; `reason` also with a refusal and a denied connection or request: a constant, such
	 * as that of a TLS fault */
	char reason[AUDIT_NOTE];
	uint64_t lost; /* events that are missing before this line */

	/* losses: refusals of this sandbox that have no line, since it was attached; `lost` are
	 * those that the kernel's ring had no room for */
	uint64_t suppressed; /* … those beyond the budget */
};

/* Copies a text of a peer, cut to size - 1 bytes, and ends it with NUL. Bytes are escaped when
 * written. */
void audit_text(char *to, size_t size, struct slice text);

/* Sets path and path_cut: the target as the client wrote it, every value of its query replaced by
 * ***. */
void audit_path(struct audit_event *e, struct slice target);

/* Adds n uses of a credential; the same pair is counted together. Beyond AUDIT_USES the last one
 * collects the rest. */
void audit_use(struct audit_event *e, const char *credential, const char *position, uint32_t n);

/*
 * Appends the line, with its newline. paths may be NULL: none is known. 0 or -errno; nothing stays appended on
 * failure.
 */
int audit_event_json(const struct audit_event *e, const struct audit_paths *paths, struct buf *out);

#endif
