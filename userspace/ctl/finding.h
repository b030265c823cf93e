/* SPDX-License-Identifier: Apache-2.0 */
/* finding.h – the answer to one question about this machine: whether it holds, and if not, the
 * symptom, what is missing and what to do. */
#ifndef SALLYPORT_CTL_FINDING_H
#define SALLYPORT_CTL_FINDING_H

#include <stdbool.h>
#include <stdio.h>

struct json;

enum finding_state {
	FINDING_OK,
	FINDING_MISSING, /* and needed */
	FINDING_WITHOUT, /* the product does without */
	FINDING_UNTRIED, /* could not be tried */
	FINDING_DANGER, /* it works, and is a way around the product */
	FINDING_STATES
};

struct finding {
	const char *name;
	enum finding_state state;
	bool required; /* by what was asked for */
	const char *use; /* what it is for */
	const char *option; /* what would bring it; NULL = nothing to be named */
	const char *remedy; /* what to do; NULL = nothing */
	char symptom[256]; /* what was seen; empty when all is well */
};

/* "ok", "missing", "without", "untried", "danger". */
const char *finding_word(enum finding_state state);

/* One line. */
void finding_print(const struct finding *f, FILE *to);

/* One object of a list. */
void finding_json(const struct finding *f, struct json *to);

/* The finding with this state and these words, printf's, as its symptom. */
void finding_set(struct finding *f, enum finding_state state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
