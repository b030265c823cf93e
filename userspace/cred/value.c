/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value.c – the value of one credential through its changes. Made at the load, looked at each
 * second after, replaced by a new object when the file changed; whoever still uses the old one
 * keeps it, and the last to let go wipes it.
 *
 * States: a secret, or none and a cause. A cause is one of the constants below: nothing of the file
 * gets into it. The first look after the load is special: privileges were dropped in between, and a
 * file that only root may read is then out of reach for good. Its value stays, and `fixed` says
 * that changes will not be seen.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "cred/credset_internal.h"

static const struct {
	int error;
	const char *cause;
} value_causes[] = {
	{-ENOENT, "the source file does not exist"},
	{-ENOTDIR, "the source file does not exist"},
	{-EACCES, "the source file may not be read"},
	{-EPERM, "owner, group or mode of the source file is not acceptable"},
	{-EINVAL, "the source is not a regular file"},
	{-EFBIG, "the source file is too large"},
	{-ENOMEM, "there is no locked memory left for the value"},
};

static const char *value_cause(int error)
{
	for (unsigned i = 0; i < ARRAY_SIZE(value_causes); i++)
		if (value_causes[i].error == error)
			return value_causes[i].cause;
	return "the source file cannot be read";
}

/* Why such a value cannot be sent, or NULL. */
static const char *value_flaw(const struct credential *c, struct slice v)
{
	unsigned positions = 0;

	for (unsigned i = 0; i < c->nbindings; i++)
		positions |= c->bindings[i].positions;
	if (v.n == 0)
		return "the value is empty";
	if (v.n > LIMIT_SECRET)
		return "the value is too long";
	if (v.n < LIMIT_SECRET_WEAK && !c->weak)
		return "the value is shorter than 16 bytes (weak: true allows that)";
	for (size_t i = 0; i < v.n; i++) {
		if (v.p[i] == '\r' || v.p[i] == '\n' || v.p[i] == '\0')
			return "the value holds CR, LF or NUL";
		if ((positions & CRED_BEARER) && (v.p[i] < 0x20 || v.p[i] == 0x7f))
			return "the value holds a control byte, which `bearer` cannot carry";
	}
	if ((positions & CRED_BEARER) && (v.p[0] == ' ' || v.p[v.n - 1] == ' '))
		return "the value begins or ends with a space, which `bearer` cannot carry";
	return NULL;
}

static struct cred_value *value_new(void)
{
	struct cred_value *v = calloc(1, sizeof(*v));

	if (v)
		atomic_init(&v->refs, 1);
	return v;
}

/* Takes the secret or says why not; -ENOMEM is only for the object itself. */
static int value_make(const struct credential *c, struct slice text, struct cred_value **ret)
{
	struct cred_value *v = value_new();

	if (!v)
		return -ENOMEM;
	v->cause = value_flaw(c, text);
	if (!v->cause && secret_new(text, &v->secret) < 0)
		v->cause = value_cause(-ENOMEM);
	*ret = v;
	return 0;
}

int cred_value_from_text(const struct credential *c, struct slice text, struct cred_value **ret)
{
	struct cred_value *v;
	int r = value_make(c, text, &v);

	if (r < 0)
		return r;
	v->fixed = true;
	*ret = v;
	return 0;
}

/* A file ends with a line end more often than not: exactly one is no part of the value. */
static struct slice value_strip(struct slice s)
{
	if (s.n && s.p[s.n - 1] == '\n')
		s.n -= s.n > 1 && s.p[s.n - 2] == '\r' ? 2 : 1;
	return s;
}

int cred_value_from_file(const struct credential *c, const struct source_trust *trust,
	struct fault *fault, struct cred_value **ret)
{
	struct source_mark mark = {0};
	struct buf bytes;
	int r;

	buf_init(&bytes, LIMIT_SECRET + 2);
	r = source_read(c->path, trust, fault, &bytes, &mark);
	if (r == 0)
		r = value_make(c, value_strip(buf_slice(&bytes)), ret);
	buf_done(&bytes);
	if (r == 0)
		(*ret)->mark = mark;
	return r;
}

static int value_lost(
	struct cred_value *now, int error, const struct source_mark *mark, struct cred_value **ret)
{
	const char *cause = value_cause(error);
	struct cred_value *v;

	if (now->cause == cause) {
		now->mark = *mark;
		return 0;
	}
	v = value_new();
	if (!v)
		return -ENOMEM;
	v->looked = true;
	v->cause = cause;
	v->mark = *mark;
	*ret = v;
	return 1;
}

static bool value_same(const struct cred_value *a, const struct cred_value *b)
{
	if (!a->secret || !b->secret)
		return a->secret == b->secret && a->cause == b->cause;
	return slice_eq(secret_slice(a->secret), secret_slice(b->secret));
}

int cred_value_look(const struct credential *c, const struct source_trust *trust,
	struct cred_value *now, struct cred_value **ret)
{
	struct source_mark mark = {0};
	struct cred_value *v;
	bool first = !now->looked;
	int r;

	if (now->fixed)
		return 0;
	r = source_mark(c->path, &mark);
	if (r == 0 && !first && source_mark_same(&mark, &now->mark))
		return 0;
	if (r == 0)
		r = cred_value_from_file(c, trust, NULL, &v);
	if (r == -EAGAIN)
		return 0;
	now->looked = true;
	if (r == -EACCES && first && now->secret) {
		now->fixed = true;
		return 0;
	}
	if (r < 0)
		return value_lost(now, r, &mark, ret);
	v->looked = true;
	if (value_same(now, v)) {
		now->mark = v->mark;
		cred_value_unref(v);
		return 0;
	}
	*ret = v;
	return 1;
}

struct cred_value *cred_value_ref(struct cred_value *v)
{
	atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
	return v;
}

void cred_value_unref(struct cred_value *v)
{
	if (!v || atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) != 1)
		return;
	secret_free(v->secret);
	free(v);
}
