/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_prepared.c – sandboxes before there is an offer: made for a container that is still to start, and what nobody
 * came for. What an earlier daemon prepared, and what it had of sandboxes whose helper is gone too, is found on disk
 * once the helper has offered what it has (the grace of registry.c), and has its time from then.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "conf/daemon_conf.h"
#include "cred/credset.h"
#include "proxy/registry_internal.h"
#include "proxy/sandbox.h"

int registry_prepare(struct registry *r, const char *id)
{
	struct sandbox_home home = {.state = r->conf->state, .shared = r->shared};
	struct fault fault = {0};
	int e;

	if (registry_find(r, id))
		return -EEXIST;
	if (registry_is_leaving(r, id))
		return -EBUSY;
	e = prepared_add(&r->prepared, id, clock_monotonic_ms());
	if (e < 0)
		return e;
	e = registry_credentials(r, id, &fault, &home.credentials);
	e = e ? e : sandbox_prepare(&home, id, &fault);
	credset_unref(home.credentials);
	if (e == 0)
		return 0;
	log_warn("sandbox %s cannot be prepared: %s", id,
		fault.text[0] ? fault.text : strerrordesc_np(-e));
	prepared_drop(&r->prepared, id);
	sandbox_forget(id, r->conf->state);
	return -EINVAL;
}

static bool registry_prepared_known(void *registry, const char *id)
{
	const struct registry *r = registry;

	return registry_find(r, id) || registry_is_leaving(r, id);
}

void registry_prepared_adopt(struct registry *r)
{
	int n;

	if (r->taking || r->draining)
		return; /* it is the other daemon's */
	if (r->refused)
		return; /* it may be taken when it is offered again, and must find what it had */
	n = prepared_adopt(&r->prepared, r->conf->state, registry_prepared_known, r,
		clock_monotonic_ms());
	if (n < 0)
		(void)log_errno(n, "what an earlier daemon prepared cannot be looked through");
	else if (n > 0)
		log_info("%d sandboxes are prepared or were left: forgotten if they are not attached",
			n);
}

void registry_prepared_expire(struct registry *r)
{
	char id[LIMIT_SANDBOX_ID + 1];
	bool room = false;

	while (prepared_expired(&r->prepared, clock_monotonic_ms(), id)) {
		room = true;
		if (registry_prepared_known(r, id))
			continue;
		log_info("sandbox %s was prepared and is not attached: forgotten", id);
		sandbox_forget(id, r->conf->state);
	}
	if (room && r->prepared.more)
		registry_prepared_adopt(r);
}
