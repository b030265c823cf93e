/* SPDX-License-Identifier: Apache-2.0 */
/* test_trust.c – sets of roots: a file that is missing, empty or broken names itself; what is added stands beside the system's. */
#include "tls_rig.h"

static void roots(void **state)
{
	char file[] = "/tmp/sallyport-test-XXXXXX";
	struct fault fault = {""};
	struct tls_trust *system, *both, *none = NULL;
	int fd = mkstemp(file);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(tls_trust_extend(NULL, "/nonexistent/ca.pem", &fault, &none), -ENOENT);
	assert_non_null(strstr(fault.text, "/nonexistent/ca.pem"));
	fault.text[0] = '\0';
	assert_int_equal(tls_trust_extend(NULL, file, &fault, &none), -EBADMSG);
	assert_non_null(strstr(fault.text, "no certificate"));
	assert_int_equal(
		write(fd, "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", 59),
		59);
	fault.text[0] = '\0';
	assert_int_equal(tls_trust_extend(NULL, file, &fault, &none), -EBADMSG);
	assert_non_null(strstr(fault.text, "certificate 1"));
	assert_null(none);
	fault.text[0] = '\0';
	if (tls_trust_system(&fault, &system) == 0) {
		struct buf pem;
		int n = sk_X509_OBJECT_num(X509_STORE_get0_objects(tls_trust_store(system)));

		buf_init(&pem, 4096);
		assert_int_equal(ca_cert_pem(good_ca, &pem), 0);
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, pem.data, buf_used(&pem), 0), buf_used(&pem));
		assert_int_equal(tls_trust_extend(system, file, &fault, &both), 0);
		assert_int_equal(
			sk_X509_OBJECT_num(X509_STORE_get0_objects(tls_trust_store(both))), n + 1);
		tls_trust_unref(tls_trust_ref(system));
		tls_trust_unref(system);
		tls_trust_unref(both);
		buf_done(&pem);
	} else {
		assert_non_null(strstr(fault.text, "ca-certificates"));
	}
	close(fd);
	unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roots),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
