/* SPDX-License-Identifier: Apache-2.0 */
/* refusal.c – see refusal.h: one row a reason of bpf/capture.h. */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "audit/event.h"
#include "base/cleanup.h"
#include "bpf/capture.h"
#include "proxy/record.h"
#include "proxy/refusal.h"

/* What the kernel passes has no event, and so no row. */
static const struct refusal_row {
	enum category category;
	const char *words;
} refusal_rows[CAPTURE_REASON_COUNT] = {
	[CAPTURE_METADATA] = {CATEGORY_METADATA_ADDRESS, "cloud metadata"},
	[CAPTURE_PRIVATE] = {CATEGORY_PRIVATE_ADDRESS, "private range"},
	[CAPTURE_LOOPBACK] = {CATEGORY_PRIVATE_ADDRESS, "loopback inside another address"},
	[CAPTURE_LINK_LOCAL] = {CATEGORY_PRIVATE_ADDRESS, "link-local range"},
	[CAPTURE_CGNAT] = {CATEGORY_PRIVATE_ADDRESS, "carrier-grade NAT range"},
	[CAPTURE_MULTICAST] = {CATEGORY_PRIVATE_ADDRESS, "multicast range"},
	[CAPTURE_RESERVED] = {CATEGORY_PRIVATE_ADDRESS, "reserved range"},
	[CAPTURE_BENCHMARK] = {CATEGORY_PRIVATE_ADDRESS, "benchmark range"},
	[CAPTURE_UDP] = {CATEGORY_PROTOCOL_DENIED, "UDP other than DNS"},
	[CAPTURE_DOT] = {CATEGORY_PROTOCOL_DENIED, "DNS over TLS"},
	[CAPTURE_NOT_ATTACHED] = {CATEGORY_NOT_ATTACHED, "namespace that is not attached"},
	[CAPTURE_INACTIVE] = {CATEGORY_NOT_ATTACHED, "sandbox that is not active"},
	[CAPTURE_HOST_ADDRESS] = {CATEGORY_PRIVATE_ADDRESS, "address of the host"},
	[CAPTURE_FAMILY] = {CATEGORY_PROTOCOL_DENIED, "socket family"},
	[CAPTURE_PROTOCOL] = {CATEGORY_PROTOCOL_DENIED, "socket type or protocol"},
	[CAPTURE_UNIX] = {CATEGORY_PROTOCOL_DENIED, "unix socket outside the allowed paths"},
	[CAPTURE_EGRESS] = {CATEGORY_PROTOCOL_DENIED, "packet that would leave the sandbox"},
	[CAPTURE_RESOLVER] = {CATEGORY_PRIVATE_ADDRESS, "resolver of the container runtime"},
	[CAPTURE_PROBE] = {CATEGORY_PROTOCOL_DENIED, "self-test of the helper"},
	[CAPTURE_OUTAGE] = {CATEGORY_NOT_ATTACHED, "no daemon served"},
};

/* What the kernel has in the place of an address, or to the address what goes by it. */
static void refusal_tried(const struct capture_unix_refusal *from, struct audit_event *ret)
{
	const struct capture_refusal *r = &from->refusal;
	bool family = r->reason == CAPTURE_FAMILY;
	char text[AUDIT_SOCKET];

	if (r->reason == CAPTURE_UNIX) {
		ret->protocols = AUDIT_PROTOCOL_UNIX;
		audit_text(ret->path, sizeof(ret->path),
			slice_of(from->path, strnlen(from->path, sizeof(from->path))));
		return;
	}
	if (family || r->reason == CAPTURE_PROTOCOL) {
		(void)snprintf(
			text, sizeof(text), "%s %u", family ? "family" : "protocol", r->dport);
		audit_text(ret->socket, sizeof(ret->socket), slice_str(text));
		return;
	}
	if (r->proto == IPPROTO_TCP)
		ret->protocols = AUDIT_PROTOCOL_TCP;
	if (r->proto == IPPROTO_UDP)
		ret->protocols = AUDIT_PROTOCOL_UDP;
	memcpy(ret->asked.ip, r->dst, sizeof(ret->asked.ip));
	ret->asked.port = r->dport;
}

void refusal_event(const struct capture_unix_refusal *from, struct audit_event *ret)
{
	const struct capture_refusal *r = &from->refusal;
	const struct refusal_row *row =
		r->reason < CAPTURE_REASON_COUNT ? &refusal_rows[r->reason] : NULL;
	bool known = row && row->words;

	*ret = (struct audit_event){.kind = AUDIT_REFUSAL,
		.decision = AUDIT_DENY,
		.category = known ? row->category : CATEGORY_PROTOCOL_DENIED,
		.error = r->error,
		.count = r->count};
	audit_text(ret->reason, sizeof(ret->reason),
		slice_str(known ? row->words : "reason of another version"));
	audit_text(ret->rule, sizeof(ret->rule),
		slice_str(r->netns == CAPTURE_DIALLER ? "dialler" : "kernel"));
	refusal_tried(from, ret);
	if (r->client.tgid) /* a packet that no system call sent has none */
		record_client(&ret->client, &r->client);
}
