/* SPDX-License-Identifier: Apache-2.0 */
/* test_secret.c – a copy in locked, undumped pages that a child does not get, gone when it is
 * freed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/secret.h"

/* The address sanitizer makes mlock() do nothing. */
static void skip_sanitized(void)
{
#ifdef __SANITIZE_ADDRESS__
	print_message("skipped: no mlock() under the address sanitizer\n");
	skip();
#endif
}

static void test_sizes(void **state)
{
	static uint8_t big[LIMIT_SECRET + 1];
	static const size_t sizes[] = {1, 2, 4079, 4080, 4081, LIMIT_SECRET};
	struct secret *s = NULL;

	(void)state;
	memset(big, 'k', sizeof(big));
	assert_int_equal(secret_new(slice_of(big, 0), &s), -EINVAL);
	assert_int_equal(secret_new(slice_of(big, sizeof(big)), &s), -EINVAL);
	assert_null(s);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(secret_new(slice_of(big, sizes[i]), &s), 0);
		assert_true(slice_eq(secret_slice(s), slice_of(big, sizes[i])));
		assert_ptr_not_equal(secret_slice(s).p, big);
		secret_free(s);
	}
	secret_free(NULL);
}

/* The flags that the kernel has for the mapping of p: "… lo … dd wf …"; empty when p is not mapped.
 */
static void mapping_flags(const void *p, char ret[256])
{
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[512];
	int inside = 0;

	ret[0] = '\0';
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned long from, to;

		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			inside = (unsigned long)p >= from && (unsigned long)p < to;
		else if (inside && strncmp(line, "VmFlags:", 8) == 0)
			(void)snprintf(ret, 256, "%.250s", line + 8);
	}
	(void)fclose(f);
}

static void test_pages(void **state)
{
	struct secret *s;
	char flags[256];

	(void)state;
	skip_sanitized();
	assert_int_equal(secret_new(SLICE("value"), &s), 0);
	mapping_flags(secret_slice(s).p, flags);
	assert_non_null(strstr(flags, " lo"));
	assert_non_null(strstr(flags, " dd"));
	assert_non_null(strstr(flags, " wf"));
	secret_free(s);
}

static void test_child_has_none(void **state)
{
	struct secret *s;
	int status;
	pid_t child;

	(void)state;
	assert_int_equal(secret_new(SLICE("value"), &s), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct slice v = slice_of((const uint8_t *)secret_slice(s).p, 5);

		_exit(memcmp(v.p, "\0\0\0\0", 5) == 0 ? 7 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_true(slice_eq(secret_slice(s), SLICE("value")));
	secret_free(s);
}

/* In a child whose limit on locked memory is used up (and which has no capability to pass it). */
static void test_no_locked_memory(void **state)
{
	int status;
	pid_t child;

	(void)state;
	skip_sanitized();
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct rlimit none = {0, 0};
		struct secret *s = NULL;

		if (setrlimit(RLIMIT_MEMLOCK, &none) < 0 || (geteuid() == 0 && setuid(65534) < 0))
			_exit(2);
		_exit(secret_new(SLICE("value"), &s) == -ENOMEM && !s ? 7 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_child_has_none),
		cmocka_unit_test(test_no_locked_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
