/* SPDX-License-Identifier: Apache-2.0 */
/* test_audit.c – the audit file: whole lines, rotation, lost lines told, a disk that is full
 * half-way. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "audit/audit.h"
#include "audit/event.h"
#include "base/cleanup.h"

struct fixture {
	char folder[32], path[64];
	struct audit *audit;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	strcpy(f->folder, "/tmp/sallyport-audit-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	(void)snprintf(f->path, sizeof(f->path), "%s/audit.jsonl", f->folder);
	*state = f;
	return 0;
}

static void name(const struct fixture *f, unsigned n, char ret[80])
{
	(void)(n ? snprintf(ret, 80, "%s.%u", f->path, n) : snprintf(ret, 80, "%s", f->path));
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char path[80];

	audit_close(f->audit);
	for (unsigned i = 0; i <= AUDIT_KEPT + 1; i++) {
		name(f, i, path);
		(void)unlink(path); /* some are not there */
	}
	assert_int_equal(rmdir(f->folder), 0);
	free(f);
	return 0;
}

/* The file's bytes, NUL-ended; the caller's to free. Empty when there is none. */
static char *content(const struct fixture *f, unsigned n)
{
	char *text = calloc(1, 1 << 16), path[80];
	int fd;

	assert_non_null(text);
	name(f, n, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		assert_true(read(fd, text, (1 << 16) - 1) >= 0);
		(void)close(fd);
	}
	return text;
}

static void write_one(struct fixture *f, uint16_t status, int expect)
{
	struct audit_event e = {.kind = AUDIT_REQUEST, .status = status};

	assert_int_equal(audit_write(f->audit, &e), expect);
}

static void test_appends(void **state)
{
	struct fixture *f = *state;
	struct stat st;
	char *text;

	assert_int_equal(audit_open(f->path, 0, &f->audit), 0);
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 0777 & ~0640, 0);
	write_one(f, 201, 0);
	audit_close(f->audit);
	assert_int_equal(audit_open(f->path, 0, &f->audit), 0);
	write_one(f, 202, 0);
	text = content(f, 0);
	assert_non_null(strstr(text, "\"status\":201"));
	assert_non_null(strstr(text, "\"status\":202"));
	assert_int_equal(text[strlen(text) - 1], '\n');
	assert_int_equal(audit_written(f->audit), 1);
	free(text);
}

static void test_lost_is_told(void **state)
{
	struct fixture *f = *state;
	char *text, *lost;

	assert_int_equal(audit_open(f->path, 0, &f->audit), 0);
	audit_lose(f->audit, 5);
	write_one(f, 200, 0);
	write_one(f, 201, 0);
	text = content(f, 0);
	lost = strstr(text, "\"lost\":5}\n");
	assert_non_null(lost);
	assert_true(lost < strstr(text, "\"status\":200"));
	assert_null(strstr(lost + 1, "\"lost\"")); /* once */
	assert_int_equal(audit_lost(f->audit), 5);
	free(text);
}

static void test_rotates(void **state)
{
	struct fixture *f = *state;
	struct stat st;
	char path[80];

	assert_int_equal(audit_open(f->path, 600, &f->audit), 0);
	for (uint16_t i = 100; i < 140; i++)
		write_one(f, i, 0);
	assert_int_equal(audit_trouble(f->audit), 0);
	for (unsigned n = 0; n <= AUDIT_KEPT; n++) {
		char *text = content(f, n);

		assert_in_range(strlen(text), 1, 600);
		assert_int_equal(text[0], '{');
		assert_int_equal(text[strlen(text) - 1], '\n');
		/* the youngest line is in PATH, and every older file is older */
		assert_int_equal(strstr(text, "\"status\":139") != NULL, n == 0);
		free(text);
	}
	name(f, AUDIT_KEPT + 1, path);
	assert_int_equal(stat(path, &st), -1);
}

/* A directory that cannot be written: the file grows on, and the trouble is known. */
static void test_rotation_fails(void **state)
{
	struct fixture *f = *state;
	char path[80], *text;
	int fd;

	assert_int_equal(audit_open(f->path, 600, &f->audit), 0);
	/* a folder cannot be renamed over a file, by root neither */
	name(f, AUDIT_KEPT, path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
	name(f, AUDIT_KEPT - 1, path);
	assert_int_equal(mkdir(path, 0755), 0);
	for (uint16_t i = 100; i < 120; i++)
		write_one(f, i, 0);
	assert_true(audit_trouble(f->audit) < 0);
	text = content(f, 0);
	assert_non_null(strstr(text, "\"status\":100"));
	assert_non_null(strstr(text, "\"status\":119"));
	free(text);
	assert_int_equal(rmdir(path), 0);
}

/* The file may not grow: the line that does not fit leaves nothing, is counted, and is told when
 * there is room. */
static void test_full(void **state)
{
	struct fixture *f = *state;
	struct rlimit old, small;
	char *before, *after;

	assert_int_equal(audit_open(f->path, 0, &f->audit), 0);
	write_one(f, 200, 0);
	before = content(f, 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = strlen(before) + 20; /* some bytes of the next line */
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	write_one(f, 201, -ENOSPC);
	after = content(f, 0);
	assert_string_equal(before, after);
	assert_int_equal(audit_lost(f->audit), 1);
	assert_int_equal(audit_trouble(f->audit), -ENOSPC);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	(void)signal(SIGXFSZ, SIG_DFL);
	free(after);
	write_one(f, 202, 0);
	after = content(f, 0);
	assert_memory_equal(before, after, strlen(before));
	assert_non_null(strstr(after, "\"lost\":1}\n"));
	assert_non_null(strstr(after, "\"status\":202"));
	assert_null(strstr(after, "\"status\":201"));
	assert_int_equal(audit_trouble(f->audit), 0);
	free(before);
	free(after);
}

static void test_reopen(void **state)
{
	struct fixture *f = *state;
	char path[80], *text;

	assert_int_equal(audit_open(f->path, 0, &f->audit), 0);
	write_one(f, 200, 0);
	name(f, 1, path);
	assert_int_equal(rename(f->path, path), 0);
	assert_int_equal(audit_reopen(f->audit), 0);
	write_one(f, 201, 0);
	text = content(f, 0);
	assert_null(strstr(text, "\"status\":200"));
	assert_non_null(strstr(text, "\"status\":201"));
	free(text);
}

static void test_refuses(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(audit_open("/nonexistent/audit", 0, &f->audit), -ENOENT);
	assert_int_equal(audit_open("/dev/null", 0, &f->audit), -EINVAL);
	assert_int_equal(symlink("/tmp/elsewhere", f->path), 0);
	assert_int_equal(audit_open(f->path, 0, &f->audit), -ELOOP);
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(mkfifo(f->path, 0600), 0);
	assert_int_equal(audit_open(f->path, 0, &f->audit), -EINVAL);
	assert_null(f->audit);
}

#define TEST(what) cmocka_unit_test_setup_teardown(what, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_appends),
		TEST(test_lost_is_told),
		TEST(test_rotates),
		TEST(test_rotation_fails),
		TEST(test_full),
		TEST(test_reopen),
		TEST(test_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
