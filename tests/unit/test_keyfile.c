/* SPDX-License-Identifier: Apache-2.0 */
/* test_keyfile.c – keys come back by name, are replaced and wiped; places are used again; the file shrinks. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/keyfile.h"

enum { RECORD = KEYFILE_NAME + KEYFILE_KEY, MANY = 100 };

static char path[64];

static int set_up(void **state)
{
	char dir[] = "/tmp/sallyport-keyfile.XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/keys", dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)unlink(path);
	*strrchr(path, '/') = '\0';
	return rmdir(path);
}

static void key_of(int number, uint8_t ret[KEYFILE_KEY])
{
	memset(ret, number + 1, KEYFILE_KEY);
}

static void put(const char *name, int number)
{
	uint8_t key[KEYFILE_KEY];

	key_of(number, key);
	assert_int_equal(keyfile_put(path, name, key), 0);
}

static void is(const char *name, int number)
{
	uint8_t key[KEYFILE_KEY], wanted[KEYFILE_KEY];

	key_of(number, wanted);
	assert_int_equal(keyfile_find(path, name, key), 0);
	assert_memory_equal(key, wanted, KEYFILE_KEY);
}

static off_t records(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(st.st_size % RECORD, 0);
	return st.st_size / RECORD;
}

static void many(void **state)
{
	char name[KEYFILE_NAME];
	uint8_t key[KEYFILE_KEY];

	(void)state;
	assert_int_equal(keyfile_find(path, "a", key), -ENOENT);
	assert_int_equal(keyfile_drop(path, "a"), 0);
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "box%d", i);
		put(name, i);
	}
	assert_int_equal(records(), MANY);
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "box%d", i);
		is(name, i);
	}
	put("box7", 70);
	is("box7", 70);
	is("box70", 70);
	assert_int_equal(keyfile_find(path, "box", key), -ENOENT);
	assert_int_equal(records(), MANY);
	/* a free place is used again */
	assert_int_equal(keyfile_drop(path, "box50"), 0);
	assert_int_equal(keyfile_find(path, "box50", key), -ENOENT);
	assert_int_equal(records(), MANY);
	put("another", 3);
	is("another", 3);
	assert_int_equal(records(), MANY);
	/* the end goes with the last ones */
	assert_int_equal(keyfile_drop(path, "box98"), 0);
	assert_int_equal(records(), MANY);
	assert_int_equal(keyfile_drop(path, "box99"), 0);
	assert_int_equal(records(), MANY - 2);
	assert_int_equal(keyfile_drop(path, "another"), 0);
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "box%d", i);
		assert_int_equal(keyfile_drop(path, name), 0);
	}
	assert_int_equal(records(), 0);
}

static void names(void **state)
{
	char longest[KEYFILE_NAME + 1];
	uint8_t key[KEYFILE_KEY] = {0};

	(void)state;
	memset(longest, 'x', sizeof(longest));
	longest[KEYFILE_NAME] = '\0';
	assert_int_equal(keyfile_put(path, longest, key), -ENAMETOOLONG);
	assert_int_equal(keyfile_put(path, "", key), -ENAMETOOLONG);
	longest[KEYFILE_NAME - 1] = '\0';
	put(longest, 1);
	is(longest, 1);
	longest[KEYFILE_NAME - 2] = '\0';
	assert_int_equal(keyfile_find(path, longest, key), -ENOENT);
}

/* What was dropped is not in the file any more; a torn end is no record, and is written over. */
static void wiped_and_torn(void **state)
{
	uint8_t bytes[3 * RECORD] = {0}, key[KEYFILE_KEY], zeros[RECORD] = {0};
	_cleanup_close_ int fd = -1;

	(void)state;
	put("a", 1);
	put("b", 2);
	assert_int_equal(keyfile_drop(path, "a"), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), 2 * RECORD);
	assert_memory_equal(bytes, zeros, RECORD);
	assert_int_equal(pwrite(fd, "c\0torn", 6, 2 * (off_t)RECORD), 6);
	assert_int_equal(keyfile_find(path, "c", key), -ENOENT);
	is("b", 2);
	put("d", 4);
	put("e", 5);
	is("d", 4);
	is("e", 5);
	assert_int_equal(records(), 3);
}

static void links_are_not_followed(void **state)
{
	uint8_t key[KEYFILE_KEY] = {0};

	(void)state;
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(keyfile_put(path, "a", key), -ELOOP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(many, set_up, tear_down),
		cmocka_unit_test_setup_teardown(names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(wiped_and_torn, set_up, tear_down),
		cmocka_unit_test_setup_teardown(links_are_not_followed, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
