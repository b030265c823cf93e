/* SPDX-License-Identifier: Apache-2.0 */
/* refusal.h – what the kernel refused, in the words of the audit. */
#ifndef SALLYPORT_PROXY_REFUSAL_H
#define SALLYPORT_PROXY_REFUSAL_H

struct audit_event;
struct capture_unix_refusal;

/* Fills the event but for its time and its sandbox. A reason that is not known, of a newer helper, is told as that. */
void refusal_event(const struct capture_unix_refusal *from, struct audit_event *ret);

#endif
