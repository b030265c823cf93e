/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.h – what can be asked over the control socket, and the shape of the answers.
 *
 *   GET /v1/status           GET /v1/sandboxes           GET /v1/sandboxes/{id}
 *   PUT /v1/prepared/{id}
 *
 * The daemon's state comes through struct control_source, filled by main; the names of the JSON
 * members are only here.
 */
#ifndef SALLYPORT_CONTROL_COMMANDS_H
#define SALLYPORT_CONTROL_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "control/socket.h"

struct control_status {
	const char *version;
	pid_t pid;
	unsigned workers;
	unsigned sandboxes;
	uint64_t uptime_ms;
	const char
		*outage; /* "refuse", "wait": what becomes of connections while no daemon serves */
	bool sanitizer; /* a SAN=1 build: stays dumpable */
	uint64_t audit_written, audit_lost;
};

struct control_credential {
	const char *name;
	const char *state; /* "available", "unavailable" */
	const char *cause; /* why it is not available; NULL when it is */
	const char *env; /* the variable that holds the placeholder; NULL if none */
};

struct control_sandbox {
	const char *id;
	const char *policy; /* its name: */
	const char *mode; /* "enforce", "observe" */
	const char *network; /* "sealed", "uplink" */
	const char *lane; /* "bpf", "nft" */
	uint8_t digest[32]; /* SHA-256 of the policy document */
	uint64_t connections, open, requests, denied, swaps, misdirected, refusals;
	uint64_t tunnels, tunnels_open;
	const struct control_credential *credentials; /* never a value, never a placeholder */
	unsigned ncredentials;
	bool is_degraded;
	/* Tells each feature that does not work in it by one control_degraded_write(). */
	void (*degraded)(void *arg, struct json *j);
	void *arg;
};

struct control_source {
	void *arg;
	void (*status)(void *arg, struct control_status *ret);
	/* Tells each feature that does not work here by one control_degraded_write(). */
	void (*degraded)(void *arg, struct json *j);
	/*
	 * Tells the sandbox of that id, or every sandbox when id is empty, by one
	 * control_sandbox_write() each, and returns how many.
	 */
	unsigned (*sandboxes)(void *arg, struct slice id, struct json *j);
	/*
	 * Makes handout and placeholders of a sandbox that will be attached under that id. 0, -ENOENT: it is no id;
	 * -EEXIST: it is attached; -EBUSY: too many; -EINVAL: cannot be made.
	 */
	int (*prepare)(void *arg, struct slice id);
};

/* The table for control_setup.routes; its source is a struct control_source. */
extern const struct control_route control_routes[];
extern const unsigned control_nroutes;

void control_degraded_write(
	struct json *j, const char *feature, const char *reason, const char *remedy);
void control_sandbox_write(struct json *j, const struct control_sandbox *s);

#endif
