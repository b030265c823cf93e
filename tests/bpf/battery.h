/* SPDX-License-Identifier: Apache-2.0 */
/* battery.h – what the battery's files share: attempts (battery.c) and what is left to look at
 * (inspect.c). */
#ifndef SALLYPORT_TESTS_BPF_BATTERY_H
#define SALLYPORT_TESTS_BPF_BATTERY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "bpf/capture.h"
#include "netns-helper/programs.h"
#include "netns-helper/steer_program.h"
#include "tests/bpf/world.h"

struct battery {
	struct world w;
	struct programs *programs;
	struct programs_sandbox *sandbox;
	struct steer_program *steer;
	struct steer_netns *steered;
	struct client inside, outside, foreign;
	int verdicts, refusals, flows; /* the pinned maps */
	unsigned passed, failed;
};

/* One line of the result: "ok TEXT" or "not ok TEXT". */
void battery_report(struct battery *b, bool ok, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The counters of an account; all zero if there is none. */
struct capture_verdicts battery_counters(const struct battery *b, uint64_t account);
/* Waits for the next second of the kernel's budget of records, so that what follows has all of it.
 */
void battery_fresh_second(void);

/* A flood of refusals becomes a hundred events and a count. */
void battery_check_budget(struct battery *b);
/* Every pinned map reads as names and numbers in bpftool's dump. A connection must be open. */
void battery_check_readable(struct battery *b);
/* The programs' instruction counts, recorded and bounded. */
void battery_check_sizes(struct battery *b);

/* One connection of the client's that was accepted, as the flow map has it; false: there is none. */
bool battery_arrival(struct battery *b, struct capture_client *ret);
/* The next connection to the sandbox's own server, which must come soon; -1: none. */
int battery_accept_own(struct battery *b);
/* The specification of the battery's own sandbox. */
struct programs_spec battery_spec(const struct world *w);
struct attempt battery_to(enum client_op op, const char *address, uint16_t port);
/* Ends the battery if r is a failure. */
void battery_need(struct fault *f, int r, const char *what);

/* life.c: the stages of a sandbox, and what each leaves. */
void battery_attach(struct battery *b);
void battery_activate(struct battery *b);
void battery_check_openings(struct battery *b);
/* Enters the host's addresses that host_rows names; they stay until the sandbox goes. */
void battery_check_hosts(struct battery *b);
/* Inactive and active again: the drops, the counters. */
void battery_check_switch(struct battery *b);
/* Detaches; attaches as an uplink with other lists; detaches and closes. */
void battery_check_detached(struct battery *b);

/* classes.c: at the borders of every class both kernel programs say what the table says. Before any host's address. */
void battery_check_classes(struct battery *b);

/* kinds.c: sockets of other kinds, unix sockets, what leaves by a device. */
void battery_check_kinds(struct battery *b);
void battery_check_unix(struct battery *b);
/* … and with a list of the sandbox's own, which is what it was attached with. */
void battery_check_own_unix(struct battery *b);
#define BATTERY_CANARY WORLD_FILES "/canary.sock"
/* sealed: nothing leaves; otherwise the same packet does, which is the control. */
void battery_check_egress(struct battery *b, bool sealed);

/* names.c: who it was, by thread, fork and ring; the paths of executables and of the cgroup. */
void battery_check_names(struct battery *b);
/* The same program, run again to connect as told; returns its exit status. */
int battery_probe(char **argv);

#endif
