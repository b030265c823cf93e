/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hook_conf.h – /etc/sallyport/hooks.json, what an operator decides for all containers, and what a container's
 * annotations choose among it (sallyport-hook(8)). Whoever makes a container is not trusted with more than that choice:
 * policies are named, never a path; credentials are chosen by the word with which the sandbox's id begins.
 */
#ifndef SALLYPORT_HOOK_CONF_H
#define SALLYPORT_HOOK_CONF_H

#include <stdbool.h>
#include <stddef.h>

#include "netns-helper/proto.h"

#include "base/fault.h"

#define HOOK_CONF_PATH "/etc/sallyport/hooks.json"

enum {
	HOOK_CONF_WORDS = 64, /* words of `credentials` */
	HOOK_CONF_WORD = 32, /* a policy's name or a word of credentials, and NUL */
	HOOK_CONF_ANNOTATIONS = 5, /* that there are */
};

struct json_t;

struct hook_conf {
	struct json_t *document; /* owned; what the texts lead into */
	const char *state; /* directory */
	const char *policies; /* directory */
	const char *policy; /* the default's name */
	const char *mode; /* the default: "sealed" or "uplink" */
	const char *credentials[HOOK_CONF_WORDS]; /* the first is the default */
	size_t ncredentials;
	const char *annotations[HOOK_CONF_ANNOTATIONS]; /* that may choose, without `sallyport.` */
	size_t nannotations;
	const char *search[PROTO_SEARCH];
	size_t nsearch;
	const char *unix_paths[PROTO_UNIX_PATHS];
	size_t nunix_paths;
	bool strict;
};

/* What holds for one container. Texts lead into the configuration or the container's. */
struct hook_choice {
	const char *policy, *mode, *credentials;
	const char *
		search; /* of its annotation, words separated by spaces; NULL = the configuration's */
	bool strict;
	char id[PROTO_ID]; /* of its sandbox: CREDENTIALS.CONTAINER */
};

/*
 * Reads the file, which must be root's and writable by root alone. Without the default file there are the defaults; one
 * that was named must be there. 0, or -errno with the reason. hook_conf_done() at the end in any case.
 */
int hook_conf_load(const char *path, struct fault *fault, struct hook_conf *ret);
/* The same of a document that is taken over; `path` for messages. */
int hook_conf_take(
	struct json_t *document, const char *path, struct fault *fault, struct hook_conf *ret);
void hook_conf_done(struct hook_conf *c);

/*
 * What the annotations (an object, may be NULL) choose for the container of that id. 0, or with the reason -EINVAL: an
 * annotation sallyport.* that there is not, or with a value that is not to be had; -EPERM: one that the configuration
 * does not offer.
 */
int hook_conf_choose(const struct hook_conf *c, struct json_t *annotations, const char *container,
	struct fault *fault, struct hook_choice *ret);

/* Opens the policy's file for reading; only a plain file of root's in the directory. A descriptor, or -errno with the reason. */
int hook_conf_policy(const struct hook_conf *c, const char *name, struct fault *fault);

#endif
