/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hook_bundle.c – see hook_bundle.h. A file of the runtime's, hence root's; what is in it was in part said by whoever
 * made the container. #syscalls: openat read
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "netns-helper/bounding.h"
#include "netns-helper/hook_bundle.h"
#include "netns-helper/hook_json.h"

#include "base/cleanup.h"

static const char hook_bundle_name[] = "config.json";

/* Beside the bounding set what a process holds or hands on: dropping from the set takes nothing away. */
static const char *const hook_bundle_sets[] = {
	"bounding", "effective", "permitted", "inheritable", "ambient"};

static int hook_bundle_set(json_t *names, uint64_t *ret, struct fault *fault)
{
	size_t i;
	json_t *one;

	if (names && !json_is_array(names))
		return fault_set(fault, -EBADMSG, "config.json: process.capabilities: not lists");
	json_array_foreach(names, i, one)
	{
		const char *name = json_string_value(one);
		uint64_t bit;

		if (!name || strpbrk(name, ",") || bounding_parse(name, &bit) < 0)
			return fault_set(fault, -EBADMSG,
				"config.json: process.capabilities: %.40s is none that is known "
				"here",
				name ? name : "?");
		*ret |= bit;
	}
	return 0;
}

/* A runtime that is told nothing may drop nothing. */
static int hook_bundle_capabilities(json_t *config, uint64_t *ret, struct fault *fault)
{
	json_t *sets = hook_json_at(config, "process/capabilities");
	int r = 0;

	*ret = sets ? 0 : UINT64_MAX;
	for (size_t i = 0; sets && i < ARRAY_SIZE(hook_bundle_sets) && r == 0; i++)
		r = hook_bundle_set(json_object_get(sets, hook_bundle_sets[i]), ret, fault);
	return r;
}

static bool hook_bundle_network(json_t *config)
{
	json_t *list = hook_json_at(config, "linux/namespaces"), *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		const char *type = hook_json_text(one, "type");

		if (type && strcmp(type, "network") == 0)
			return true;
	}
	return false;
}

int hook_bundle_take(
	struct json_t *config, const char *directory, struct fault *fault, struct hook_bundle *ret)
{
	const char *root = hook_json_text(config, "root/path");
	int n;

	*ret = (struct hook_bundle){
		.config = config,
		.annotations = json_object_get(config, "annotations"),
		.environment = hook_json_at(config, "process/env"),
		.seccomp = hook_json_at(config, "linux/seccomp"),
		.network = hook_bundle_network(config),
	};
	if (ret->annotations && !json_is_object(ret->annotations))
		return fault_set(fault, -EBADMSG, "config.json: annotations: is not an object");
	if (!root || !root[0])
		return fault_set(fault, -EBADMSG, "config.json: root.path is missing");
	n = snprintf(ret->root, sizeof(ret->root), "%s%s%s", root[0] == '/' ? "" : directory,
		root[0] == '/' ? "" : "/", root);
	if (n < 0 || (size_t)n >= sizeof(ret->root))
		return fault_set(fault, -ENAMETOOLONG, "config.json: root.path is too long");
	return hook_bundle_capabilities(config, &ret->bounding, fault);
}

int hook_bundle_load(const char *directory, struct fault *fault, struct hook_bundle *ret)
{
	_cleanup_close_ int dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = -1;
	json_t *config;
	int r;

	*ret = (struct hook_bundle){.config = NULL};
	if (dir >= 0)
		fd = openat(dir, hook_bundle_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fault_set(fault, -errno, "%.300s/%s: %s", directory, hook_bundle_name,
			strerror(errno));
	r = hook_json_read(fd, hook_bundle_name, fault, &config);
	return r < 0 ? r : hook_bundle_take(config, directory, fault, ret);
}

void hook_bundle_done(struct hook_bundle *b)
{
	json_decref(b->config);
	b->config = NULL;
}

const char *hook_bundle_variable(const struct hook_bundle *b, const char *name)
{
	size_t n = strlen(name), i;
	const char *found = NULL;
	json_t *one;

	json_array_foreach(b->environment, i, one)
	{
		const char *text = json_string_value(one);

		if (text && strncmp(text, name, n) == 0 && text[n] == '=')
			found = text + n + 1;
	}
	return found;
}
