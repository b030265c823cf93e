/* SPDX-License-Identifier: Apache-2.0 */
/* policy_text.h – a policy and a host from their texts, for the tests of policy/. Included behind cmocka.h. */
#ifndef SALLYPORT_TEST_POLICY_TEXT_H
#define SALLYPORT_TEST_POLICY_TEXT_H

#include "exact.h"
#include "policy/hosts.h"
#include "policy/policy.h"

/* The text must be good; the policy is the caller's. Places are told in a file "f". */
static struct policy *load(const char *text)
{
	struct slice in = exact_copy(slice_str(text));
	struct fault fault = {{0}};
	struct policy *p = NULL;

	if (policy_load(in, "f", &fault, &p) < 0)
		fail_msg("%s", fault.text);
	exact_free(in);
	return p;
}

/* Canonical; the text must be good. */
static inline struct host host(const char *text)
{
	struct host h;

	assert_int_equal(host_canon(slice_str(text), &h), 0);
	return h;
}

#endif
