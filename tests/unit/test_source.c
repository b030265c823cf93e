/* SPDX-License-Identifier: Apache-2.0 */
/* test_source.c – which files are read at all, and what is said about the others. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "cred/source.h"

struct place {
	char dir[64], file[96], link[96];
	struct source_trust trust;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	FILE *f;

	(void)snprintf(p->dir, sizeof(p->dir), "/tmp/sallyport-test.XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	(void)snprintf(p->file, sizeof(p->file), "%s/value", p->dir);
	(void)snprintf(p->link, sizeof(p->link), "%s/link", p->dir);
	f = fopen(p->file, "w");
	assert_non_null(f);
	assert_int_equal(fputs("0123456789abcdef", f) >= 0, 1);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(p->file, 0600), 0);
	assert_int_equal(symlink("value", p->link), 0);
	p->trust = (struct source_trust){geteuid(), getegid()};
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;

	(void)unlink(p->file);
	(void)unlink(p->link);
	(void)rmdir(p->dir);
	free(p);
	return 0;
}

static int read_one(
	const char *path, const struct source_trust *trust, size_t max, struct fault *fault)
{
	struct source_mark mark = {0}, now;
	struct buf b;
	int r;

	if (fault)
		fault->text[0] = '\0';
	buf_init(&b, max);
	r = source_read(path, trust, fault, &b, &mark);
	if (r == 0) {
		assert_int_equal(buf_used(&b), 16);
		assert_memory_equal(buf_slice(&b).p, "0123456789abcdef", 16);
		assert_int_equal(source_mark(path, &now), 0);
		assert_true(source_mark_same(&mark, &now));
	}
	buf_done(&b);
	return r;
}

static void test_read(void **state)
{
	struct place *p = *state;
	struct fault fault;

	assert_int_equal(read_one(p->file, &p->trust, 16, &fault), 0);
	assert_int_equal(read_one(p->link, &p->trust, 100, &fault), 0);
	assert_int_equal(read_one(p->file, &p->trust, 15, &fault), -EFBIG);
	assert_non_null(strstr(fault.text, "/value: too large"));
	assert_int_equal(read_one("/nowhere/at-all", &p->trust, 16, &fault), -ENOENT);
	assert_string_equal(
		fault.text, "/nowhere/at-all: cannot be opened: No such file or directory");
	assert_int_equal(read_one(p->dir, &p->trust, 16, &fault), -EINVAL);
	assert_non_null(strstr(fault.text, "not a regular file"));
	assert_int_equal(read_one("/dev/null", &p->trust, 16, &fault), -EINVAL);
}

static void test_mode(void **state)
{
	static const mode_t good[] = {0600, 0640, 0400, 0440},
			    bad[] = {0644, 0660, 0604, 0620, 0700, 0610, 04600, 0601};
	struct place *p = *state;
	struct fault fault;

	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(chmod(p->file, good[i]), 0);
		assert_int_equal(read_one(p->file, &p->trust, 16, &fault), 0);
	}
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char want[256];

		assert_int_equal(chmod(p->file, bad[i]), 0);
		assert_int_equal(read_one(p->file, &p->trust, 16, &fault), -EPERM);
		(void)snprintf(want, sizeof(want),
			"%s: mode %04o, but others could read or change it (chmod 0640 %s)",
			p->file, bad[i], p->file);
		assert_string_equal(fault.text, want);
	}
}

static void test_owner(void **state)
{
	struct place *p = *state;
	struct source_trust other = {p->trust.owner + 1, p->trust.group},
			    group = {p->trust.owner, p->trust.group + 1};
	struct fault fault;
	char want[512];

	assert_int_equal(read_one(p->file, &other, 16, &fault), -EPERM);
	(void)snprintf(want, sizeof(want), "%s: belongs to ", p->file);
	assert_int_equal(strncmp(fault.text, want, strlen(want)), 0);
	assert_non_null(strstr(fault.text, "(chown "));
	assert_int_equal(read_one(p->file, &other, 16, NULL), -EPERM);
	if (geteuid() == 0) { /* names where there are some, numbers where not */
		assert_int_equal(chown(p->file, 4000000001, 4000000002), 0);
		(void)snprintf(want, sizeof(want),
			"%s: belongs to 4000000001:4000000002, but a file with credentials must "
			"belong to root and to group root or root (chown root:root %s)",
			p->file, p->file);
		assert_int_equal(
			read_one(p->file, &(struct source_trust){0, 0}, 16, &fault), -EPERM);
		assert_string_equal(fault.text, want);
		assert_int_equal(chown(p->file, 0, 0), 0);
	}
	/* the group must be the daemon's or root's */
	assert_int_equal(read_one(p->file, &group, 16, &fault), p->trust.group == 0 ? 0 : -EPERM);
}

static void test_mark(void **state)
{
	struct place *p = *state;
	struct source_mark a, b;

	assert_int_equal(source_mark(p->file, &a), 0);
	assert_int_equal(source_mark(p->link, &b), 0);
	assert_true(source_mark_same(&a, &b));
	assert_int_equal(truncate(p->file, 3), 0);
	assert_int_equal(source_mark(p->file, &b), 0);
	assert_false(source_mark_same(&a, &b));
	assert_int_equal(source_mark("/nowhere/at-all", &b), -ENOENT);
}

static void test_descriptor(void **state)
{
	struct place *p = *state;
	struct fault fault = {{0}};
	struct buf b;
	int fd = open(p->file, O_RDONLY | O_CLOEXEC);

	buf_init(&b, 100);
	assert_int_equal(source_read_fd(fd, "descriptor", &fault, &b), 0);
	assert_int_equal(buf_used(&b), 16);
	buf_done(&b);
	(void)close(fd);
	assert_int_equal(source_read_fd(fd, "descriptor 9", &fault, &b), -EBADF);
	assert_string_equal(fault.text, "descriptor 9: cannot be read: Bad file descriptor");
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mode, setup, teardown),
		cmocka_unit_test_setup_teardown(test_owner, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mark, setup, teardown),
		cmocka_unit_test_setup_teardown(test_descriptor, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
