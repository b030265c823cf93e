/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hook_trust.h – what a container sees of its sandbox: HOOK_TRUST_DIRECTORY with the CA, the bundles with it, the
 * placeholders, and over its own bundles and resolv.conf. Nothing is left on the machine: it is a mount in the
 * container's mount namespace. */
#ifndef SALLYPORT_HOOK_TRUST_H
#define SALLYPORT_HOOK_TRUST_H

#include <stddef.h>

#include "netns-helper/proto.h"

#include "base/fault.h"
#include "base/slice.h"

#define HOOK_TRUST_DIRECTORY   "/run/sallyport"
#define HOOK_TRUST_CA          "ca.pem"
#define HOOK_TRUST_BUNDLE      "bundle.pem" /* the container's own and the CA */
#define HOOK_TRUST_KEYSTORE    "cacerts" /* the same for Java */
#define HOOK_TRUST_ENVIRONMENT "environment" /* NAME=placeholder, for who is started later */

struct handout;

struct hook_trust_spec {
	int mounts; /* the container's mount namespace */
	const char *root; /* of its file system, as that namespace has it */
	const struct handout *handout;
	const char (*search)[PROTO_NAME]; /* PROTO_SEARCH of them, empty from the first unused on */
};

/* 0, or -errno with the reason, after which the container must not start. */
int hook_trust(const struct hook_trust_spec *spec, struct fault *fault);

#endif
