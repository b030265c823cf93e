/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_hook.c – any bytes as what the OCI hook reads: a container's state, its config.json, the hook's configuration.
 * What is chosen names no path; what is written can be read again.
 */
#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "netns-helper/handout.h"
#include "netns-helper/hook_bundle.h"
#include "netns-helper/hook_conf.h"
#include "netns-helper/hook_json.h"
#include "netns-helper/hook_seccomp.h"
#include "netns-helper/hook_spec.h"
#include "netns-helper/hook_state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static json_t *parsed(const uint8_t *data, size_t size)
{
	struct fault fault = {""};
	json_t *document = NULL;
	int r = hook_json_parse((const char *)data, size, "f", &fault, &document);

	assert((r == 0) == (document != NULL) && (r == 0) == (fault.text[0] == '\0'));
	return document;
}

static void check_choice(const struct hook_conf *c, json_t *annotations)
{
	struct hook_choice choice;
	struct fault fault = {""};

	if (hook_conf_choose(c, annotations, "c1", &fault, &choice) < 0)
		return;
	assert(!strpbrk(choice.policy, "/.") && choice.policy[0]);
	assert(strspn(choice.id, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == strlen(choice.id));
	assert(strlen(choice.id) < PROTO_ID && !strchr(choice.credentials, '.'));
	assert(!strcmp(choice.mode, "sealed") || !strcmp(choice.mode, "uplink"));
}

static void check_bundle(json_t *document, const struct hook_conf *c)
{
	static struct handout handout = {.variables = {{"TOKEN", "spx_a"}}, .nvariables = 1};
	char id[HOOK_SPEC_ID + 1], text[256];
	struct fault fault = {""};
	struct hook_bundle b;

	if (hook_bundle_take(document, "/b", &fault, &b) == 0) {
		assert(b.root[0] == '/');
		check_choice(c, b.annotations);
		hook_seccomp_open(b.seccomp, true, text, sizeof(text));
		hook_spec_lacks(&b, &handout, text, sizeof(text));
		(void)hook_spec_container(&b, &fault, id);
		if (hook_spec_environment(b.config, &handout, &fault) == 0 &&
			hook_spec_hooks(b.config, "/c", &fault) == 0) {
			char *again = json_dumps(b.config, JSON_COMPACT);
			json_t *same =
				again ? json_loads(again, JSON_REJECT_DUPLICATES, NULL) : NULL;

			assert(same && json_equal(same, b.config));
			json_decref(same);
			free(again);
		}
	}
	hook_bundle_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hook_state state;
	struct fault fault = {""};
	struct hook_conf conf;
	json_t *document = parsed(data, size);

	if (!document)
		return 0;
	if (hook_state_take(document, &fault, &state) == 0)
		assert(state.bundle[0] == '/' && state.id[0] && state.owner);
	json_decref(document);
	fault.text[0] = '\0';
	if (hook_conf_take(parsed(data, size), "f", &fault, &conf) == 0)
		check_choice(&conf, NULL);
	hook_conf_done(&conf);
	fault.text[0] = '\0';
	assert(hook_conf_take(json_object(), "f", &fault, &conf) == 0);
	check_bundle(parsed(data, size), &conf);
	hook_conf_done(&conf);
	return 0;
}
