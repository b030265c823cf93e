/* SPDX-License-Identifier: Apache-2.0 */
/* test_examples.c – every file of scripts/examples/ is loaded by who reads its kind, whatever is added there;
 * what belongs together fits together. */
#include <dirent.h>
#include <errno.h>
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
#include "base/limits.h"
#include "conf/daemon_conf.h"
#include "cred/credset.h"
#include "policy/policy.h"

#define FOLDER  "scripts/examples/"
#define SECRETS "/etc/sallyport/secrets/" /* where the examples' sources are */

static struct source_trust trust;
static char scratch[64];

static char *text_of(const char *name)
{
	char path[256], *text;
	struct buf b;

	(void)snprintf(path, sizeof(path), FOLDER "%s", name);
	buf_init(&b, LIMIT_DOCUMENT);
	if (file_read(path, &b) < 0)
		fail_msg("%s: not there (tests run in the top folder)", path);
	text = strndup((const char *)buf_slice(&b).p, buf_used(&b));
	buf_done(&b);
	return text;
}

static void collect(void *arg, const char *text)
{
	(void)arg;
	fail_msg("an example gives a warning: %s", text);
}

static struct policy *load_policy(const char *name)
{
	struct fault fault = {{0}};
	struct policy *p = NULL;
	char *text = text_of(name);

	if (policy_load(slice_str(text), name, &fault, &p) < 0)
		fail_msg("%s", fault.text);
	policy_check(p, collect, NULL);
	free(text);
	return p;
}

static void read_policy(const char *name)
{
	policy_unref(load_policy(name));
}

static void scratch_path(const char *name, size_t n, char ret[256])
{
	(void)snprintf(ret, 256, "%s/%.*s", scratch, (int)n, name);
}

/* Makes a file in the scratch folder for each source and rewrites its path. */
static char *with_sources(const char *text)
{
	char *out = calloc(1, strlen(text) + 4096), path[256];
	const char *at;

	while ((at = strstr(text, SECRETS))) {
		const char *name = at + strlen(SECRETS);
		size_t n = strcspn(name, "}, \n");
		FILE *f;

		scratch_path(name, n, path);
		f = fopen(path, "w");
		assert_non_null(f);
		assert_true(fputs("an-example-of-a-value\n", f) >= 0);
		assert_int_equal(fclose(f), 0);
		assert_int_equal(chmod(path, 0600), 0);
		strncat(out, text, (size_t)(at - text));
		strcat(out, path);
		text = name + n;
	}
	return strcat(out, text);
}

static struct credset *load_credentials(const char *name)
{
	struct fault fault = {{0}};
	struct credset *s = NULL;
	char *text = text_of(name), *ours = with_sources(text);

	if (credset_load(slice_str(ours), name, &trust, &fault, &s) < 0)
		fail_msg("%s", fault.text);
	credset_check(s, collect, NULL);
	free(text);
	free(ours);
	return s;
}

static void read_credentials(const char *name)
{
	struct credset *s = load_credentials(name);

	assert_true(credset_count(s) > 0);
	for (unsigned i = 0; i < credset_count(s); i++)
		assert_null(credset_cause(s, i));
	credset_unref(s);
}

static void read_daemon(const char *name)
{
	struct fault fault = {{0}};
	struct daemon_conf *c = NULL;
	char *text = text_of(name);

	if (daemon_conf_load(slice_str(text), name, &fault, &c) < 0)
		fail_msg("%s", fault.text);
	assert_string_equal(c->state, "/run/sallyport");
	assert_string_equal(c->user, "sallyport");
	assert_int_equal(c->ncredentials, 0); /* what it names would have to be there */
	daemon_conf_free(c);
	free(text);
}

/* Every other file is a policy. */
static const struct {
	const char *name;
	void (*read)(const char *name);
} kinds[] = {{"credentials.yaml", read_credentials}, {"daemon.yaml", read_daemon}};

static void read_one(const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i].name, name) == 0) {
			kinds[i].read(name);
			return;
		}
	read_policy(name);
}

static void test_all(void **state)
{
	DIR *d = opendir(FOLDER);
	struct dirent *e;
	unsigned n = 0;

	(void)state;
	assert_non_null(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.') {
			read_one(e->d_name);
			n++;
		}
	(void)closedir(d);
	assert_in_range(n, 6, 100);
}

static void test_agent_and_its_credentials(void **state)
{
	struct policy *agent = load_policy("agent.yaml"), *try = load_policy("try.yaml");
	struct credset *s = load_credentials("credentials.yaml");
	struct fault fault = {{0}};

	(void)state;
	assert_int_equal(credset_check_against_policy(s, agent, &fault), 0);
	assert_int_equal(credset_check_against_policy(s, try, &fault), -EBADMSG); /* the control */
	credset_unref(s);
	policy_unref(agent);
	policy_unref(try);
}

/* A key that an example shows behind a `#` must be one that the loader takes. */
static void test_daemon_comments(void **state)
{
	struct fault fault = {{0}};
	struct daemon_conf *c = NULL;
	static const char *const keys[] = {
		"\n#resolvers:", "\n#ca:", "\n#credentials:", "\n#  - {sandboxes:", "\n#audit:"};
	char *text = text_of("daemon.yaml"), *at = text;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(keys); i++) {
		at = strstr(at, keys[i]);
		assert_non_null(at);
		memmove(at + 1, at + 2, strlen(at + 2) + 1);
	}
	if (daemon_conf_load(slice_str(text), "daemon.yaml", &fault, &c) < 0)
		fail_msg("%s", fault.text);
	assert_int_equal(c->nresolvers, 2);
	assert_string_equal(c->ca, "/etc/sallyport/corp-ca.pem");
	assert_string_equal(c->audit_file, "/var/log/sallyport/audit.jsonl");
	assert_int_equal(c->ncredentials, 1);
	assert_true(daemon_conf_covers(&c->credentials[0], "agent-7"));
	daemon_conf_free(c);
	free(text);
}

static int setup(void **state)
{
	(void)state;
	trust = (struct source_trust){geteuid(), getegid()};
	(void)snprintf(scratch, sizeof(scratch), "/tmp/sallyport-test.XXXXXX");
	return mkdtemp(scratch) ? 0 : -1;
}

static int teardown(void **state)
{
	DIR *d = opendir(scratch);
	struct dirent *e;
	char path[256];

	(void)state;
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.') {
			scratch_path(e->d_name, strlen(e->d_name), path);
			(void)unlink(path);
		}
	if (d)
		(void)closedir(d);
	return rmdir(scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_agent_and_its_credentials),
		cmocka_unit_test(test_daemon_comments),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
