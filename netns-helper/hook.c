/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hook.c – sallyport-hook: attaches containers for an OCI runtime. See sallyport-hook(8).
 *
 *   precreate      (Podman) config.json in, config.json out: the daemon makes the sandbox's placeholders and CA, and
 *                  their variables go into the container's environment, which is fixed from here on. Podman swallows
 *                  what this stage says on standard error: a refusal travels as an annotation, and createRuntime, of
 *                  which the runtime shows the words, refuses with it
 *   prepare        the same for a bundle in place, and adds the next two to its hooks
 *   createRuntime  state in: the container's first process waits, its namespaces, cgroup and mounts are made. Attaches
 *                  them, then puts CA, bundles and resolv.conf into the mounts
 *   poststop       state in: detaches what createRuntime attached for this container, and nothing else
 *
 * Runs as root with the runtime's rights; knows no secret (placeholders are none). Trusts: its arguments, its
 * configuration, the runtime. Does not trust: annotations, the root file system's content, what the daemon handed out.
 * A failure is one line on standard error and status 1, upon which the runtime does not start the container.
 *
 * Order of createRuntime: everything that can be refused without asking anybody; the attach; what the container sees.
 * If that fails, or this process dies, the attach is taken back: by us, by poststop, or by the helper when the cgroup
 * is empty (containers.c).
 *
 * #syscalls: read write openat rename, and those of the parts
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netns-helper/document.h"
#include "netns-helper/handout.h"
#include "netns-helper/hook_ask.h"
#include "netns-helper/hook_bundle.h"
#include "netns-helper/hook_conf.h"
#include "netns-helper/hook_json.h"
#include "netns-helper/hook_place.h"
#include "netns-helper/hook_seccomp.h"
#include "netns-helper/hook_spec.h"
#include "netns-helper/hook_state.h"
#include "netns-helper/hook_trust.h"
#include "netns-helper/jail.h"

#include "base/cleanup.h"
#include "base/log.h"

enum { HOOK_OK = 0, HOOK_FAILED = 1, HOOK_USAGE = 64 /* EX_USAGE of sysexits.h */ };

struct hook_arguments {
	const char *conf, *id, *bundle; /* NULL = not given */
};

/* One container on its way in. */
struct hook_entry {
	struct hook_state state;
	struct hook_conf conf;
	struct hook_bundle bundle;
	struct hook_choice choice;
	struct hook_place place;
	struct handout handout;
	struct proto_attach request;
	int policy; /* owned: a sealed copy */
};

/* ---- what all have in common */

/* A container's runtime that is not root cannot attach: neither could it load a program nor enter a cgroup. */
static int hook_judge_user(struct fault *fault)
{
	unsigned long inside, outside, n;
	FILE *f = fopen("/proc/self/uid_map", "re");
	int got = f ? fscanf(f, "%lu %lu %lu", &inside, &outside, &n) : 0;

	if (f)
		(void)fclose(f); /* only read */
	if (geteuid() == 0 && got == 3 && inside == 0 && outside == 0 && n == 4294967295UL)
		return 0;
	return fault_set(fault, -EPERM,
		"a rootless runtime's containers cannot be attached: run the runtime as root");
}

static int hook_read_state(struct fault *fault, struct hook_state *ret)
{
	json_t *document;
	int r = hook_json_read(STDIN_FILENO, "the container's state", fault, &document);

	if (r < 0)
		return r;
	r = hook_state_take(document, fault, ret);
	json_decref(document);
	return r;
}

static int hook_copy_policy(const struct hook_entry *e, struct fault *fault)
{
	_cleanup_close_ int file = hook_conf_policy(&e->conf, e->choice.policy, fault);
	_cleanup_free_ char *text = NULL;
	size_t n;
	int r;

	if (file < 0)
		return file;
	r = document_text(file, &text, &n);
	r = r < 0 ? r : document_new("policy", text, n);
	return r < 0 ? fault_set(fault, r, "%s/%s.yaml: %s", e->conf.policies, e->choice.policy,
			       strerror(-r))
		     : r;
}

/* ---- createRuntime */

/* Search domains: the annotation's, or the configuration's. */
static int hook_search(struct hook_entry *e, struct fault *fault)
{
	const char *text = e->choice.search;
	size_t n = 0;

	for (size_t i = 0; !text && i < e->conf.nsearch; i++)
		(void)snprintf(e->request.search[i], PROTO_NAME, "%s", e->conf.search[i]);
	while (text && *(text += strspn(text, " "))) {
		size_t length = strcspn(text, " ");

		if (n == PROTO_SEARCH || length >= PROTO_NAME ||
			strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ012345678"
				     "9_.-") < length)
			return fault_set(fault, -EINVAL,
				"annotation sallyport.search: wants at most %d domain names",
				PROTO_SEARCH);
		(void)snprintf(e->request.search[n++], PROTO_NAME, "%.*s", (int)length, text);
		text += length;
	}
	return 0;
}

static int hook_request(struct hook_entry *e, struct fault *fault)
{
	e->request = (struct proto_attach){
		.head = {PROTO_ATTACH, PROTO_VERSION},
		.mode = strcmp(e->choice.mode, "uplink") == 0 ? PROTO_UPLINK : PROTO_SEALED,
		.strict = e->choice.strict,
		.bounding_said = 1,
		.bounding = e->bundle.bounding,
		.owner = e->state.owner,
	};
	memcpy(e->request.id, e->choice.id, sizeof(e->request.id));
	for (size_t i = 0; i < e->conf.nunix_paths; i++)
		(void)snprintf(e->request.unix_paths[i], PROTO_UNIX_PATH, "%s",
			e->conf.unix_paths[i]); /* were judged */
	return hook_search(e, fault);
}

/* Everything that nobody else is asked for. */
static int hook_gather(struct hook_entry *e, const char *conf, struct fault *fault)
{
	int r = hook_judge_user(fault);

	r = r ? r : hook_read_state(fault, &e->state);
	r = r ? r : hook_conf_load(conf, fault, &e->conf);
	r = r ? r : hook_bundle_load(e->state.bundle, fault, &e->bundle);
	r = r ? r : hook_spec_refused(&e->bundle, fault);
	r = r ? r
	      : hook_conf_choose(&e->conf, e->bundle.annotations, e->state.id, fault, &e->choice);
	r = r ? r : hook_request(e, fault);
	if (r == 0 && !e->bundle.network)
		r = fault_set(fault, -EINVAL,
			"the container has no network namespace, and that of the machine is never "
			"attached: give it one (--network none)");
	r = r ? r : hook_place_find(e->state.pid, fault, &e->place);
	if (r == 0) {
		e->policy = hook_copy_policy(e, fault);
		r = e->policy < 0 ? e->policy : 0;
	}
	return r;
}

/* The daemon knows a policy by its text alone, and calls it "policy"; here it has a path. */
static int hook_name_policy(
	const struct hook_entry *e, int r, const char *text, struct fault *fault)
{
	static const char unnamed[] = "policy:";

	if (strncmp(text, unnamed, sizeof(unnamed) - 1) != 0)
		return fault_set(fault, r, "%s", text);
	return fault_set(fault, r, "%s/%s.yaml:%s", e->conf.policies, e->choice.policy,
		text + sizeof(unnamed) - 1);
}

static int hook_attach(struct hook_entry *e, struct fault *fault)
{
	const int fds[3] = {e->place.netns, e->place.cgroup, e->policy};
	struct fault refused = {""};
	int r = hook_ask_attach(e->conf.state, &e->request, fds, &refused);

	return r < 0 ? hook_name_policy(e, r, refused.text, fault) : 0;
}

/* What is not as it should be: for the status, or a refusal under strict. */
static int hook_degraded(const struct hook_entry *e, const char *feature, const char *remedy,
	struct fault *fault, const char *reason)
{
	struct proto_note note = {.head = {PROTO_DEGRADED, PROTO_VERSION}};

	if (e->choice.strict)
		return fault_set(fault, -EPERM, "strict: %s: %s: %s", feature, reason, remedy);
	memcpy(note.id, e->choice.id, sizeof(note.id));
	(void)snprintf(note.feature, sizeof(note.feature), "%s", feature);
	(void)snprintf(note.reason, sizeof(note.reason), "%s", reason);
	(void)snprintf(note.remedy, sizeof(note.remedy), "%s", remedy);
	log_warn("container %.64s: degraded: %s: %s: %s", e->state.id, feature, reason, remedy);
	return hook_ask_degraded(e->conf.state, &note, fault);
}

static int hook_judge_seccomp(const struct hook_entry *e, struct fault *fault)
{
	char open[256], reason[300];

	hook_seccomp_open(e->bundle.seccomp, jail_vsock(), open, sizeof(open));
	if (!open[0])
		return 0;
	(void)snprintf(reason, sizeof(reason), "lets through %s", open);
	return hook_degraded(e, "seccomp",
		"start it with the profile scripts/hooks/seccomp.json (--security-opt "
		"seccomp=FILE)",
		fault, reason);
}

static int hook_judge_environment(const struct hook_entry *e, struct fault *fault)
{
	char lacks[256], reason[300];

	hook_spec_lacks(&e->bundle, &e->handout, lacks, sizeof(lacks));
	if (!lacks[0])
		return 0;
	(void)snprintf(reason, sizeof(reason), "without %s", lacks);
	return hook_degraded(e, "environment",
		"let the precreate hook or `sallyport-hook prepare` put them in, or "
		"read " HOOK_TRUST_DIRECTORY "/" HOOK_TRUST_ENVIRONMENT " in it",
		fault, reason);
}

static int hook_furnish(struct hook_entry *e, struct fault *fault)
{
	const struct hook_trust_spec trust = {
		.mounts = e->place.mounts,
		.root = e->bundle.root,
		.handout = &e->handout,
		.search = (const char(*)[PROTO_NAME])e->request.search,
	};
	int r = handout_read(e->conf.state, e->choice.id, fault, &e->handout);

	r = r ? r : hook_trust(&trust, fault);
	r = r ? r : hook_judge_seccomp(e, fault);
	return r ? r : hook_judge_environment(e, fault);
}

static int hook_enter(struct hook_entry *e, struct fault *fault)
{
	struct fault ignored = {""};
	int r = hook_attach(e, fault);

	if (r < 0)
		return r;
	r = hook_furnish(e, fault);
	if (r < 0)
		(void)hook_ask_release(e->conf.state, e->request.owner,
			&ignored); /* the helper does it when the container is gone */
	return r;
}

static int hook_create_runtime(const struct hook_arguments *a)
{
	static struct hook_entry e = {.place = {-1, -1, -1}, .policy = -1};
	struct fault fault = {""};
	int r = hook_gather(&e, a->conf, &fault);

	r = r ? r : hook_enter(&e, &fault);
	if (r < 0)
		log_error("container %.64s: %s", e.state.id, fault.text);
	cleanup_close(&e.policy);
	hook_place_done(&e.place);
	hook_bundle_done(&e.bundle);
	hook_conf_done(&e.conf);
	return r < 0 ? HOOK_FAILED : HOOK_OK;
}

/* ---- poststop */

static int hook_poststop(const struct hook_arguments *a)
{
	struct fault fault = {""};
	struct hook_state state;
	struct hook_conf conf;
	int r = hook_read_state(&fault, &state);

	if (r < 0) {
		log_error("%s", fault.text);
		return HOOK_FAILED;
	}
	if (hook_conf_load(a->conf, &fault, &conf) == 0)
		r = hook_ask_release(conf.state, state.owner, &fault);
	hook_conf_done(&conf);
	/* somebody else detaches it; without a helper nothing is attached; without a configuration createRuntime has said
	 * so, or the helper does it when the container has ended */
	if (r == 0 || r == -EBUSY || r == -ECOMM)
		return HOOK_OK;
	log_error("container %.64s: %s", state.id, fault.text);
	return HOOK_FAILED;
}

/* ---- precreate, prepare */

/* Makes the sandbox's handout and puts it into the configuration, which is the bundle's. */
static int hook_outfit(struct hook_bundle *bundle, const char *container, const char *conf_path,
	struct fault *fault)
{
	static struct handout handout;
	struct hook_choice choice;
	struct hook_conf conf;
	int r = hook_judge_user(fault);

	if (r < 0)
		return r;
	r = hook_conf_load(conf_path, fault, &conf);
	r = r ? r : hook_conf_choose(&conf, bundle->annotations, container, fault, &choice);
	r = r ? r : hook_ask_prepare(conf.state, choice.id, fault);
	r = r ? r : handout_read(conf.state, choice.id, fault, &handout);
	r = r ? r : hook_spec_environment(bundle->config, &handout, fault);
	hook_conf_done(&conf);
	return r;
}

static int hook_precreate(const struct hook_arguments *a)
{
	struct hook_bundle bundle = {.config = NULL};
	char container[HOOK_SPEC_ID + 1] = "?";
	struct fault fault = {""}, refused = {""};
	json_t *config;
	int r = hook_json_read(STDIN_FILENO, "config.json", &fault, &config);

	if (r == 0) {
		r = hook_bundle_take(config, "/", &refused, &bundle);
		r = r ? r : hook_spec_container(&bundle, &refused, container);
		r = r ? r : hook_outfit(&bundle, container, a->conf, &refused);
		if (r < 0)
			r = hook_spec_refuse(bundle.config, refused.text, &fault);
	}
	if (r == 0 && (json_dumpf(bundle.config, stdout, JSON_COMPACT) < 0 || fflush(stdout) != 0))
		r = fault_set(&fault, -EIO, "config.json cannot be written");
	if (r < 0 || refused.text[0])
		log_error("container %.64s: %s", container, r < 0 ? fault.text : refused.text);
	hook_bundle_done(&bundle);
	return r < 0 ? HOOK_FAILED : HOOK_OK;
}

static int hook_replace(const char *directory, const struct json_t *config, struct fault *fault)
{
	_cleanup_close_ int dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = -1;

	if (dir >= 0) {
		(void)unlinkat(
			dir, "config.json.new", 0); /* of one that was killed, or a second name */
		fd = openat(dir, "config.json.new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	if (fd < 0 || json_dumpfd(config, fd, JSON_INDENT(2)) < 0 || fsync(fd) < 0 ||
		renameat(dir, "config.json.new", dir, "config.json") < 0)
		return fault_set(fault, -EIO, "%.200s/config.json: cannot be written: %s",
			directory, strerror(errno));
	return 0;
}

static int hook_prepare(const struct hook_arguments *a)
{
	struct hook_bundle bundle = {.config = NULL};
	struct fault fault = {""};
	int r;

	if (!a->id || !a->bundle) {
		log_error("prepare wants --id ID and --bundle DIR");
		return HOOK_USAGE;
	}
	r = hook_bundle_load(a->bundle, &fault, &bundle);
	r = r ? r : hook_outfit(&bundle, a->id, a->conf, &fault);
	r = r ? r : hook_spec_hooks(bundle.config, a->conf, &fault);
	r = r ? r : hook_replace(a->bundle, bundle.config, &fault);
	if (r < 0)
		log_error("container %.64s: %s", a->id, fault.text);
	hook_bundle_done(&bundle);
	return r < 0 ? HOOK_FAILED : HOOK_OK;
}

/* ---- the command line */

static const struct {
	const char *name;
	int (*run)(const struct hook_arguments *a);
} hook_commands[] = {
	{"precreate", hook_precreate},
	{"createRuntime", hook_create_runtime},
	{"poststop", hook_poststop},
	{"prepare", hook_prepare},
};

static int hook_usage(void)
{
	(void)fputs("usage: sallyport-hook [--config FILE] precreate | createRuntime | poststop\n"
		    "       sallyport-hook [--config FILE] prepare --id ID --bundle DIR\n",
		stderr); /* nowhere else to say it */
	return HOOK_USAGE;
}

int main(int argc, char **argv)
{
	struct hook_arguments a = {NULL, NULL, NULL};
	const struct {
		const char *name;
		const char **to;
	} options[] = {{"--config", &a.conf}, {"--id", &a.id}, {"--bundle", &a.bundle}};
	const char *command = NULL;

	log_open("sallyport-hook", LOG_LEVEL_WARN);
	log_plain();
	(void)umask(077);
	for (int i = 1; i < argc; i++) {
		size_t o = 0;

		while (o < ARRAY_SIZE(options) && strcmp(argv[i], options[o].name) != 0)
			o++;
		if (o < ARRAY_SIZE(options) && i + 1 < argc)
			*options[o].to = argv[++i];
		else if (!command && argv[i][0] != '-')
			command = argv[i];
		else
			return hook_usage();
	}
	for (size_t i = 0; command && i < ARRAY_SIZE(hook_commands); i++)
		if (strcmp(hook_commands[i].name, command) == 0)
			return hook_commands[i].run(&a);
	return hook_usage();
}
