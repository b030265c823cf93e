/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ask.c – see ask.h. A refusal comes as a bare proto_reply, whatever else the answer would have had. */
#include <errno.h>
#include <string.h>

#include "netns-helper/ask.h"
#include "netns-helper/state.h"

#include "base/fdpass.h"

int ask_connect(const char *state, struct fault *fault)
{
	int fd = state_connect(state, STATE_HELPER_SOCK);

	if (fd == -EACCES || fd == -EPERM)
		return fault_set(fault, -EACCES,
			"%s/" STATE_HELPER_SOCK ": only root may ask the helper", state);
	if (fd < 0)
		return fault_set(fault, -ECOMM,
			"no helper serves in %s (%s): start it with `scripts/sallyport up`, or "
			"`sallyport-netns serve`",
			state, strerror(-fd));
	return fd;
}

int ask(int sock, const void *request, size_t size, const int *fds, size_t nfds,
	struct proto_reply *reply, size_t n, int *got, size_t *ngot, struct fault *fault)
{
	size_t none = 0;
	long r = fdpass_send(sock, request, size, fds, nfds);

	if (r == 0)
		r = fdpass_recv(sock, reply, n, got, got ? ngot : &none);
	if (r < 0)
		return fault_set(fault, -ECOMM, "the helper did not answer: %s", strerror((int)-r));
	if (r == 0)
		return fault_set(fault, -ECOMM, "the helper closed the connection: it logged why");
	if ((size_t)r < sizeof(*reply) || reply->head.version != PROTO_VERSION)
		return fault_set(fault, -ECOMM, "the helper is of another version");
	reply->text[sizeof(reply->text) - 1] = '\0';
	if (reply->error)
		return fault_set(fault, reply->error < 0 ? reply->error : -EIO, "%s", reply->text);
	if ((size_t)r != n)
		return fault_set(fault, -ECOMM, "the helper's answer is cut off");
	return 0;
}
