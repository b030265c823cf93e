/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hook_state.c – see hook_state.h. The owner is the beginning of SHA-256 of id and bundle: two runtimes may have a
 * container of one id, and nobody is to find two that have one owner.
 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include <openssl/evp.h>

#include "netns-helper/hook_json.h"
#include "netns-helper/hook_state.h"

enum { HOOK_STATE_PID = 4194304 }; /* the largest pid_max, proc(5) */

static int hook_state_text(json_t *document, const char *name, char *ret, size_t size)
{
	const char *text = hook_json_text(document, name);
	size_t n = text ? strlen(text) : 0;

	if (n == 0 || n >= size)
		return -EBADMSG;
	memcpy(ret, text, n + 1);
	return 0;
}

/* 0: there is no memory. */
static uint64_t hook_state_owner(const struct hook_state *s)
{
	char both[sizeof(s->id) + sizeof(s->bundle)];
	uint8_t digest[EVP_MAX_MD_SIZE];
	size_t id = strlen(s->id) + 1, bundle = strlen(s->bundle);
	uint64_t owner;

	memcpy(both, s->id, id);
	memcpy(both + id, s->bundle, bundle);
	if (EVP_Digest(both, id + bundle, digest, NULL, EVP_sha256(), NULL) != 1)
		return 0;
	memcpy(&owner, digest, sizeof(owner));
	return owner;
}

int hook_state_take(struct json_t *document, struct fault *fault, struct hook_state *ret)
{
	json_t *pid = json_object_get(document, "pid");
	json_int_t number = json_integer_value(pid);

	if (hook_state_text(document, "id", ret->id, sizeof(ret->id)) < 0)
		return fault_set(fault, -EBADMSG, "the container's state has no id");
	if (hook_state_text(document, "bundle", ret->bundle, sizeof(ret->bundle)) < 0 ||
		ret->bundle[0] != '/')
		return fault_set(fault, -EBADMSG, "the container's state has no absolute bundle");
	if (pid && (!json_is_integer(pid) || number < 0 || number > HOOK_STATE_PID))
		return fault_set(fault, -EBADMSG, "the container's state has no pid");
	ret->pid = (pid_t)number;
	ret->owner = hook_state_owner(ret);
	return ret->owner ? 0 : fault_set(fault, -ENOMEM, "out of memory");
}
