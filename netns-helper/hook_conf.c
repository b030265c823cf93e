/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hook_conf.c – see hook_conf.h. #syscalls: openat openat2 fstat read */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "netns-helper/hook_conf.h"
#include "netns-helper/hook_json.h"
#include "netns-helper/state.h"
#include "netns-helper/unix_paths.h"

#include "base/cleanup.h"

enum {
	HOOK_CONF_CONTAINER = 64
}; /* digits of the ids that engines make; half of them name a sandbox as well */

static const char hook_conf_prefix[] = "sallyport.";
static const char hook_conf_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
static const char hook_conf_hex[] = "0123456789abcdef";

enum hook_conf_kind {
	HOOK_CONF_TEXT,
	HOOK_CONF_PATH_TEXT,
	HOOK_CONF_NAME,
	HOOK_CONF_FLAG,
	HOOK_CONF_LIST
};

#define AT(member) offsetof(struct hook_conf, member)
/* clang-format off */
static const struct {
	const char *key;
	enum hook_conf_kind kind;
	size_t offset, count; /* count: of a list, where its length goes */
	size_t most;
} hook_conf_rows[] = {
	{"state", HOOK_CONF_PATH_TEXT, AT(state), 0, 0},
	{"policies", HOOK_CONF_PATH_TEXT, AT(policies), 0, 0},
	{"policy", HOOK_CONF_NAME, AT(policy), 0, 0},
	{"mode", HOOK_CONF_TEXT, AT(mode), 0, 0},
	{"strict", HOOK_CONF_FLAG, AT(strict), 0, 0},
	{"credentials", HOOK_CONF_LIST, AT(credentials), AT(ncredentials), HOOK_CONF_WORDS},
	{"annotations", HOOK_CONF_LIST, AT(annotations), AT(nannotations), HOOK_CONF_ANNOTATIONS},
	{"search", HOOK_CONF_LIST, AT(search), AT(nsearch), PROTO_SEARCH},
	{"unix", HOOK_CONF_LIST, AT(unix_paths), AT(nunix_paths), PROTO_UNIX_PATHS},
};
/* clang-format on */

/* A lower-case letter or digit, then those, '_' and '-': neither a path nor, in an id, the end of the word. */
static bool hook_conf_word(const char *text)
{
	size_t n = strlen(text);

	return n > 0 && n < HOOK_CONF_WORD && strchr(hook_conf_letters, text[0]) &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-") == n;
}

static bool hook_conf_mode(const char *text)
{
	return strcmp(text, "sealed") == 0 || strcmp(text, "uplink") == 0;
}

static int hook_conf_list(json_t *value, const char **to, size_t most, size_t *n)
{
	if (!json_is_array(value) || json_array_size(value) > most)
		return -EINVAL;
	for (*n = 0; *n < json_array_size(value); (*n)++) {
		json_t *one = json_array_get(value, *n);

		to[*n] = json_string_value(one);
		if (!to[*n] || !to[*n][0] || strlen(to[*n]) != json_string_length(one))
			return -EINVAL;
	}
	return 0;
}

static int hook_conf_set(struct hook_conf *c, size_t row, json_t *value)
{
	char *at = (char *)c + hook_conf_rows[row].offset;
	const char *text = json_string_value(value);

	if (hook_conf_rows[row].kind == HOOK_CONF_FLAG) {
		*(bool *)(void *)at = json_is_true(value);
		return json_is_boolean(value) ? 0 : -EINVAL;
	}
	if (hook_conf_rows[row].kind == HOOK_CONF_LIST)
		return hook_conf_list(value, (const char **)(void *)at, hook_conf_rows[row].most,
			(size_t *)(void *)((char *)c + hook_conf_rows[row].count));
	if (!text || !text[0] || strlen(text) != json_string_length(value))
		return -EINVAL;
	if ((hook_conf_rows[row].kind == HOOK_CONF_PATH_TEXT && text[0] != '/') ||
		(hook_conf_rows[row].kind == HOOK_CONF_NAME && !hook_conf_word(text)))
		return -EINVAL;
	*(const char **)(void *)at = text;
	return 0;
}

static const struct {
	const char *name, *wants;
} hook_conf_annotations[] = {
	{"policy", "the name of a policy: letters of a-z, digits, _ and -"},
	{"mode", "sealed or uplink"},
	{"search", "search domains"},
	{"strict", "true"},
	{"credentials", "one of the words under credentials in hooks.json"},
};
static_assert(ARRAY_SIZE(hook_conf_annotations) == HOOK_CONF_ANNOTATIONS, "room for each");

/* What it wants, NULL: there is no annotation of that name. */
static const char *hook_conf_wants(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(hook_conf_annotations); i++)
		if (strcmp(hook_conf_annotations[i].name, name) == 0)
			return hook_conf_annotations[i].wants;
	return NULL;
}

/* Whether an annotation of that name is heeded: an image may bring its own (Podman). */
static bool hook_conf_offers(const struct hook_conf *c, const char *name)
{
	for (size_t i = 0; i < c->nannotations; i++)
		if (strcmp(c->annotations[i], name) == 0)
			return true;
	return false;
}

/* What the rows do not say. The key that is wrong, or NULL. */
static const char *hook_conf_judge(const struct hook_conf *c)
{
	if (!hook_conf_mode(c->mode))
		return "mode";
	if (c->ncredentials == 0)
		return "credentials";
	for (size_t i = 0; i < c->ncredentials; i++)
		if (!hook_conf_word(c->credentials[i]))
			return "credentials";
	for (size_t i = 0; i < c->nannotations; i++)
		if (!hook_conf_wants(c->annotations[i]))
			return "annotations";
	for (size_t i = 0; i < c->nsearch; i++)
		if (strlen(c->search[i]) >= PROTO_NAME || strpbrk(c->search[i], " \t\r\n"))
			return "search";
	for (size_t i = 0; i < c->nunix_paths; i++)
		if (!unix_paths_valid(c->unix_paths[i]))
			return "unix";
	return NULL;
}

static void hook_conf_defaults(struct hook_conf *ret)
{
	*ret = (struct hook_conf){
		.state = STATE_DEFAULT,
		.policies = "/etc/sallyport/policies",
		.policy = "default",
		.mode = "sealed",
		.credentials = {"container"},
		.ncredentials = 1,
		.annotations = {"strict"}, /* it only refuses more */
		.nannotations = 1,
	};
}

int hook_conf_take(
	struct json_t *document, const char *path, struct fault *fault, struct hook_conf *ret)
{
	const char *key, *wrong;
	json_t *value;

	hook_conf_defaults(ret);
	ret->document = document;
	json_object_foreach(document, key, value)
	{
		size_t row = 0;

		while (row < ARRAY_SIZE(hook_conf_rows) &&
			strcmp(hook_conf_rows[row].key, key) != 0)
			row++;
		if (row == ARRAY_SIZE(hook_conf_rows))
			return fault_set(fault, -EINVAL,
				"%s: there is no key %.40s; see sallyport-hook(8)", path, key);
		if (hook_conf_set(ret, row, value) < 0)
			return fault_set(fault, -EINVAL,
				"%s: %s has no such value; see sallyport-hook(8)", path, key);
	}
	wrong = hook_conf_judge(ret);
	return wrong ? fault_set(fault, -EINVAL, "%s: %s has no such value; see sallyport-hook(8)",
			       path, wrong)
		     : 0;
}

/* Whether it is a file that nobody but root can have written. */
static bool hook_conf_roots(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == 0 &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

int hook_conf_load(const char *path, struct fault *fault, struct hook_conf *ret)
{
	const char *file = path ? path : HOOK_CONF_PATH;
	_cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	json_t *document;
	int r;

	hook_conf_defaults(ret);
	if (fd < 0 && errno == ENOENT && !path)
		return 0;
	if (fd < 0)
		return fault_set(fault, -errno, "%s: %s", file, strerror(errno));
	if (!hook_conf_roots(fd))
		return fault_set(fault, -EPERM,
			"%s: must be a file of root's that only root may write: chown root, chmod "
			"go-w",
			file);
	r = hook_json_read(fd, file, fault, &document);
	return r < 0 ? r : hook_conf_take(document, file, fault, ret);
}

void hook_conf_done(struct hook_conf *c)
{
	json_decref(c->document);
	c->document = NULL;
}

/* ---- what a container chooses */

static int hook_conf_annotated(
	const struct hook_conf *c, const char *name, const char *value, struct hook_choice *ret)
{
	if (strcmp(name, "policy") == 0 && hook_conf_word(value)) {
		ret->policy = value;
		return 0;
	}
	if (strcmp(name, "mode") == 0 && hook_conf_mode(value)) {
		ret->mode = value;
		return 0;
	}
	if (strcmp(name, "search") == 0 && strlen(value) < PROTO_SEARCH * (size_t)PROTO_NAME) {
		ret->search = value;
		return 0;
	}
	if (strcmp(name, "strict") == 0 && strcmp(value, "true") == 0) {
		ret->strict = true;
		return 0;
	}
	for (size_t i = 0; strcmp(name, "credentials") == 0 && i < c->ncredentials; i++)
		if (strcmp(c->credentials[i], value) == 0) {
			ret->credentials = value;
			return 0;
		}
	return -EINVAL;
}

static int hook_conf_refuse(
	const struct hook_conf *c, struct fault *fault, const char *key, const char *value)
{
	const char *name = key + sizeof(hook_conf_prefix) - 1, *wants = hook_conf_wants(name);

	if (wants && !hook_conf_offers(c, name))
		return fault_set(fault, -EPERM,
			"annotation %s=%.64s: containers and images may not choose that: list %s "
			"under annotations in hooks.json, or set it there",
			key, value ? value : "", name);
	if (wants)
		return fault_set(fault, -EINVAL, "annotation %s=%.64s: wants %s", key,
			value ? value : "", wants);
	return fault_set(fault, -EINVAL,
		"annotation %.64s: there is none of that name: policy, mode, credentials, search "
		"and strict are those that there are",
		key);
}

/* The last part of a sandbox's id. Engines number their containers with 64 digits, which is one too many. */
static int hook_conf_id(const char *word, const char *container, struct fault *fault, char *ret)
{
	size_t n = strlen(container);
	int wrote;

	if (n == HOOK_CONF_CONTAINER && strspn(container, hook_conf_hex) == n)
		n /= 2;
	if (!n || strspn(container, "abcdefghijklmnopqrstuvwxyz0123456789_.-") < n)
		return fault_set(fault, -EINVAL,
			"container id %.64s: cannot name a sandbox: a-z, 0-9, _ . and - can",
			container);
	wrote = snprintf(ret, PROTO_ID, "%s.%.*s", word, (int)(n < 1024 ? n : 1024), container);
	return wrote >= PROTO_ID ? fault_set(fault, -EINVAL,
					   "container id %.64s...: is too long to name a sandbox: "
					   "at most %d characters",
					   container, (int)(PROTO_ID - 2 - strlen(word)))
				 : 0;
}

int hook_conf_choose(const struct hook_conf *c, struct json_t *annotations, const char *container,
	struct fault *fault, struct hook_choice *ret)
{
	json_t *value;
	const char *key;

	*ret = (struct hook_choice){.policy = c->policy,
		.mode = c->mode,
		.credentials = c->credentials[0],
		.strict = c->strict};
	json_object_foreach(annotations, key, value)
	{
		const char *text = json_string_value(value);

		if (strncmp(key, hook_conf_prefix, sizeof(hook_conf_prefix) - 1) != 0)
			continue;
		if (!text || strlen(text) != json_string_length(value) ||
			!hook_conf_offers(c, key + sizeof(hook_conf_prefix) - 1) ||
			hook_conf_annotated(c, key + sizeof(hook_conf_prefix) - 1, text, ret) < 0)
			return hook_conf_refuse(c, fault, key, text);
	}
	return hook_conf_id(ret->credentials, container, fault, ret->id);
}

int hook_conf_policy(const struct hook_conf *c, const char *name, struct fault *fault)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	_cleanup_close_ int directory = open(c->policies, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = -1;
	char file[HOOK_CONF_WORD + 8];

	(void)snprintf(file, sizeof(file), "%s.yaml", name); /* a name is short */
	if (directory < 0)
		return fault_set(fault, -errno, "%s: %s: make it, and put %s into it", c->policies,
			strerror(errno), file);
	fd = (int)syscall(SYS_openat2, directory, file, &how, sizeof(how));
	if (fd < 0 && errno == ENOENT)
		return fault_set(fault, -ENOENT,
			"there is no policy %s: write %s/%s, or name another by the annotation "
			"%spolicy",
			name, c->policies, file, hook_conf_prefix);
	if (fd < 0)
		return fault_set(fault, -errno, "%s/%s: %s", c->policies, file, strerror(errno));
	if (!hook_conf_roots(fd))
		return fault_set(fault, -EPERM,
			"%s/%s: must be a file of root's that only root may write: chown root, "
			"chmod go-w",
			c->policies, file);
	return TAKE_FD(fd);
}
