/* SPDX-License-Identifier: Apache-2.0 */
/* origin_internal.h – only for origin.c, the life of one connection, and origin_users.c, who has it. */
#ifndef SALLYPORT_PROXY_ORIGIN_INTERNAL_H
#define SALLYPORT_PROXY_ORIGIN_INTERNAL_H

#include "proxy/origin.h"

/* Starts to resolve. False when lookups are out. */
bool origin_look_up(struct origin *o);
void origin_expired(struct timer *t);
/* Frees, but not while its session is in a step (what steps it does that behind it) or the kernel reads its address. */
void origin_release(struct origin *o);

void origin_join(struct origin *o, struct origin_user *user);
/* Takes it off whatever list it is on. */
void origin_part(struct origin_user *user);
/* For telling each of a list that changes meanwhile: none has been told; the next that has not been. */
void origin_tell_none(struct origin *o);
struct origin_user *origin_untold(struct origin_user *u);
/* It speaks HTTP/1 and has one user: the others get connections of their own. */
void origin_scatter(struct origin *o);
/* To where the next one finds it. */
void origin_pool(struct origin *o);
/* Nobody uses it: into the pool, or released. */
void origin_rest(struct origin *o, bool keep);

#endif
