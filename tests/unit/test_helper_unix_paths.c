/* SPDX-License-Identifier: Apache-2.0 */
/* test_helper_unix_paths.c – netns-helper/unix_paths.c: which paths may be listed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/capture.h"
#include "netns-helper/unix_paths.h"

static void test_plain_paths(void **state)
{
	static const char *const good[] = {
		"/", "/a", "/a/", "/a/b.sock", "/a/..b", "/a/b..", "/.a/", "/...", "/a b"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(unix_paths_valid(good[i]));
}

static void test_paths_that_are_others_than_they_seem(void **state)
{
	static const char *const odd[] = {"", "a", "a/", "./a", "../a", "//", "//a", "/a//",
		"/a//b", "/.", "/./", "/..", "/../", "/a/.", "/a/./b", "/a/..", "/a/../b", "/../a"};

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		assert_false(unix_paths_valid(odd[i]));
}

static void test_length(void **state)
{
	char path[CAPTURE_UNIX_PATH + 1] = "/";

	(void)state;
	memset(path + 1, 'a', CAPTURE_UNIX_PATH - 2);
	assert_true(unix_paths_valid(path));
	path[CAPTURE_UNIX_PATH - 1] = 'a';
	assert_false(unix_paths_valid(path));
}

static void test_the_default_is_valid(void **state)
{
	const char *const *paths;
	size_t n = 0;

	(void)state;
	paths = unix_paths_default(&n);
	assert_true(n > 0 && n <= CAPTURE_UNIX_PATHS);
	for (size_t i = 0; i < n; i++) {
		assert_true(unix_paths_valid(paths[i]));
		assert_int_equal(paths[i][strlen(paths[i]) - 1], '/');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_paths),
		cmocka_unit_test(test_paths_that_are_others_than_they_seem),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_the_default_is_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
