/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hook_state.c – see hook_state.h. The owner is FNV-1a of id and bundle: two runtimes may have a container of one id. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

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
	return 0;
}

static uint64_t hook_state_add(uint64_t sum, const char *text)
{
	do
		sum = (sum ^ (unsigned char)*text) * 0x100000001b3ULL;
	while (*text++);
	return sum;
}

uint64_t hook_state_owner(const struct hook_state *s)
{
	uint64_t sum = hook_state_add(hook_state_add(0xcbf29ce484222325ULL, s->id), s->bundle);

	return sum ? sum : 1;
}
