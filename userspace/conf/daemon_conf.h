/* SPDX-License-Identifier: Apache-2.0 */
/* daemon_conf.h – the daemon's configuration file (sallyportd(8)): what is the same for all
 * sandboxes. */
#ifndef SALLYPORT_CONF_DAEMON_CONF_H
#define SALLYPORT_CONF_DAEMON_CONF_H

#include "base/fault.h"
#include "base/slice.h"
#include "model/addr.h"

struct conf_table;

enum { DAEMON_CONF_RESOLVERS = 8 };

/* One entry of credentials: a document and the sandboxes that hold its placeholders. */
struct daemon_credentials {
	const char **sandboxes; /* exact ids, or a prefix and a trailing `*` */
	unsigned nsandboxes;
	const char *file; /* or NULL, then */
	int descriptor; /* an open descriptor that the daemon inherited; -1 with file */
	unsigned line; /* of the entry, for messages */
};

struct daemon_conf {
	const char *state; /* directory, default /run/sallyport */
	const char *user; /* whose uid the daemon takes, default sallyport */
	uint64_t workers; /* 0 = one for each core */
	struct addr resolvers[DAEMON_CONF_RESOLVERS]; /* with ports */
	unsigned nresolvers; /* 0 = ask daemon_conf_system_resolvers() */
	uint32_t synthetic_first, synthetic_last; /* the range that names get synthetic addresses
						     from, in host byte order; default
						     198.18.0.0/15 */
	const char *ca; /* file of CA certificates that all upstreams may use besides the system's,
			   or NULL */
	struct daemon_credentials *credentials;
	unsigned ncredentials;
	const char *audit_file; /* NULL = STATE/audit.jsonl */
	uint64_t drain; /* seconds for what is under way when another daemon takes over */
	uint64_t audit_size; /* bytes before the file is rotated */
};

/* 0, -EBADMSG with the fault set, -ENOMEM. Free with daemon_conf_free(). */
int daemon_conf_load(
	struct slice text, const char *file, struct fault *fault, struct daemon_conf **ret);
void daemon_conf_free(struct daemon_conf *c);

/* Whether the sandbox is one that the entry names. */
bool daemon_conf_covers(const struct daemon_credentials *entry, const char *sandbox);

/*
 * The nameserver lines of a resolv.conf text (resolv.conf(5)), at most max; those with a zone are
 * left out. Returns how many.
 */
unsigned daemon_conf_system_resolvers(struct slice text, struct addr *ret, unsigned max);

/* The key tables, for the manual's check. */
const struct conf_table *const *daemon_conf_tables(unsigned *ret_n);

#endif
