/* SPDX-License-Identifier: GPL-2.0-or-later */
/* daemon_tell.c – see daemon_tell.h. #syscalls: sendmsg memfd_create and those of document.c */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "bpf/capture.h"
#include "netns-helper/daemon_link.h"
#include "netns-helper/daemon_tell.h"
#include "netns-helper/document.h"
#include "netns-helper/outage.h"
#include "netns-helper/programs.h"
#include "netns-helper/sandboxes.h"

#include "base/cleanup.h"
#include "base/fdpass.h"

static int daemon_tell(
	struct daemon_peer *peer, const void *bytes, size_t n, const int *fds, size_t nfds)
{
	int r = fdpass_send(peer->source.fd, bytes, n, fds, nfds);

	if (r == -EAGAIN && !peer->blocked) {
		peer->blocked = true;
		(void)loop_change(peer->link->loop, &peer->source,
			EPOLLIN | EPOLLOUT); /* fd and source are sound */
	}
	return r;
}

int daemon_tell_hello(struct daemon_peer *peer)
{
	struct daemon_link *link = peer->link;
	const struct proto_hello hello = {
		.head = {PROTO_HELLO, PROTO_VERSION},
		.abi = CAPTURE_ABI,
		.bpf = link->programs != NULL,
		.slot = daemon_peer_slot(peer),
		.wait = link->outage->wait,
		.occupied = daemon_link_in(link, DAEMON_SERVING) != NULL,
	};
	int fds[1 + PROGRAMS_SHARED] = {link->outage->heartbeat};

	if (link->programs)
		programs_shared_fds(link->programs, fds + 1);
	return daemon_tell(peer, &hello, sizeof(hello), fds, link->programs ? ARRAY_SIZE(fds) : 1);
}

int daemon_tell_word(struct daemon_peer *peer, uint32_t op)
{
	const struct proto_word word = {.head = {op, PROTO_VERSION}};

	return daemon_tell(peer, &word, sizeof(word), NULL, 0);
}

static int daemon_tell_offer(struct daemon_peer *peer, const struct sandbox *sandbox)
{
	const struct attachment *a = sandbox->attachment;
	struct proto_offer offer = {
		.head = {PROTO_OFFER, PROTO_VERSION},
		.netns = a->cookie,
		.nslots = a->listeners.nslots,
		.has_v6 = a->routes.v6,
		.mode = (uint8_t)a->mode,
		.lane = (uint8_t)a->lane,
	};
	_cleanup_close_ int policy = document_new("sallyport-policy", a->policy, a->npolicy);
	_cleanup_close_ int flows =
		a->lane == PROTO_LANE_BPF ? programs_open_flows(a->programs) : -1;
	int fds[PROTO_OFFER_FDS];
	size_t n = 0;

	if (policy < 0)
		return policy;
	if (a->lane == PROTO_LANE_BPF && flows < 0)
		return flows;
	offer.cgroup = a->cgroup_id;
	memcpy(offer.id, a->id, sizeof(offer.id));
	memcpy(offer.own4, a->own4, sizeof(offer.own4));
	if (a->routes.v6)
		memcpy(offer.own6, a->own6, sizeof(offer.own6));
	attach_put_search(a, offer.search);
	fds[n++] = policy;
	if (a->lane == PROTO_LANE_BPF)
		fds[n++] = flows;
	for (unsigned int family = 0; family < proto_families(&offer); family++)
		fds[n++] = a->listeners.dns[family];
	for (unsigned int family = 0; family < proto_families(&offer); family++)
		for (unsigned int i = 0; i < a->listeners.nslots; i++)
			fds[n++] = a->listeners.tcp[family][i];
	return daemon_tell(peer, &offer, sizeof(offer), fds, n);
}

static int daemon_tell_withdraw(struct daemon_peer *peer, const struct sandbox *sandbox)
{
	struct proto_name name = {.head = {PROTO_WITHDRAW, PROTO_VERSION}};

	memcpy(name.id, sandbox->attachment->id, sizeof(name.id));
	return daemon_tell(peer, &name, sizeof(name), NULL, 0);
}

/* What is degraded of a sandbox, or ("") of the machine. */
static int daemon_tell_notes(struct daemon_peer *peer, const char *id, struct notes *notes)
{
	unsigned int slot = daemon_peer_slot(peer);
	struct note *due;
	int r;

	while ((due = notes_due(notes, slot))) {
		struct proto_note note = {.head = {PROTO_NOTE, PROTO_VERSION}};

		memcpy(note.id, id, strlen(id));
		memcpy(note.feature, due->feature, sizeof(note.feature));
		memcpy(note.reason, due->reason, sizeof(note.reason));
		memcpy(note.remedy, due->remedy, sizeof(note.remedy));
		r = daemon_tell(peer, &note, sizeof(note), NULL, 0);
		if (r < 0)
			return r;
		notes_told(notes, due, slot);
	}
	return 0;
}

static int daemon_tell_sandbox(struct daemon_peer *peer, struct sandbox *sandbox)
{
	struct sandbox_word *word = &sandbox->words[daemon_peer_slot(peer)];
	int r = 0;

	if (word->offer_due) {
		r = daemon_tell_offer(peer, sandbox);
		if (r < 0)
			return r;
		word->offer_due = false;
		word->answer_owed = true;
		word->known = true;
		notes_renew(&sandbox->notes, daemon_peer_slot(peer));
	}
	if (word->known && sandbox->state != SANDBOX_LEAVING) {
		r = daemon_tell_notes(peer, sandbox->attachment->id, &sandbox->notes);
		if (r < 0)
			return r;
	}
	if (word->withdraw_due) {
		r = daemon_tell_withdraw(peer, sandbox);
		if (r < 0)
			return r;
		word->withdraw_due = false;
	}
	return 0;
}

int daemon_tell_due(struct daemon_peer *peer)
{
	struct sandboxes *s = peer->link->sandboxes;
	int r = daemon_tell_notes(peer, "", &s->notes);

	for (struct sandbox *one = s->first; one && r == 0; one = one->next)
		r = daemon_tell_sandbox(peer, one);
	if (r == 0 && peer->blocked) {
		peer->blocked = false;
		(void)loop_change(
			peer->link->loop, &peer->source, EPOLLIN); /* fd and source are sound */
	}
	return r;
}
