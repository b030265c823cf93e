/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.h – where the BPF battery runs: a scratch cgroup, a scratch netns and a bpffs that nobody
 * else sees, listeners in the place of the daemon's, and a client process that tries destinations
 * from inside.
 *
 *      client (in the cgroup, comm "bpf-client")        us (not in the cgroup)
 *            │ connect(), sendto()                        listeners[slot], dns
 *            └────────────── lo of the scratch netns ─────┘ AnyIP: every address is local
 *
 *      v0 ───────────────────────────── v1               a wire that leads nowhere, to see what leaves
 *
 * A keeper process removes the cgroup however the battery ends; netns and bpffs vanish with the
 * last process.
 */
#ifndef SALLYPORT_TESTS_BPF_WORLD_H
#define SALLYPORT_TESTS_BPF_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/addr.h"

#define WORLD_PINS  "/sys/fs/bpf"
#define WORLD_FILES "/sys/dev" /* a tmpfs that nobody else sees */
enum { WORLD_SLOTS = 2, WORLD_SERVER_PORT = 8080, WORLD_TEXT = 108 };

struct world {
	char name[64]; /* of the cgroup directory, also the sandbox's id; has a dot on purpose */
	int cgroup, netns;
	uint64_t cookie, cgroup_id;
	struct addr own4, own6;
	int listeners[WORLD_SLOTS]; /* these and the next are of both families */
	int dns;
	int server; /* a service of the sandbox's own, on [::]:WORLD_SERVER_PORT, both families */
};

/* Forks: the parent stays as the keeper and exits with the child's status; the child returns into
 * its world. */
void world_enter(struct world *ret);

struct client {
	pid_t pid;
	int fd;
};

enum client_op {
	CLIENT_CONNECT,
	CLIENT_CONNECT_UDP,
	CLIENT_SENDTO,
	CLIENT_SEND,
	CLIENT_CLOSE,
	CLIENT_FLOOD,
	CLIENT_SOCKET, /* only makes one */
	CLIENT_SENDTO_BY, /* sendto() of a socket bound to a device */
	CLIENT_UNIX_CONNECT,
	CLIENT_UNIX_SENDTO
};

struct attempt {
	enum client_op op;
	bool v6_socket; /* an AF_INET6 socket, also for an IPv4 address: v4-mapped */
	unsigned repeat; /* CLIENT_FLOOD: unconnected sends */
	struct addr to;
	int family, type, protocol; /* CLIENT_SOCKET */
	char text[WORLD_TEXT]; /* CLIENT_SENDTO_BY: the device; CLIENT_UNIX_…: sun_path */
	unsigned length; /* of sun_path; 0: up to its NUL */
};

struct outcome {
	int error; /* errno, 0 = it worked */
	struct addr self, peer; /* getsockname(), getpeername() after a connect that worked */
};

/* A process in the cgroup or outside; foreign: in a netns of its own, made after entering the
 * cgroup. */
struct client client_start(const struct world *w, bool in_cgroup, bool foreign);
/* One attempt. The socket stays open until the next one. */
struct outcome client_try(const struct client *c, const struct attempt *a);
void client_stop(struct client *c);

/* Runs a command of the world's own setting up. */
void world_run(const char *command);
/* In a process of one's own: joins the cgroup. */
void world_join(const struct world *w);

/* Prints why and ends the battery. */
void world_die(const char *what) __attribute__((noreturn));

#endif
