/* SPDX-License-Identifier: Apache-2.0 */
/* battery.h – what the battery's files share: attempts (battery.c) and what is left to look at
 * (inspect.c). */
#ifndef SALLYPORT_TESTS_BPF_BATTERY_H
#define SALLYPORT_TESTS_BPF_BATTERY_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
