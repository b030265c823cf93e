/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.h – what a probe says and how it ends: "ok NAME" and 0, "missing NAME: symptom" and 1, or,
 * for what the product can do without, "skipped NAME: symptom" and 77. Included once by each probe,
 * which is one file and one behaviour.
 */
#ifndef SALLYPORT_PROBE_H
#define SALLYPORT_PROBE_H

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROBE_OK = 0, PROBE_MISSING = 1, PROBE_SKIPPED = 77 };

static const char *probe_name = "?";

static inline void probe_begin(const char *name)
{
	probe_name = name;
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
}

__attribute__((noreturn)) static inline void probe_ok(void)
{
	printf("ok %s\n", probe_name);
	exit(PROBE_OK);
}

__attribute__((noreturn, format(printf, 1, 2))) static inline void probe_missing(
	const char *format, ...)
{
	va_list ap;

	printf("missing %s: ", probe_name);
	va_start(ap, format);
	(void)vprintf(format, ap);
	va_end(ap);
	printf("\n");
	exit(PROBE_MISSING);
}

/* For what the product does without. */
__attribute__((noreturn, format(printf, 1, 2))) static inline void probe_skipped(
	const char *format, ...)
{
	va_list ap;

	printf("skipped %s: ", probe_name);
	va_start(ap, format);
	(void)vprintf(format, ap);
	va_end(ap);
	printf("\n");
	exit(PROBE_SKIPPED);
}

/* Ends the probe unless the condition holds; the errno is part of the symptom. */
#define probe_need(condition, what)                                                                \
	do {                                                                                       \
		if (!(condition))                                                                  \
			probe_missing("%s: %s", what, strerror(errno));                            \
	} while (0)

/* A network namespace of its own with lo up, whatever the caller's is like. Who may not make one stays. */
static inline void probe_enter_loopback(void)
{
	if (unshare(CLONE_NEWNET) == 0)
		probe_need(system("ip link set lo up") == 0, "ip link set lo up");
}

/* A network namespace of its own, with lo up and every address local (AnyIP) for IPv4. */
static inline void probe_enter_anyip(void)
{
	probe_need(unshare(CLONE_NEWNET) == 0, "unshare(CLONE_NEWNET)");
	probe_need(system("ip link set lo up && ip addr add 192.0.2.1/32 dev lo && "
			  "ip route add local default dev lo src 192.0.2.1 table local") == 0,
		"the AnyIP route (ip route add local default dev lo)");
}

#endif
