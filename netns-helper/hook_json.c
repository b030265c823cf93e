/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hook_json.c – see hook_json.h. jansson bounds the nesting (2048). #syscalls: read */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "netns-helper/hook_json.h"

#include "base/cleanup.h"

enum { HOOK_JSON_NAME = 64, HOOK_JSON_FIRST = 65536 };

int hook_json_parse(
	const char *bytes, size_t n, const char *what, struct fault *fault, struct json_t **ret)
{
	json_error_t error;
	json_t *made = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, &error);

	if (!made)
		return fault_set(fault, -EBADMSG, "%s:%d:%d: %s", what, error.line, error.column,
			error.text);
	if (!json_is_object(made)) {
		json_decref(made);
		return fault_set(fault, -EBADMSG, "%s: is not an object", what);
	}
	*ret = made;
	return 0;
}

int hook_json_read(int fd, const char *what, struct fault *fault, struct json_t **ret)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n = 0, room = 0;

	for (;;) {
		ssize_t got;

		if (n == room) {
			char *larger;

			if (room >= HOOK_JSON_BYTES)
				return fault_set(fault, -EMSGSIZE, "%s: is longer than %d bytes",
					what, HOOK_JSON_BYTES);
			room = room ? 2 * room : HOOK_JSON_FIRST;
			larger = realloc(bytes, room);
			if (!larger)
				return fault_set(fault, -ENOMEM, "out of memory");
			bytes = larger;
		}
		got = read(fd, bytes + n, room - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fault_set(fault, -errno, "%s: %s", what, strerror(errno));
		if (got == 0)
			return hook_json_parse(bytes, n, what, fault, ret);
		n += (size_t)got;
	}
}

struct json_t *hook_json_at(struct json_t *object, const char *path)
{
	while (object && *path) {
		size_t n = strcspn(path, "/");
		char name[HOOK_JSON_NAME];

		if (n >= sizeof(name))
			return NULL;
		memcpy(name, path, n);
		name[n] = '\0';
		object = json_object_get(object, name);
		path += n + (path[n] == '/');
	}
	return object;
}

const char *hook_json_text(struct json_t *object, const char *path)
{
	json_t *found = hook_json_at(object, path);
	const char *text = json_string_value(found);

	return text && strlen(text) == json_string_length(found) ? text : NULL;
}
