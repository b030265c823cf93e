/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h – one line a message on standard error: "<priority>who: text" for a service, "who: text" for a person. Control bytes are escaped. Only the layer
 * that gives up logs; lower layers return -errno. Never pass a secret: there is no way to print one.
 */
#ifndef SALLYPORT_LOG_H
#define SALLYPORT_LOG_H

enum log_level { LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARN = 4, LOG_LEVEL_INFO = 6, LOG_LEVEL_DEBUG = 7 };

/* Names the program in every line and sets the least urgent level that is shown. Not copied. */
void log_open(const char *who, enum log_level least);

/* From here on without the priority (sd-daemon(3)), which is for a journal: for commands, and where a terminal reads. */
void log_plain(void);

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* Logs the text with ": strerror(-r)" and returns r, so that giving up is one statement. r is a negative errno. */
int log_errno(int r, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
