/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandboxes_words.c – see sandboxes.h: who is connected, and what each daemon has been told of each sandbox (struct
 * sandbox_word). What they answer changes the life of a sandbox, and is in sandboxes.c.
 */
#include <errno.h>

#include "netns-helper/sandboxes.h"

bool sandboxes_linked(const struct sandboxes *s)
{
	for (size_t i = 0; i < PROTO_DAEMONS; i++)
		if (s->linked[i])
			return true;
	return false;
}

void sandboxes_served(struct sandbox *sandbox)
{
	if (!sandbox->daemon_failed)
		return;
	sandbox->daemon_failed = false;
	sandbox->proof_ms = 0;
}

void sandboxes_link_up(struct sandboxes *s, unsigned int slot)
{
	s->linked[slot] = true;
	s->overdue[slot] = 0;
	s->unheard[slot] = false;
	notes_renew(&s->notes, slot);
	for (struct sandbox *one = s->first; one; one = one->next)
		one->words[slot] = (struct sandbox_word){.offer_due = one->state == SANDBOX_ACTIVE};
}

void sandboxes_serve(struct sandboxes *s, unsigned int slot, pid_t daemon)
{
	s->serving = (int)slot;
	s->daemon = daemon;
	for (struct sandbox *one = s->first; one; one = one->next)
		if (one->state == SANDBOX_OFFERED && !one->words[slot].known)
			one->words[slot].offer_due = true;
		else if (one->words[slot].known && !one->words[slot].answer_owed)
			sandboxes_served(one); /* it took over, and had taken it */
}

void sandboxes_link_drains(struct sandboxes *s, unsigned int slot)
{
	s->linked[slot] = false;
	for (struct sandbox *one = s->first; one; one = one->next)
		one->words[slot].offer_due = false;
	if (s->serving == (int)slot) {
		s->serving = -1;
		s->daemon = s->settled = 0;
	}
}

void sandboxes_link_down(struct sandboxes *s, unsigned int slot)
{
	sandboxes_link_drains(s, slot);
	notes_leave(&s->notes, slot);
	for (struct sandbox *one = s->first; one; one = one->next) {
		one->words[slot] = (struct sandbox_word){.offer_due = false};
		notes_leave(&one->notes, slot);
	}
}

bool sandboxes_owed(const struct sandboxes *s, unsigned int slot)
{
	for (const struct sandbox *one = s->first; one; one = one->next)
		if (one->state == SANDBOX_ACTIVE &&
			(one->words[slot].offer_due || one->words[slot].answer_owed))
			return true;
	return false;
}

int sandboxes_gone(struct sandboxes *s, unsigned int slot, const char *id)
{
	struct sandbox *sandbox = sandboxes_find(s, id);

	if (sandbox && sandbox->state == SANDBOX_LEAVING && !sandbox->words[slot].withdraw_due &&
		sandbox->words[slot].known) {
		sandbox->words[slot].known = false;
		return 0;
	}
	if (s->overdue[slot] == 0)
		return -EPROTO;
	s->overdue[slot]--; /* it was not waited for any longer */
	return 0;
}

void sandboxes_wait_no_more(struct sandboxes *s, const struct sandbox *sandbox)
{
	for (size_t i = 0; i < PROTO_DAEMONS; i++)
		if (sandbox->words[i].withdraw_due)
			s->unheard[i] = true;
		else if (sandbox->words[i].known)
			s->overdue[i]++;
}

bool sandboxes_known(const struct sandbox *sandbox)
{
	for (size_t i = 0; i < PROTO_DAEMONS; i++)
		if (sandbox->words[i].known)
			return true;
	return false;
}
