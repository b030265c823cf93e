/* SPDX-License-Identifier: Apache-2.0 */
/* finding.c – see finding.h. */
#include <stdarg.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "ctl/finding.h"

static const char *const finding_words[] = {
	[FINDING_OK] = "ok",
	[FINDING_MISSING] = "missing",
	[FINDING_WITHOUT] = "without",
	[FINDING_UNTRIED] = "untried",
	[FINDING_DANGER] = "danger",
};
_Static_assert(ARRAY_SIZE(finding_words) == FINDING_STATES, "a word for each state");

const char *finding_word(enum finding_state state)
{
	return finding_words[state];
}

void finding_print(const struct finding *f, FILE *to)
{
	(void)fprintf(to, "%-8s %s: for %s", finding_words[f->state], f->name, f->use);
	if (f->symptom[0])
		(void)fprintf(to, ": %s", f->symptom);
	if (f->state != FINDING_OK && f->option)
		(void)fprintf(to, "; it needs %s", f->option);
	if (f->state != FINDING_OK && f->remedy)
		(void)fprintf(to, "; remedy: %s", f->remedy);
	(void)fputc('\n', to);
}

void finding_json(const struct finding *f, struct json *to)
{
	json_open(to, NULL, '{');
	json_text(to, "name", f->name);
	json_text(to, "state", finding_words[f->state]);
	json_bool(to, "required", f->required);
	json_text(to, "use", f->use);
	json_text(to, "symptom", f->symptom[0] ? f->symptom : NULL);
	json_text(to, "option", f->state == FINDING_OK ? NULL : f->option);
	json_text(to, "remedy", f->state == FINDING_OK ? NULL : f->remedy);
	json_close(to, '}');
}

void finding_set(struct finding *f, enum finding_state state, const char *format, ...)
{
	va_list ap;

	f->state = state;
	va_start(ap, format);
	(void)vsnprintf(f->symptom, sizeof(f->symptom), format, ap);
	va_end(ap);
}
