/* SPDX-License-Identifier: Apache-2.0 */
/* upgrade.c – see upgrade.h. */
#include "http/fields.h"
#include "model/msg.h"
#include "proxy/upgrade.h"

/* h2c would be another version behind our back; TLS within the connection would be out of sight. */
static bool upgrade_is_ours(struct slice protocol)
{
	return slice_ieq(protocol, SLICE("h2c")) ||
	       slice_ieq(slice_first(protocol, 4), SLICE("tls/"));
}

/* protocol-name ["/" protocol-version] */
static bool upgrade_is_protocol(struct slice s)
{
	size_t name = slice_find(s, '/');

	return fields_token(slice_first(s, name)) &&
	       (name == s.n || fields_token(slice_skip(s, name + 1)));
}

static void upgrade_add(struct upgrade *u, struct slice protocol)
{
	size_t comma = u->n ? 2 : 0;

	if (u->n + comma + protocol.n > sizeof(u->offered))
		return;
	memcpy(u->offered + u->n, ", ", comma);
	memcpy(u->offered + u->n + comma, protocol.p, protocol.n);
	u->n += comma + protocol.n;
}

void upgrade_offer(const struct msg *m, struct upgrade *ret)
{
	const struct field *f;
	unsigned at = 0;

	*ret = (struct upgrade){0};
	if (m->minor == 0 || m->framing != FRAMING_NONE ||
		!fields_has_token(m, SLICE("connection"), SLICE("upgrade")))
		return;
	while ((f = msg_next(m, SLICE("upgrade"), &at))) {
		struct slice list = f->value, protocol;

		while (fields_member(&list, &protocol))
			if (upgrade_is_protocol(protocol) && !upgrade_is_ours(protocol))
				upgrade_add(ret, protocol);
	}
	ret->websocket = slice_ieq(slice_of(ret->offered, ret->n), SLICE("websocket"));
}

const char *upgrade_accept(const struct upgrade *u, const struct msg *m, struct msg *out)
{
	const struct field *f = msg_find(m, SLICE("upgrade"));

	if (!u->n)
		return "the server switched protocols without being asked";
	if (!f || !fields_has_token(m, SLICE("connection"), SLICE("upgrade")) ||
		!fields_token_in(slice_of(u->offered, u->n), f->value))
		return "the server switched to a protocol that was not offered";
	out->upgrade = f->value;
	return NULL;
}
