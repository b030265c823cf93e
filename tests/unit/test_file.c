/* SPDX-License-Identifier: Apache-2.0 */
/* test_file.c – reading with a bound, replacing at once or not at all, modes that the umask has no say in. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/file.h"

static char folder[] = "/tmp/sallyport-test-XXXXXX";

/* A path in the folder; valid until the fourth call from now. */
static const char *at(const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned turn;
	char *path = paths[turn++ % 4];

	(void)snprintf(path, PATH_MAX, "%s/%s", folder, name);
	return path;
}

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(folder); /* every test leaves it empty */
}

static void put(const char *path, struct slice bytes)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes.p, bytes.n), bytes.n);
}

static void assert_holds(const char *path, struct slice bytes)
{
	struct buf b;

	buf_init(&b, 1 << 20);
	assert_int_equal(file_read(path, &b), 0);
	assert_true(slice_eq(buf_slice(&b), bytes));
	buf_done(&b);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

static void test_read_bounds(void **state)
{
	static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 10000};
	static uint8_t bytes[10000];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 31 >> 3);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		put(at("f"), slice_of(bytes, sizes[i]));
		for (int more = -1; more <= 1; more++) {
			size_t max = 3 + sizes[i] + (size_t)more;
			struct buf b;

			if (sizes[i] == 0 && more < 0)
				continue;
			/* what is in the buffer stays and counts */
			buf_init(&b, max);
			assert_int_equal(buf_append(&b, SLICE("abc")), 0);
			assert_int_equal(file_read(at("f"), &b), more < 0 ? -EFBIG : 0);
			assert_true(buf_used(&b) <= max);
			assert_memory_equal(b.data, "abc", 3);
			if (more >= 0)
				assert_true(slice_eq(
					slice_skip(buf_slice(&b), 3), slice_of(bytes, sizes[i])));
			buf_done(&b);
		}
	}
	assert_int_equal(unlink(at("f")), 0);
}

static void test_read_failures(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 100);
	assert_int_equal(file_read(at("none"), &b), -ENOENT);
	assert_int_equal(file_read(folder, &b), -EISDIR);
	assert_int_equal(file_read("/dev/zero", &b), -EFBIG); /* it has no size to believe */
	buf_done(&b);
}

/* Whoever has the old file open keeps all of it; whoever opens it anew gets all of the new one. */
static void test_replace(void **state)
{
	char old[16];
	int fd;

	(void)state;
	assert_int_equal(file_replace(at("f"), 0644, SLICE("the first text")), 0);
	fd = open(at("f"), O_RDONLY);
	assert_int_equal(file_replace(at("f"), 0644, SLICE("second")), 0);
	assert_holds(at("f"), SLICE("second"));
	assert_int_equal(read(fd, old, sizeof(old)), 14);
	assert_memory_equal(old, "the first text", 14);
	close(fd);
	assert_int_equal(access(at("f.new"), F_OK), -1);
	/* what an earlier, broken off try left behind is not kept */
	put(at("f.new"), SLICE("a much longer text that was never renamed"));
	assert_int_equal(file_replace(at("f"), 0600, SLICE("third")), 0);
	assert_holds(at("f"), SLICE("third"));
	assert_int_equal(file_replace(at("f"), 0600, slice_of(NULL, 0)), 0);
	assert_holds(at("f"), slice_of(NULL, 0));
	assert_int_equal(unlink(at("f")), 0);
}

static void test_modes(void **state)
{
	static const mode_t modes[] = {0600, 0640, 0644, 0400};
	static const mode_t masks[] = {0, 022, 077, 0777};
	mode_t before = umask(0);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		for (size_t k = 0; k < ARRAY_SIZE(masks); k++) {
			put(at("f"), SLICE("open to all"));
			assert_int_equal(chmod(at("f"), 0666), 0);
			(void)umask(masks[k]);
			assert_int_equal(file_replace(at("f"), modes[i], SLICE("x")), 0);
			(void)umask(0);
			assert_int_equal(mode_of(at("f")), modes[i]);
			assert_int_equal(unlink(at("f")), 0);
		}
	/* nor does the mode of what lay in the way */
	put(at("f.new"), SLICE("x"));
	assert_int_equal(chmod(at("f.new"), 0666), 0);
	assert_int_equal(file_replace(at("f"), 0600, SLICE("x")), 0);
	assert_int_equal(mode_of(at("f")), 0600);
	assert_int_equal(unlink(at("f")), 0);
	(void)umask(before);
}

/* A failure leaves the old file, and nothing beside it. */
static void test_replace_failures(void **state)
{
	char path[PATH_MAX + 8];

	(void)state;
	assert_int_equal(file_replace(at("none/f"), 0600, SLICE("x")), -ENOENT);
	memset(path, 'a', sizeof(path));
	path[PATH_MAX - 4] = '\0'; /* with .new it is one too long */
	assert_int_equal(file_replace(path, 0600, SLICE("x")), -ENAMETOOLONG);

	assert_int_equal(mkdir(at("d"), 0700), 0);
	assert_int_equal(file_replace(at("d"), 0600, SLICE("x")), -EISDIR);
	assert_int_equal(access(at("d.new"), F_OK), -1);
	assert_int_equal(rmdir(at("d")), 0);

	/* a link that was planted is neither followed nor written through */
	put(at("victim"), SLICE("untouched"));
	assert_int_equal(symlink(at("victim"), at("f.new")), 0);
	assert_int_equal(file_replace(at("f"), 0600, SLICE("x")), -ELOOP);
	assert_holds(at("victim"), SLICE("untouched"));
	assert_int_equal(access(at("f"), F_OK), -1);
	assert_int_equal(unlink(at("f.new")), 0);
	/* a link in the file's own place is replaced, not its target */
	assert_int_equal(symlink(at("victim"), at("f")), 0);
	assert_int_equal(file_replace(at("f"), 0600, SLICE("x")), 0);
	assert_holds(at("victim"), SLICE("untouched"));
	assert_holds(at("f"), SLICE("x"));
	assert_int_equal(unlink(at("f")), 0);
	assert_int_equal(unlink(at("victim")), 0);
}

/* Paths of every shape have a directory to sync. */
static void test_directories_of_paths(void **state)
{
	char before[PATH_MAX];

	(void)state;
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(file_replace("f", 0600, SLICE("x")), 0);
	assert_int_equal(file_replace("./f", 0600, SLICE("y")), 0);
	assert_holds("f", SLICE("y"));
	assert_int_equal(unlink("f"), 0);
	assert_int_equal(chdir(before), 0);
}

static void test_mkdir(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(file_mkdir(at("d"), 0700), 0);
	assert_int_equal(stat(at("d"), &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(mode_of(at("d")), 0700);
	assert_int_equal(file_mkdir(at("d"), 0755), 0);
	assert_int_equal(mode_of(at("d")), 0700); /* it was there: left as it is */
	assert_int_equal(file_mkdir(at("none/d"), 0700), -ENOENT);
	assert_int_equal(rmdir(at("d")), 0);
	put(at("d"), SLICE("x"));
	assert_int_equal(file_mkdir(at("d"), 0700), -ENOTDIR);
	assert_int_equal(unlink(at("d")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_bounds),
		cmocka_unit_test(test_read_failures),
		cmocka_unit_test(test_replace),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_replace_failures),
		cmocka_unit_test(test_directories_of_paths),
		cmocka_unit_test(test_mkdir),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
