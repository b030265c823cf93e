/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c – see sandbox.h. Everything here but sandbox_left() runs in the control thread.
 *
 * On disk, under STATE: sandboxes/ID.json (placeholders, when it has credentials), the CA's key in sandboxes/keys,
 * sandboxes/ID.names (naming.c); handout/ID/ca.pem and, when a credential names a variable, environment, which launcher
 * and hooks read. Nothing is there twice or empty: STATE is mostly memory, and each file in it takes one to five
 * kilobytes. A
 * sandbox that is offered again after a restart finds all of it as it was; they are removed when it is withdrawn.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/keyfile.h"
#include "base/log.h"
#include "cred/credset.h"
#include "cred/placeholder.h"
#include "policy/digest.h"
#include "policy/policy.h"
#include "proxy/lookup.h"
#include "proxy/sandbox.h"
#include "proxy/shared.h"
#include "proxy/worker.h"
#include "tls/ca.h"
#include "tls/trust.h"

#define SANDBOX_KEYS        "sandboxes/keys" /* of all of them; the records beside it end in .json */
#define SANDBOX_ENVIRONMENT "handout/%s/environment"

enum { SANDBOX_PEM = 16384 };
static_assert(
	(int)LIMIT_SANDBOX_ID < (int)KEYFILE_NAME && (int)CA_KEY == (int)KEYFILE_KEY, "a record");

static uint64_t sandbox_serials;

static int sandbox_path(char ret[PATH_MAX], const char *state, const char *format, const char *id)
{
	char name[LIMIT_SANDBOX_ID + 64];
	int n = snprintf(name, sizeof(name), format, id);

	if (n < 0 || (size_t)n >= sizeof(name))
		return -ENAMETOOLONG;
	n = snprintf(ret, PATH_MAX, "%s/%s", state, name);
	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static int sandbox_save(const char *state, const char *format, const char *id, mode_t mode,
	struct slice bytes, struct fault *fault)
{
	char path[PATH_MAX];
	int r = sandbox_path(path, state, format, id);

	r = r ? r : file_replace(path, mode, bytes);
	return r < 0 ? fault_set(fault, r, "cannot write %s: %s", path, strerrordesc_np(-r)) : 0;
}

/* ---- the CA */

static int sandbox_load_ca(struct sandbox *s, const char *state)
{
	char keys[PATH_MAX], cert_path[PATH_MAX];
	uint8_t key[CA_KEY];
	struct buf cert;
	int r;

	buf_init(&cert, SANDBOX_PEM);
	r = sandbox_path(keys, state, "%s", SANDBOX_KEYS);
	r = r ? r : sandbox_path(cert_path, state, "handout/%s/ca.pem", s->at.id);
	r = r ? r : file_read(cert_path, &cert);
	r = r ? r : keyfile_find(keys, s->at.id, key);
	r = r ? r : ca_load(key, buf_slice(&cert), &s->ca);
	explicit_bzero(key, sizeof(key));
	buf_done(&cert);
	return r;
}

static int sandbox_make_ca(struct sandbox *s, const char *state, struct fault *fault)
{
	char name[LIMIT_SANDBOX_ID + 32], keys[PATH_MAX];
	uint8_t key[CA_KEY];
	int r;

	(void)snprintf(
		name, sizeof(name), "Sallyport CA %.51s", s->at.id); /* X.520: at most 64 bytes */
	r = ca_new(name, time(NULL), &s->ca);
	r = r ? r : ca_key(s->ca, key);
	if (r < 0)
		return fault_set(fault, r, "cannot make a CA: %s", strerrordesc_np(-r));
	r = sandbox_path(keys, state, "%s", SANDBOX_KEYS);
	r = r ? r : keyfile_put(keys, s->at.id, key);
	explicit_bzero(key, sizeof(key));
	return r < 0 ? fault_set(fault, r, "cannot write %s: %s", keys, strerrordesc_np(-r)) : 0;
}

/* One that is not there is made; one that cannot be read is replaced only if nobody serves with it. */
static int sandbox_find_ca(struct sandbox *s, const struct sandbox_home *home, struct fault *fault)
{
	int r = sandbox_load_ca(s, home->state);

	if (r == 0)
		return 0;
	if (home->borrowed)
		return fault_set(fault, r, "its CA cannot be read: %s", strerrordesc_np(-r));
	if (r != -ENOENT)
		log_warn(
			"sandbox %s: its CA cannot be read (%s): it gets a new one, which programs "
			"that run do not trust",
			s->at.id, strerrordesc_np(-r));
	return sandbox_make_ca(s, home->state, fault);
}

/* ---- placeholders and what launcher and hooks read */

static int sandbox_random(void *arg, uint8_t *to, size_t n)
{
	(void)arg;
	while (n) {
		ssize_t got = getrandom(to, n, 0);

		if (got < 0 && errno != EINTR)
			return -errno;
		if (got > 0) {
			to += got;
			n -= (size_t)got;
		}
	}
	return 0;
}

static int sandbox_placeholders(struct sandbox *s, const char *state, struct fault *fault)
{
	struct placeholders *old = NULL;
	char path[PATH_MAX];
	struct buf record;
	int r = sandbox_path(path, state, "sandboxes/%s.json", s->at.id);

	buf_init(&record, PLACEHOLDER_RECORD);
	r = r ? r : file_read(path, &record);
	if (r == 0)
		r = placeholders_load(buf_slice(&record), path, fault, &old);
	else if (r == -ENOENT)
		r = 0;
	buf_done(&record);
	if (r == 0 && s->credentials)
		r = placeholders_make(old, s->credentials, sandbox_random, NULL, &s->placeholders);
	else if (r == 0)
		s->placeholders = TAKE_PTR(old);
	placeholders_free(old);
	return r < 0 ? fault_set(fault, r, "placeholders of %s: %s", s->at.id, strerrordesc_np(-r))
		     : 0;
}

static int sandbox_save_placeholders(struct sandbox *s, const char *state, struct fault *fault)
{
	struct buf record;
	int r;

	if (!s->placeholders)
		return 0;
	buf_init(&record, PLACEHOLDER_RECORD);
	r = placeholders_save(s->placeholders, &record);
	r = r ? r
	      : sandbox_save(state, "sandboxes/%s.json", s->at.id, 0600, buf_slice(&record), fault);
	buf_done(&record);
	return r;
}

static int sandbox_environment(const struct sandbox *s, struct buf *out)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && s->credentials && i < credset_count(s->credentials); i++) {
		const struct credential *c = credset_at(s->credentials, i);
		const char *placeholder = placeholders_text(s->placeholders, c->name);

		if (!c->env || !placeholder)
			continue;
		r = buf_append(out, slice_str(c->env));
		r = r ? r : buf_append(out, SLICE("="));
		r = r ? r : buf_append(out, slice_str(placeholder));
		r = r ? r : buf_append(out, SLICE("\n"));
	}
	return r;
}

static int sandbox_handout(struct sandbox *s, const char *state, struct fault *fault)
{
	char path[PATH_MAX];
	struct buf bytes;
	int r = sandbox_path(path, state, "handout/%s", s->at.id);

	buf_init(&bytes, LIMIT_DOCUMENT);
	r = r ? r : file_mkdir(path, 0755);
	r = r ? r : ca_cert_pem(s->ca, &bytes);
	r = r ? r
	      : sandbox_save(state, "handout/%s/ca.pem", s->at.id, 0644, buf_slice(&bytes), fault);
	buf_done(&bytes);
	r = r ? r : sandbox_environment(s, &bytes);
	if (r == 0 && buf_used(&bytes) > 0)
		r = sandbox_save(
			state, SANDBOX_ENVIRONMENT, s->at.id, 0644, buf_slice(&bytes), fault);
	else if (r == 0 && sandbox_path(path, state, SANDBOX_ENVIRONMENT, s->at.id) == 0)
		(void)unlink(path); /* of before a restart: most never had one */
	buf_done(&bytes);
	return r < 0 ? fault_set(fault, r, "cannot write %s: %s", path, strerrordesc_np(-r)) : 0;
}

void sandbox_forget(const char *id, const char *state)
{
	static const char *const files[] = {
		"sandboxes/%s.json", "handout/%s/ca.pem", SANDBOX_ENVIRONMENT};
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (sandbox_path(path, state, files[i], id) == 0)
			(void)unlink(path); /* may be gone with the state directory already */
	naming_forget(id, state);
	if (sandbox_path(path, state, "handout/%s", id) == 0)
		(void)rmdir(path);
	if (sandbox_path(path, state, "%s", SANDBOX_KEYS) == 0)
		(void)keyfile_drop(path, id); /* likewise */
}

/* ---- upstream trust of the policy */

static int sandbox_trusts(struct sandbox *s, struct fault *fault)
{
	const char *file;

	for (unsigned i = 0; (file = policy_upstream_file(s->policy, i)); i++) {
		int r;

		if (sandbox_trust(s, file) != s->shared->trust)
			continue; /* the same file again */
		if (s->ntrusts == SANDBOX_TRUSTS)
			return fault_set(fault, -E2BIG,
				"more than %d CA files under upstream:", SANDBOX_TRUSTS);
		r = tls_trust_extend(s->shared->trust, file, fault, &s->trusts[s->ntrusts].trust);
		if (r < 0)
			return r;
		s->trusts[s->ntrusts++].file = file;
	}
	return 0;
}

struct tls_trust *sandbox_trust(const struct sandbox *s, const char *file)
{
	for (unsigned i = 0; file && i < s->ntrusts; i++)
		if (strcmp(s->trusts[i].file, file) == 0)
			return s->trusts[i].trust;
	return s->shared->trust;
}

/* ---- life */

static void sandbox_drop(struct sandbox *s)
{
	naming_end(s);
	for (unsigned i = 0; i < s->ntrusts; i++)
		tls_trust_unref(s->trusts[i].trust);
	ca_free(s->ca);
	synthetic_done(&s->synthetic);
	placeholders_free(s->placeholders);
	credset_unref(s->credentials);
	policy_unref(s->policy);
	notes_done(&s->notes);
	free((void *)s->at.search);
	free(s);
}

/* Its own copy: most have none. */
static int sandbox_search_new(struct sandbox *s, const struct sandbox_offer *offer)
{
	size_t n = offer->nsearch * sizeof(*offer->search);
	void *copy;

	if (!n)
		return 0;
	copy = calloc(1, n);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, offer->search, n);
	s->at.search = copy;
	return 0;
}

/* Most sandboxes of a machine have the same document: a policy never changes, and is held once. */
static int sandbox_policy(const struct sandbox_home *home, struct slice text, struct fault *fault,
	struct policy **ret)
{
	uint8_t digest[DIGEST_SIZE];
	int r = digest_sha256(text, digest);

	if (r < 0)
		return r;
	for (const struct sandbox *s = home->others; s; s = s->next)
		if (memcmp(policy_digest(s->policy), digest, sizeof(digest)) == 0) {
			*ret = policy_ref(s->policy);
			return 0;
		}
	return policy_load(text, "policy", fault, ret);
}

static void sandbox_warn(void *arg, const char *text)
{
	const struct sandbox *s = arg;

	log_warn("sandbox %s: %s", s->at.id, text);
}

/* CA, placeholders and handout: found on disk, or made. */
static int sandbox_find_kept(
	struct sandbox *s, const struct sandbox_home *home, struct fault *fault)
{
	int r = sandbox_find_ca(s, home, fault);

	r = r ? r : sandbox_placeholders(s, home->state, fault);
	if (r == 0 && !home->borrowed)
		r = sandbox_keep(s, home->state, fault);
	return r;
}

/* One that is never seated, and has no orders: for what is kept of it. */
static struct sandbox *sandbox_unseated_new(const struct sandbox_home *home, const char *id)
{
	struct sandbox *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	(void)snprintf(s->at.id, sizeof(s->at.id), "%s", id); /* was judged */
	s->credentials = home->credentials ? credset_ref(home->credentials) : NULL;
	return s;
}

int sandbox_prepare(const struct sandbox_home *home, const char *id, struct fault *fault)
{
	struct sandbox *s = sandbox_unseated_new(home, id);
	int r;

	if (!s)
		return fault_set(fault, -ENOMEM, "out of memory");
	r = sandbox_find_kept(s, home, fault);
	sandbox_drop(s);
	return r;
}

int sandbox_new(const struct sandbox_home *home, const struct sandbox_offer *offer,
	struct slice policy, struct fault *fault, struct sandbox **ret)
{
	struct sandbox *s;
	int r;

	s = calloc(1, sizeof(*s) + home->shared->nworkers * sizeof(s->orders[0]));
	if (!s)
		return -ENOMEM;
	s->serial = ++sandbox_serials;
	s->at = *offer;
	s->at.search = NULL;
	s->shared = home->shared;
	s->credentials = home->credentials ? credset_ref(home->credentials) : NULL;
	r = sandbox_search_new(s, offer);
	r = r ? r : sandbox_policy(home, policy, fault, &s->policy);
	if (r == 0 && s->credentials)
		r = credset_check_against_policy(s->credentials, s->policy, fault);
	if (r == 0 && s->credentials)
		credset_check_tunnels(s->credentials, s->policy, sandbox_warn, s);
	r = r ? r : sandbox_trusts(s, fault);
	r = r ? r : naming_load(s, home->state, fault);
	r = r ? r : sandbox_find_kept(s, home, fault);
	if (r < 0) {
		sandbox_drop(s);
		return r;
	}
	*ret = s;
	return 0;
}

int sandbox_keep(struct sandbox *s, const char *state, struct fault *fault)
{
	int r = sandbox_save_placeholders(s, state, fault);

	r = r ? r : sandbox_handout(s, state, fault);
	if (r == 0)
		ca_rest(s->ca); /* all that is written has been */
	return r;
}

void sandbox_free(struct sandbox *s)
{
	const int fds[] = {s->at.flow_map, s->at.dns[0], s->at.dns[1]};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	for (unsigned family = 0; family < s->at.families; family++)
		for (unsigned i = 0; i < s->at.nslots; i++)
			(void)close(s->at.tcp[family][i]);
	sandbox_drop(s);
}

struct flows sandbox_flows(const struct sandbox *s)
{
	return (struct flows){
		.live = s->at.flow_map, .closed = s->shared->closed, .netns = s->at.netns};
}

/* ---- orders: to the worker and back */

static void sandbox_take_deliver(struct mail *m)
{
	struct sandbox_order *o = container_of(m, struct sandbox_order, mail);

	worker_seat_take(o->worker, o->sandbox);
}

static void sandbox_leave_deliver(struct mail *m)
{
	struct sandbox_order *o = container_of(m, struct sandbox_order, mail);

	worker_seat_leave(o->worker, o->sandbox);
}

static void sandbox_leave_return(struct mail *m)
{
	struct sandbox_order *o = container_of(m, struct sandbox_order, mail);
	struct sandbox *s = o->sandbox;

	if (s->shared->ending)
		return; /* not withdrawn: the daemon ends, and its successor finds it as it was */
	if (--s->seated == 0)
		s->gone(s);
}

static void sandbox_post(
	struct sandbox *s, struct sandbox_order *o, unsigned i, void (*deliver)(struct mail *))
{
	o->sandbox = s;
	o->worker = s->shared->workers[i];
	o->mail.deliver = deliver;
	o->out = true;
	loop_post(s->shared->control, o->worker->loop, &o->mail);
}

void sandbox_seat(struct sandbox *s)
{
	s->seated = s->shared->nworkers;
	for (unsigned i = 0; i < s->shared->nworkers; i++)
		sandbox_post(s, &s->orders[i].take, i, sandbox_take_deliver);
}

void sandbox_unseat(struct sandbox *s)
{
	s->leaving = true;
	lookup_forget(s); /* a silent server holds nobody up */
	for (unsigned i = 0; i < s->shared->nworkers; i++)
		sandbox_post(s, &s->orders[i].leave, i, sandbox_leave_deliver);
}

void sandbox_left(struct worker *w, struct sandbox *s)
{
	struct sandbox_order *o = &s->orders[w->index].leave;

	o->mail.deliver = sandbox_leave_return;
	o->sandbox = s;
	loop_post(w->loop, s->shared->control, &o->mail);
}

static void sandbox_refresh_return(struct mail *m)
{
	struct sandbox_order *o = container_of(m, struct sandbox_order, mail);

	o->out = false;
	if (!o->sandbox->leaving &&
		o->set != o->sandbox->credentials) /* it changed again meanwhile */
		sandbox_refresh(o->sandbox, credset_ref(o->sandbox->credentials));
}

static void sandbox_refresh_deliver(struct mail *m)
{
	struct sandbox_order *o = container_of(m, struct sandbox_order, mail);

	worker_seat_refresh(o->worker, o->sandbox, o->set);
	o->mail.deliver = sandbox_refresh_return;
	loop_post(o->worker->loop, o->sandbox->shared->control, &o->mail);
}

void sandbox_refresh(struct sandbox *s, struct credset *set)
{
	if (set != s->credentials) {
		credset_unref(s->credentials);
		s->credentials = set;
	} else {
		credset_unref(set);
	}
	for (unsigned i = 0; i < s->shared->nworkers; i++) {
		struct sandbox_order *o = &s->orders[i].refresh;

		if (o->out || o->set == s->credentials)
			continue; /* its return looks again; or it has this one */
		o->set = credset_ref(s->credentials);
		sandbox_post(s, o, i, sandbox_refresh_deliver);
	}
}
