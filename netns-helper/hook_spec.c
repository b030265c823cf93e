/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hook_spec.c – see hook_spec.h. #syscalls: readlink */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "netns-helper/handout.h"
#include "netns-helper/hook_bundle.h"
#include "netns-helper/hook_json.h"
#include "netns-helper/hook_spec.h"
#include "netns-helper/hook_trust.h"

#include "base/cleanup.h"

enum { HOOK_SPEC_TIMEOUT = 60, HOOK_SPEC_VALUE = 4096 };

/* For programs that do not read the system's bundle, or whose image has none (realclients). */
static const struct {
	const char *name, *value;
} hook_spec_variables[] = {
	{"NODE_EXTRA_CA_CERTS", HOOK_TRUST_DIRECTORY "/" HOOK_TRUST_CA},
	{"SSL_CERT_FILE", HOOK_TRUST_DIRECTORY "/" HOOK_TRUST_BUNDLE},
	{"CURL_CA_BUNDLE", HOOK_TRUST_DIRECTORY "/" HOOK_TRUST_BUNDLE},
	{"REQUESTS_CA_BUNDLE", HOOK_TRUST_DIRECTORY "/" HOOK_TRUST_BUNDLE},
	{"GIT_SSL_CAINFO", HOOK_TRUST_DIRECTORY "/" HOOK_TRUST_BUNDLE},
	{"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", HOOK_TRUST_DIRECTORY "/" HOOK_TRUST_BUNDLE},
};

/* Added to what is there. */
static const char hook_spec_java[] = "JAVA_TOOL_OPTIONS";
static const char hook_spec_java_value[] =
	"-Djavax.net.ssl.trustStore=" HOOK_TRUST_DIRECTORY "/" HOOK_TRUST_KEYSTORE
	" -Djavax.net.ssl.trustStorePassword=changeit";

int hook_spec_container(
	const struct hook_bundle *b, struct fault *fault, char ret[HOOK_SPEC_ID + 1])
{
	const char *path = hook_json_text(b->config, "linux/cgroupsPath");
	size_t n = path ? strlen(path) : 0;
	const char *id = n >= HOOK_SPEC_ID ? path + n - HOOK_SPEC_ID : NULL;

	if (!id || strspn(id, "0123456789abcdef") != HOOK_SPEC_ID)
		return fault_set(fault, -ENOENT,
			"linux.cgroupsPath does not end in the container's id: let the engine make "
			"a cgroup "
			"for each container (with Podman not --cgroups=disabled), or name it: "
			"--id");
	memcpy(ret, id, HOOK_SPEC_ID + 1);
	return 0;
}

static int hook_spec_oom(struct fault *fault)
{
	return fault_set(fault, -ENOMEM, "out of memory");
}

/* The variable has that value and no other. */
static int hook_spec_set(json_t *list, const char *name, const char *value)
{
	size_t n = strlen(name);

	for (size_t i = json_array_size(list); i-- > 0;) {
		const char *text = json_string_value(json_array_get(list, i));

		if (text && strncmp(text, name, n) == 0 && text[n] == '=')
			(void)json_array_remove(list, i); /* it is there */
	}
	return json_array_append_new(list, json_sprintf("%s=%s", name, value));
}

/* The object or array of that name, made if it is not there; NULL: it is something else, or there is no memory. */
static json_t *hook_spec_member(json_t *object, const char *name, bool array)
{
	json_t *found = json_object_get(object, name);

	if (!found) {
		found = array ? json_array() : json_object();
		if (json_object_set_new(object, name, found) < 0)
			return NULL;
	}
	return array ? (json_is_array(found) ? found : NULL)
		     : (json_is_object(found) ? found : NULL);
}

static int hook_spec_set_java(json_t *list, const struct hook_bundle *b)
{
	const char *old = hook_bundle_variable(b, hook_spec_java);
	char value[HOOK_SPEC_VALUE];

	if (!old || !*old)
		return hook_spec_set(list, hook_spec_java, hook_spec_java_value);
	if (strstr(old, hook_spec_java_value))
		return 0;
	if (snprintf(value, sizeof(value), "%s %s", old, hook_spec_java_value) >=
		(int)sizeof(value))
		return 0; /* the container's own choice then stands, and its bundle is covered */
	return hook_spec_set(list, hook_spec_java, value);
}

int hook_spec_environment(struct json_t *config, const struct handout *handout, struct fault *fault)
{
	json_t *process = hook_spec_member(config, "process", false);
	json_t *list = process ? hook_spec_member(process, "env", true) : NULL;
	const struct hook_bundle b = {.environment = list};
	int r = 0;

	if (!list)
		return fault_set(fault, -EBADMSG, "config.json: process.env: is not a list");
	for (size_t i = 0; i < ARRAY_SIZE(hook_spec_variables); i++)
		r |= hook_spec_set(list, hook_spec_variables[i].name, hook_spec_variables[i].value);
	r |= hook_spec_set_java(list, &b);
	for (size_t i = 0; i < handout->nvariables; i++)
		r |= hook_spec_set(list, handout->variables[i].name, handout->variables[i].value);
	return r ? hook_spec_oom(fault) : 0;
}

static int hook_spec_hook(json_t *hooks, const char *stage, const char *self, const char *conf)
{
	json_t *list = hook_spec_member(hooks, stage, true), *hook;

	if (!list)
		return -EBADMSG;
	for (size_t i = json_array_size(list); i-- > 0;) {
		const char *path = hook_json_text(json_array_get(list, i), "path");

		if (path && strcmp(path, self) == 0)
			(void)json_array_remove(list, i); /* it is there */
	}
	hook = conf ? json_pack("{s:s, s:[s,s,s,s], s:i}", "path", self, "args", "sallyport-hook",
			      "--config", conf, stage, "timeout", HOOK_SPEC_TIMEOUT)
		    : json_pack("{s:s, s:[s,s], s:i}", "path", self, "args", "sallyport-hook",
			      stage, "timeout", HOOK_SPEC_TIMEOUT);
	return json_array_append_new(list, hook) < 0 ? -ENOMEM : 0;
}

int hook_spec_hooks(struct json_t *config, const char *conf, struct fault *fault)
{
	json_t *hooks = hook_spec_member(config, "hooks", false);
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int r;

	if (n < 0)
		return fault_set(fault, -errno, "/proc/self/exe: %s", strerror(errno));
	self[n] = '\0';
	r = hooks ? hook_spec_hook(hooks, "createRuntime", self, conf) : -EBADMSG;
	r = r ? r : hook_spec_hook(hooks, "poststop", self, conf);
	if (r == -EBADMSG)
		return fault_set(fault, r, "config.json: hooks: is not of the form");
	return r ? hook_spec_oom(fault) : 0;
}

int hook_spec_refuse(struct json_t *config, const char *why, struct fault *fault)
{
	json_t *annotations = hook_spec_member(config, "annotations", false);

	if (!annotations)
		return fault_set(fault, -EBADMSG, "config.json: annotations: is not an object");
	return json_object_set_new(annotations, HOOK_SPEC_REFUSED, json_string(why)) < 0
		       ? hook_spec_oom(fault)
		       : 0;
}

int hook_spec_refused(const struct hook_bundle *b, struct fault *fault)
{
	const char *why = hook_json_text(b->annotations, HOOK_SPEC_REFUSED);

	return why ? fault_set(fault, -EPERM, "%s", why) : 0;
}

void hook_spec_lacks(
	const struct hook_bundle *b, const struct handout *handout, char *ret, size_t size)
{
	size_t n = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < handout->nvariables && n < size; i++) {
		const char *value = hook_bundle_variable(b, handout->variables[i].name);

		if (!value || strcmp(value, handout->variables[i].value) != 0)
			n += (size_t)snprintf(ret + n, size - n, "%s%s", n ? ", " : "",
				handout->variables[i].name);
	}
	if (n < size && !hook_bundle_variable(b, hook_spec_variables[0].name))
		(void)snprintf(
			ret + n, size - n, "%s%s", n ? ", " : "", hook_spec_variables[0].name);
}
