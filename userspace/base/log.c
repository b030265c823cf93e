/* SPDX-License-Identifier: Apache-2.0 */
/* log.c – see log.h. One write(2) a line, so that lines of several threads do not mix. #syscalls: write */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

enum { LOG_LINE_MAX = 2048 };

static const char *log_who = "sallyport";
static enum log_level log_least = LOG_LEVEL_INFO;
static bool log_bare;

void log_open(const char *who, enum log_level least)
{
	log_who = who;
	log_least = least;
}

void log_plain(void)
{
	log_bare = true;
}

/* A peer's bytes may reach a message: nothing that a terminal or a log reader acts on gets through. */
static void log_escape(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

static void log_vline(enum log_level level, int error, const char *format, va_list ap)
{
	char text[LOG_LINE_MAX], line[LOG_LINE_MAX + 256], priority[16] = "";
	int n;

	if (level > log_least)
		return;
	if (vsnprintf(text, sizeof(text), format, ap) < 0)
		return;
	log_escape(text);
	if (!log_bare)
		(void)snprintf(priority, sizeof(priority), "<%d>", (int)level);
	if (error)
		n = snprintf(line, sizeof(line), "%s%s: %s: %s\n", priority, log_who, text,
			strerror(error));
	else
		n = snprintf(line, sizeof(line), "%s%s: %s\n", priority, log_who, text);
	if (n < 0)
		return;
	if ((size_t)n >= sizeof(line))
		n = sizeof(line) - 1;
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		return; /* where would we say so? */
}

void log_line(enum log_level level, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	log_vline(level, 0, format, ap);
	va_end(ap);
}

int log_errno(int r, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	log_vline(LOG_LEVEL_ERROR, -r, format, ap);
	va_end(ap);
	return r;
}
