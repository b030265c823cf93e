/* SPDX-License-Identifier: Apache-2.0 */
/* shared.h – what all threads of the daemon know of each other. Constant once the threads run, but for what is the control thread's. */
#ifndef SALLYPORT_PROXY_SHARED_H
#define SALLYPORT_PROXY_SHARED_H

#include <stdbool.h>

#include "base/limits.h"
#include "proxy/synthetic.h"

struct audit;
struct drain;
struct lookup;
struct loop;
struct resolver;
struct tls_trust;
struct worker;

/* Lookups that wait for a place at the resolver; the control thread's. */
struct lookup_queue {
	struct lookup *first, *last;
};

struct shared {
	const char *state; /* directory; borrowed from the configuration */
	struct synthetic_range synthetic; /* where names get their addresses from */
	struct loop *control; /* the control thread's loop */
	struct worker *workers[LIMIT_WORKERS];
	unsigned nworkers;
	struct tls_trust *trust; /* roots for upstreams without an entry of their own */
	struct resolver *resolver; /* the control thread's */
	struct lookup_queue lookups;
	unsigned
		running; /* workers that have not said that they are at their end; the control thread's */
	bool ending; /* no lookup is started any more; the control thread's */
	struct audit *audit; /* the control thread's */
	struct drain *drain; /* NULL until another daemon takes over; the control thread's */
	int closed; /* the map of connections whose client is gone; the number stays, the map behind it is
		       the latest helper's */
};

#endif
