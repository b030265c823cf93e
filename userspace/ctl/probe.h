/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h – runs one of the probes, which are programs that try something and say what they saw. */
#ifndef SALLYPORT_CTL_PROBE_H
#define SALLYPORT_CTL_PROBE_H

#include <stddef.h>

enum probe_state {
	PROBE_OK,
	PROBE_MISSING,
	PROBE_SKIPPED, /* missing, and the product does without */
	PROBE_BROKEN /* it could not be run, or did not end */
};

/*
 * The directory of the probes, in n bytes: `probes` beside this program (a build), else
 * ../libexec/sallyport/probes (an installation). 0, or -errno.
 */
int probe_directory(char *ret, size_t n);

/*
 * Runs DIRECTORY/NAME in a session of its own and waits for it, 20 seconds at most; whatever it
 * started ends with it. Puts the symptom that it told into n bytes, or why it is broken.
 */
enum probe_state probe_run(const char *directory, const char *name, char *ret, size_t n);

#endif
