/* SPDX-License-Identifier: Apache-2.0 */
/* world.c – see world.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bpf/world.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

#define WORLD_ALLOW_PING "sysctl -qw net.ipv4.ping_group_range='0 2147483647'"

void world_die(const char *what)
{
	printf("not ok %s: %s\n", what, strerror(errno));
	exit(1);
}

static void world_find_cgroup2(char ret[256])
{
	char line[1024], type[64];
	FILE *f = fopen("/proc/mounts", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %255s %63s", ret, type) == 2 &&
			strcmp(type, "cgroup2") == 0) {
			(void)fclose(f);
			return;
		}
	errno = ENOENT;
	world_die("a cgroup2 mount");
}

static void world_write(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		world_die(name);
	(void)close(fd);
}

/* The keeper: waits for the battery, empties the cgroup, removes it. */
static void world_keep(pid_t child, int cgroup, const char *path)
{
	int status = 0;

	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	world_write(cgroup, "cgroup.kill", "1");
	for (int i = 0; i < 200 && rmdir(path) < 0 && errno == EBUSY; i++)
		(void)usleep(10000); /* killed processes leave when they are scheduled; nothing
					tells us */
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void world_raise_lo(void)
{
	struct ifreq ifr = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifr) < 0)
		world_die("lo up");
	(void)close(fd);
}

void world_run(const char *command)
{
	if (system(command) != 0)
		world_die(command);
}

void world_join(const struct world *w)
{
	world_write(w->cgroup, "cgroup.procs", "0");
}

static void world_route(void)
{
	static const char *const commands[] = {
		"ip link add v0 type veth peer name v1",
		"ip link set v0 up && ip link set v1 up",
		"ip addr add 198.51.100.1/24 dev v0",
		"ip neigh add 198.51.100.2 lladdr 02:00:00:00:00:02 dev v0",
		WORLD_ALLOW_PING,
		"ip addr add 192.0.2.1/32 dev lo",
		"ip -6 addr add 2001:db8:53::1/128 dev lo nodad",
		"ip route add local default dev lo src 192.0.2.1 table local",
		"ip -6 route add local default dev lo src 2001:db8:53::1 table local",
	};

	world_raise_lo();
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		world_run(commands[i]);
}

/* Of both families: `text` is the unspecified address, or an IPv4 address. */
static int world_socket(int type, const char *text, uint16_t port)
{
	struct sockaddr_in6 sa = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct addr a = {.port = 0};
	int fd, off = 0;

	if (addr_parse(slice_str(text), &a) < 0)
		world_die(text);
	memcpy(&sa.sin6_addr, a.ip, sizeof(a.ip)); /* IPv4 is v4-mapped there */
	fd = socket(AF_INET6, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		world_die("socket");
	(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
		(type == SOCK_STREAM && listen(fd, 64) < 0))
		world_die("bind");
	return fd;
}

static void world_listen(struct world *w)
{
	socklen_t n = sizeof(w->cookie);

	for (int i = 0; i < WORLD_SLOTS; i++)
		w->listeners[i] = world_socket(SOCK_STREAM, "127.0.64.1", 0);
	w->dns = world_socket(SOCK_DGRAM, "127.0.64.53", 53);
	w->server = world_socket(SOCK_STREAM, "::", WORLD_SERVER_PORT);
	if (getsockopt(w->server, SOL_SOCKET, SO_NETNS_COOKIE, &w->cookie, &n) < 0)
		world_die("SO_NETNS_COOKIE");
}

void world_enter(struct world *ret)
{
	char mount_point[256], path[384];
	struct world w = {.cookie = 0};
	struct stat st;
	pid_t child;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	world_find_cgroup2(mount_point);
	/* a process id alone may be another one's in another pid namespace */
	(void)snprintf(
		path, sizeof(path), "%s/sallyport-bpf.%d.XXXXXX", mount_point, (int)getpid());
	if (!mkdtemp(path))
		world_die("making the scratch cgroup");
	(void)snprintf(w.name, sizeof(w.name), "%s", path + strlen(mount_point) + 1);
	w.cgroup = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w.cgroup < 0 || fstat(w.cgroup, &st) < 0)
		world_die("opening the scratch cgroup");
	w.cgroup_id = st.st_ino; /* the inode of a cgroup v2 directory is its id */
	child = fork();
	if (child < 0)
		world_die("fork");
	if (child > 0)
		world_keep(child, w.cgroup, path);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWNS | CLONE_NEWNET) < 0)
		world_die("unshare");
	/* not "/", which in a chroot is no mount point: nothing is mounted but below this */
	if (mount(NULL, "/sys", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("bpf", WORLD_PINS, "bpf", 0, "mode=700") < 0 ||
		mount("files", WORLD_FILES, "tmpfs", 0, "mode=755") < 0)
		world_die("mounting a bpffs and a tmpfs");
	w.netns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	world_route();
	world_listen(&w);
	(void)addr_parse(SLICE("192.0.2.1"), &w.own4);
	(void)addr_parse(SLICE("2001:db8:53::1"), &w.own6);
	*ret = w;
}

/* ---- the client
 * ---------------------------------------------------------------------------------------------------
 */

static int client_socket(
	const struct attempt *a, int type, struct sockaddr_storage *ret_sa, socklen_t *ret_n)
{
	*ret_n = addr_to_sockaddr(&a->to, ret_sa);
	if (a->v6_socket && ret_sa->ss_family == AF_INET) {
		struct sockaddr_in6 mapped = {
			.sin6_family = AF_INET6, .sin6_port = htons(a->to.port)};

		memcpy(&mapped.sin6_addr, a->to.ip, 16);
		memcpy(ret_sa, &mapped, sizeof(mapped));
		*ret_n = sizeof(mapped);
	}
	return socket(ret_sa->ss_family, type | SOCK_CLOEXEC, 0);
}

static void client_names(int fd, struct outcome *o)
{
	struct sockaddr_storage sa;
	socklen_t n = sizeof(sa);

	if (getsockname(fd, (struct sockaddr *)&sa, &n) == 0)
		(void)addr_from_sockaddr((struct sockaddr *)&sa, n, &o->self);
	n = sizeof(sa);
	if (getpeername(fd, (struct sockaddr *)&sa, &n) == 0)
		(void)addr_from_sockaddr((struct sockaddr *)&sa, n, &o->peer);
}

static long client_unix(int *fd, const struct attempt *a)
{
	bool connecting = a->op == CLIENT_UNIX_CONNECT;
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	size_t n = a->length ? a->length : strlen(a->text) + 1;
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);

	memcpy(sa.sun_path, a->text, n < sizeof(sa.sun_path) ? n : sizeof(sa.sun_path));
	*fd = socket(AF_UNIX, (connecting ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);
	return connecting ? connect(*fd, (struct sockaddr *)&sa, length)
			  : sendto(*fd, "hello", 5, 0, (struct sockaddr *)&sa, length);
}

static long client_sendto_by(
	int fd, const struct attempt *a, const struct sockaddr_storage *sa, socklen_t n)
{
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, a->text, (socklen_t)strlen(a->text)) < 0)
		return -1;
	return sendto(fd, "question", 8, 0, (const struct sockaddr *)sa, n);
}

static struct outcome client_perform(int *fd, const struct attempt *a)
{
	struct outcome o = {.error = 0};
	struct sockaddr_storage sa;
	socklen_t n = 0;
	long r = 0;

	if (a->op != CLIENT_SEND && *fd >= 0) {
		(void)close(*fd);
		*fd = -1;
	}
	if (a->op == CLIENT_CLOSE)
		return o;
	if (a->op != CLIENT_SEND && a->op < CLIENT_SOCKET)
		*fd = client_socket(a, a->op == CLIENT_CONNECT ? SOCK_STREAM : SOCK_DGRAM, &sa, &n);
	switch (a->op) {
	case CLIENT_CONNECT:
	case CLIENT_CONNECT_UDP:
		r = connect(*fd, (struct sockaddr *)&sa, n);
		break;
	case CLIENT_SENDTO:
		r = sendto(*fd, "question", 8, 0, (struct sockaddr *)&sa, n);
		break;
	case CLIENT_FLOOD:
		for (unsigned i = 0; i < a->repeat; i++)
			r = sendto(*fd, "flood", 5, 0, (struct sockaddr *)&sa, n);
		break;
	case CLIENT_SEND:
		r = send(*fd, "more", 4, 0);
		break;
	case CLIENT_CLOSE:
		break;
	case CLIENT_SOCKET:
		r = *fd = socket(a->family, a->type | SOCK_CLOEXEC, a->protocol);
		break;
	case CLIENT_SENDTO_BY:
		*fd = client_socket(a, SOCK_DGRAM, &sa, &n);
		r = client_sendto_by(*fd, a, &sa, n);
		break;
	case CLIENT_UNIX_CONNECT:
	case CLIENT_UNIX_SENDTO:
		r = client_unix(fd, a);
		break;
	}
	o.error = r < 0 ? errno : 0;
	if (r >= 0)
		client_names(*fd, &o);
	return o;
}

static void client_main(const struct world *w, int fd, bool in_cgroup, bool foreign)
{
	struct attempt a;
	int tried = -1;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "bpf-client");
	if (in_cgroup)
		world_join(w);
	if (foreign) {
		if (unshare(CLONE_NEWNET) < 0)
			world_die("unshare");
		world_raise_lo();
		world_run(WORLD_ALLOW_PING);
	}
	while (read(fd, &a, sizeof(a)) == sizeof(a)) {
		struct outcome o = client_perform(&tried, &a);

		if (write(fd, &o, sizeof(o)) != sizeof(o))
			break;
	}
	_exit(0);
}

struct client client_start(const struct world *w, bool in_cgroup, bool foreign)
{
	struct client c = {.pid = -1};
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		world_die("socketpair");
	c.pid = fork();
	if (c.pid < 0)
		world_die("fork");
	if (c.pid == 0) {
		(void)close(pair[0]);
		client_main(w, pair[1], in_cgroup, foreign);
	}
	(void)close(pair[1]);
	c.fd = pair[0];
	return c;
}

struct outcome client_try(const struct client *c, const struct attempt *a)
{
	struct outcome o = {.error = -1};

	if (write(c->fd, a, sizeof(*a)) != sizeof(*a) || read(c->fd, &o, sizeof(o)) != sizeof(o))
		world_die("the client process");
	return o;
}

void client_stop(struct client *c)
{
	(void)shutdown(c->fd, SHUT_RDWR); /* clients that were forked later hold a copy */
	(void)close(c->fd);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
