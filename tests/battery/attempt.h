/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attempt.h – a named way out of a sandbox, and what one of them has at hand.
 *
 * Each runs in a process of its own (crew.c), so it may change that process as it likes and ends it
 * with its report: needs() for the steps that set the scene (a failure: this kernel or these
 * capabilities do not have it), tries() for the step that a guard may refuse, sent() at the end.
 * None of them says whether anything arrived: that is the judge's to say (judge.py), who knows an
 * attempt by its port, its addresses and its token.
 */
#ifndef SALLYPORT_ATTEMPT_H
#define SALLYPORT_ATTEMPT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

enum {
	ATTEMPT_TOKEN = 48,
	ATTEMPT_STEP = 48,
};

/* What an attempt is, beyond its function. */
enum attempt_flag {
	ATTEMPT_CONTROL = 1, /* must go on working under protection */
	ATTEMPT_STRANGER = 2, /* by a process in the netns that is not in the sandbox's cgroup */
	ATTEMPT_SERIAL = 4, /* changes the namespace for the others: alone, after them */
	ATTEMPT_INSIDE = 8, /* wants a sandbox: not part of the baseline */
	ATTEMPT_CALLED_TCP =
		16, /* the judge calls the sandbox at the attempt's port, from that port */
	ATTEMPT_CALLED_UDP = 32,
	ATTEMPT_CALLED_TCP6 = 64,
};

enum attempt_said {
	SAID_NOTHING, /* killed at its deadline */
	SAID_SENT,
	SAID_REFUSED,
	SAID_UNSUPPORTED,
	SAID_EXPOSED, /* holds what no netns confines; using it would leave the machine */
	SAID_WORKS, /* a control */
	SAID_BROKEN, /* a control that does not work, or a fault of the battery */
	SAID_COUNT,
};

/* What all attempts of a crew share. */
struct scene {
	const char *device; /* the link towards the canary, where there is one */
	struct in_addr own4, peer4; /* its addresses, this end's and the canary's */
	struct in6_addr own6, peer6;
	uint8_t mac[6], peer_mac[6];
	uint16_t base; /* port of attempt 0 */
	int patience; /* what every wait is multiplied by: slow machines */
	const char *nonce;
	const char *closed, *open; /* folders of the outsider: under no allowed prefix, under one */
	const char *scratch; /* a folder for what attempts make, writable by all, allowed */
	const char *outer; /* a netns outside, as a path */
	pid_t outsider; /* a process outside, and one of its sockets */
	const char *cgroups, *cgroup; /* the cgroup2 mount; the sandbox's own directory in it */
	const char *state, *id; /* of the helper; empty in the baseline */
};

struct attempt;

struct arena {
	const struct scene *scene;
	const struct attempt *attempt;
	long arg;
	int fd; /* of prepare(), or -1 */
	uint16_t port;
	struct in_addr v4;
	struct in6_addr v6;
	char token[ATTEMPT_TOKEN];
};

struct attempt {
	const char *name;
	const char *kind;
	void (*run)(const struct arena *a);
	long arg;
	unsigned int flags;
	uint16_t port; /* 0: one of its own */
	int (*prepare)(const struct arena *a); /* before the attach; a descriptor or -errno */
};

struct attempt_list {
	const struct attempt *rows;
	size_t n;
};

/* The lists, one a file; crew.c joins them. */
extern const struct attempt_list forms_list, methods_list, fastopen_list, udp_list, uring_list,
	old_list, cgroups_list, options_list, raw_list, packet_list, families_list, foreign_list,
	passing_list, process_list, links_list, inbound_list, controls_list;

/* ---- the report: none of these returns unless it says so ---- */

struct report {
	int said, error;
	char step[ATTEMPT_STEP];
};

void report_to(struct report *slot); /* crew.c, in the child */
void report(enum attempt_said said, int error, const char *step) __attribute__((noreturn));
int needs(long r, const char *step); /* returns r when it is not negative */
int tries(long r, const char *step); /* the same */
void needs_code(int error, const char *step); /* error: 0 or an errno */
void sent(void) __attribute__((noreturn));

/* ---- addresses ---- */

enum form {
	FORM_V4,
	FORM_V6,
	FORM_MAPPED,
	FORM_NAT64,
	FORM_NAT64_LOCAL,
	FORM_6TO4,
	FORM_TEREDO,
	FORM_ISATAP,
	FORM_ISATAP_GLOBAL,
	FORM_COMPATIBLE,
	FORM_TRANSLATED
};

/* An address inside a form: IPv4 as it is or embedded. */
struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	};
	socklen_t n;
};

struct address address4(struct in_addr ip, uint16_t port);
struct address address6(struct in6_addr ip, uint16_t port);
struct address address_text(const char *text, uint16_t port); /* with %device: scoped */
struct address address_form(enum form form, struct in_addr ip, uint16_t port);
struct address here4(const struct arena *a); /* the attempt's own target */
struct address here6(const struct arena *a);
struct in6_addr mapped6(struct in_addr ip);

/* ---- what most of them do ---- */

/* socket(); the family and the type always exist */
int tcp(int family);
int udp(int family);
/* connect, token, sent() */
void dial(int sock, const struct address *to, const struct arena *a) __attribute__((noreturn));
/* the token to that address by sendto(), sent() */
void throw(int sock, const struct address *to, const struct arena *a) __attribute__((noreturn));
/* the token on a connected socket, sent() */
void push(int sock, const struct arena *a) __attribute__((noreturn));
/* the token in a message with that control data */
void throw_with(int sock, const struct address *to, const void *control, size_t n,
	const struct arena *a) __attribute__((noreturn));
void option(int sock, int level, int name, const void *value, socklen_t n, const char *step);
void option_int(int sock, int level, int name, int value, const char *step);
/* the index of the link; ends the attempt where there is none */
int device_index(const struct arena *a);
/* a child that dies with its parent */
pid_t fork_tied(void);
/* waits for the child, whose report is this process's too; ends this process */
void child_reports(pid_t child) __attribute__((noreturn));
/* waits for the child */
void child_ends(pid_t child);
/* writes a text to a file; 0 or -errno */
int write_text(const char *path, const char *text);

#define ATTEMPTS(rows)                                                                             \
	{                                                                                          \
		rows, sizeof(rows) / sizeof((rows)[0])                                             \
	}

#endif
