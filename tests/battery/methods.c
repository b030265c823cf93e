/* SPDX-License-Identifier: Apache-2.0 */
/* methods.c – TCP to the canary's plain address, by every way in which a connect can be made. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/battery/crew.h"

static void methods_wait(int sock)
{
	struct pollfd p = {sock, POLLOUT, 0};
	int error = 0;
	socklen_t n = sizeof(error);

	(void)poll(&p, 1, -1); /* the deadline is the crew's */
	(void)getsockopt(sock, SOL_SOCKET, SO_ERROR, &error, &n);
	errno = error;
	(void)tries(error ? -1 : 0, "connect, later");
}

static void methods_nonblocking(const struct arena *a)
{
	struct address to = here4(a);
	int sock = tries(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), "socket");

	if (connect(sock, &to.any, to.n) < 0) {
		if (errno != EINPROGRESS)
			(void)tries(-1, "connect");
		methods_wait(sock);
	}
	push(sock, a);
}

/* A second connect() while the first is under way, to another address. */
static void methods_twice(const struct arena *a)
{
	struct address local = address_text("127.0.0.1", 1), to = here4(a);
	int sock = tries(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), "socket");
	struct pollfd first = {sock, POLLOUT, 0};

	(void)connect(sock, &local.any, local.n); /* refused, or under way */
	for (int i = 0; i < 3; i++) { /* under way still, refused, ours */
		if (connect(sock, &to.any, to.n) == 0)
			push(sock, a);
		if (errno == EINPROGRESS) {
			methods_wait(sock);
			push(sock, a);
		}
		if (errno == EALREADY)
			(void)poll(&first, 1, -1);
	}
	(void)tries(-1, "connect");
}

/* Connects to loopback, dissolves that by AF_UNSPEC, connects anew. */
static void methods_unspec(const struct arena *a)
{
	struct address own = address_text("127.0.0.1", 0), to = here4(a);
	struct sockaddr none = {.sa_family = AF_UNSPEC};
	int server = tcp(AF_INET), sock = tcp(AF_INET);

	(void)needs(bind(server, &own.any, own.n), "bind");
	(void)needs(listen(server, 1), "listen");
	own.n = sizeof(own.v4);
	(void)needs(getsockname(server, &own.any, &own.n), "getsockname");
	(void)needs(connect(sock, &own.any, own.n), "connect to loopback");
	(void)needs(connect(sock, &none, sizeof(none)), "connect to AF_UNSPEC");
	dial(sock, &to, a);
}

static void *methods_in_thread(void *arg)
{
	struct address to = here4(arg);

	dial(tcp(AF_INET), &to, arg);
}

static void methods_thread(const struct arena *a)
{
	pthread_t thread;

	needs_code(pthread_create(&thread, NULL, methods_in_thread, (void *)a), "thread");
	needs_code(pthread_join(thread, NULL), "thread");
}

static void methods_of_child(int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		sent();
	report(SAID_REFUSED, WIFEXITED(status) ? WEXITSTATUS(status) : 0, "connect, in the child");
}

static void methods_fork(const struct arena *a)
{
	struct address to = here4(a);
	pid_t child = fork_tied();

	if (child == 0)
		dial(tcp(AF_INET), &to, a);
	child_reports(child);
}

int methods_dial(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	int sock = socket(AF_INET, SOCK_STREAM, 0);

	if (argc != 3 || inet_pton(AF_INET, argv[0], &to.sin_addr) != 1)
		return EINVAL;
	to.sin_port = htons((uint16_t)strtoul(argv[1], NULL, 10));
	if (sock < 0 || connect(sock, (struct sockaddr *)&to, sizeof(to)) < 0 ||
		send(sock, argv[2], strlen(argv[2]), MSG_NOSIGNAL) < 0)
		return errno;
	return 0;
}

static void methods_exec(const struct arena *a)
{
	char ip[INET_ADDRSTRLEN], port[8];
	char *const words[] = {"attempts", "dial", ip, port, (char *)a->token, NULL};
	int status = 0;
	pid_t child;

	(void)inet_ntop(AF_INET, &a->v4, ip, sizeof(ip)); /* fits */
	(void)snprintf(port, sizeof(port), "%u", a->port);
	child = fork_tied();
	if (child == 0) {
		(void)execv("/proc/self/exe", words);
		_exit(errno);
	}
	(void)needs(waitpid(needs(child, "fork"), &status, 0), "wait");
	methods_of_child(status);
}

/* vfork() itself may not return through a function of ours. */
static void methods_vfork(const struct arena *a)
{
	char ip[INET_ADDRSTRLEN], port[8];
	char *const words[] = {"attempts", "dial", ip, port, (char *)a->token, NULL};
	int status = 0;
	pid_t child;

	(void)inet_ntop(AF_INET, &a->v4, ip, sizeof(ip)); /* fits */
	(void)snprintf(port, sizeof(port), "%u", a->port);
	child = vfork();
	if (child == 0) {
		(void)execv("/proc/self/exe", words);
		_exit(EINVAL);
	}
	(void)needs(waitpid(needs(child, "vfork"), &status, 0), "wait");
	methods_of_child(status);
}

/* A bound source: arg: 0 the own address, 1 a foreign one without transparency, 2 port = target's,
 * 3 a privileged port */
static void methods_bound(const struct arena *a)
{
	struct address to = here4(a), from = address_text("0.0.0.0", 0);
	int sock = tcp(AF_INET);

	if (a->arg == 0)
		from.v4.sin_addr = a->scene->own4;
	if (a->arg == 1)
		from = address_text("203.0.113.251", 0);
	if (a->arg == 2)
		from.v4.sin_port = htons(a->port);
	if (a->arg == 3)
		from.v4.sin_port = htons(443);
	option_int(sock, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	option_int(sock, SOL_SOCKET, SO_REUSEPORT, 1, "SO_REUSEPORT");
	(void)needs(bind(sock, &from.any, from.n), "bind");
	dial(sock, &to, a);
}

/* The same source port for loopback first and the canary afterwards. */
static void methods_reused(const struct arena *a)
{
	struct address from = address_text("0.0.0.0", 0), to = here4(a),
		       dead = address_text("127.0.0.1", 1);
	socklen_t n = sizeof(from.v4);
	int first = tcp(AF_INET), second = tcp(AF_INET);

	option_int(first, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	option_int(second, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	(void)needs(bind(first, &from.any, from.n), "bind");
	(void)needs(getsockname(first, &from.any, &n), "getsockname");
	(void)connect(first, &dead.any, dead.n); /* refused: the port has been used */
	(void)needs(bind(second, &from.any, from.n), "bind again");
	dial(second, &to, a);
}

static void methods_late_port(const struct arena *a)
{
	struct address to = here4(a), from = address4(a->scene->own4, 0);
	int sock = tcp(AF_INET);

	option_int(sock, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1, "IP_BIND_ADDRESS_NO_PORT");
	(void)needs(bind(sock, &from.any, from.n), "bind");
	dial(sock, &to, a);
}

/* Two sockets that call each other through the canary's address. */
static void methods_simultaneous(const struct arena *a)
{
	struct address here = here4(a), to = here4(a);
	int sock = tcp(AF_INET);

	here.v4.sin_addr.s_addr = INADDR_ANY;
	option_int(sock, IPPROTO_TCP, TCP_SYNCNT, 1, "TCP_SYNCNT");
	(void)needs(bind(sock, &here.any, here.n), "bind");
	dial(sock, &to, a);
}

static void methods_repair(const struct arena *a)
{
	struct address to = here4(a);
	int sock = tcp(AF_INET);

	option_int(sock, IPPROTO_TCP, TCP_REPAIR, 1, "TCP_REPAIR");
	(void)tries(connect(sock, &to.any, to.n), "connect"); /* no SYN: at once ESTABLISHED */
	option_int(sock, IPPROTO_TCP, TCP_REPAIR, 0, "TCP_REPAIR off");
	push(sock, a);
}

static void methods_md5(const struct arena *a)
{
	struct address to = here4(a);
	struct tcp_md5sig key = {.tcpm_keylen = 4, .tcpm_key = "key"};
	int sock = tcp(AF_INET);

	memcpy(&key.tcpm_addr, &to.v4, sizeof(to.v4));
	option(sock, IPPROTO_TCP, TCP_MD5SIG, &key, sizeof(key), "TCP_MD5SIG");
	dial(sock, &to, a);
}

/* A connected IPv6 socket becomes one of IPv4: its connect was to the mapped form. */
static void methods_addrform(const struct arena *a)
{
	struct address to = address_form(FORM_MAPPED, a->v4, a->port);
	int sock = tcp(AF_INET6);

	(void)tries(connect(sock, &to.any, to.n), "connect");
	option_int(sock, IPPROTO_IPV6, IPV6_ADDRFORM, AF_INET, "IPV6_ADDRFORM");
	push(sock, a);
}

/* … and after that is connected once more, as IPv4. */
static void methods_addrform_again(const struct arena *a)
{
	struct address own = address_text("::ffff:127.0.0.1", 0), to = here4(a);
	struct sockaddr none = {.sa_family = AF_UNSPEC};
	int server = udp(AF_INET6), sock = udp(AF_INET6);
	socklen_t n = sizeof(own.v6);

	(void)needs(bind(server, &own.any, own.n), "bind");
	(void)needs(getsockname(server, &own.any, &n), "getsockname");
	(void)needs(connect(sock, &own.any, own.n), "connect to loopback");
	option_int(sock, IPPROTO_IPV6, IPV6_ADDRFORM, AF_INET, "IPV6_ADDRFORM");
	(void)needs(connect(sock, &none, sizeof(none)), "connect to AF_UNSPEC");
	throw(sock, &to, a);
}

static void methods_userns(const struct arena *a)
{
	struct address to = here4(a);

	(void)needs(unshare(CLONE_NEWUSER), "user namespace");
	dial(tcp(AF_INET), &to, a);
}

/* The socketcall entry of 32-bit programs. Its addresses must be below 4 GiB. */
static void methods_int80(const struct arena *a)
{
	struct address to = here4(a);
	int sock = tcp(AF_INET);
	long r;
#ifdef __x86_64__
	static struct address low __attribute__((aligned(16)));
	struct address *at = &low;

	if ((uintptr_t)at >> 32) {
		at = mmap(NULL, sizeof(*at), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
		(void)needs(at == MAP_FAILED ? -1 : 0, "mmap");
	}
	*at = to;
	__asm__ volatile("int $0x80"
			 : "=a"(r)
			 : "a"(362L), "b"((long)sock), "c"((long)(uintptr_t)at), "d"((long)to.n)
			 : "memory", "r8", "r9", "r10", "r11");
	if (r < 0) {
		errno = (int)-r;
		(void)(r == -ENOSYS ? needs(-1, "int 0x80") : tries(-1, "connect by int 0x80"));
	}
	push(sock, a);
#else
	(void)to, (void)sock, (void)r;
	report(SAID_UNSUPPORTED, ENOSYS, "int 0x80");
#endif
}

static void methods_x32(const struct arena *a)
{
	struct address to = here4(a);
	int sock = tcp(AF_INET);

	if (syscall(0x40000000L | SYS_connect, sock, &to.any, to.n) < 0)
		(void)(errno == ENOSYS ? needs(-1, "x32") : tries(-1, "connect by x32"));
	push(sock, a);
}

/* The bytes by another way than send(). arg: which */
static void methods_carried(const struct arena *a)
{
	struct address to = here4(a);
	size_t n = strlen(a->token);
	struct iovec part = {(char *)a->token, n};
	int sock = tcp(AF_INET), file = needs(memfd_create("token", 0), "memfd"), ends[2];

	(void)needs(write(file, a->token, n), "write");
	(void)needs(pipe(ends), "pipe");
	(void)tries(connect(sock, &to.any, to.n), "connect");
	if (a->arg == 0)
		(void)tries(sendfile(sock, file, &(off_t){0}, n), "sendfile");
	if (a->arg == 1) {
		(void)needs(splice(file, &(off_t){0}, ends[1], NULL, n, 0), "splice from a file");
		(void)tries(splice(ends[0], NULL, sock, NULL, n, 0), "splice to the socket");
	}
	if (a->arg == 2) {
		(void)needs(vmsplice(ends[1], &part, 1, 0), "vmsplice");
		(void)tries(splice(ends[0], NULL, sock, NULL, n, 0), "splice to the socket");
	}
	if (a->arg == 3) {
		option_int(sock, SOL_SOCKET, SO_ZEROCOPY, 1, "SO_ZEROCOPY");
		(void)tries(send(sock, a->token, n, MSG_ZEROCOPY), "send");
	}
	if (a->arg == 4) /* urgent, out of band */
		(void)tries(send(sock, a->token, n, MSG_OOB), "send");
	sent();
}

static const struct attempt methods_rows[] = {
	{"tcp-nonblocking", "method", methods_nonblocking},
	{"tcp-connect-twice", "method", methods_twice},
	{"tcp-unspec-reconnect", "method", methods_unspec},
	{"tcp-thread", "method", methods_thread},
	{"tcp-fork", "method", methods_fork},
	{"tcp-exec", "method", methods_exec},
	{"tcp-vfork", "method", methods_vfork},
	{"tcp-bound-own", "method", methods_bound, 0},
	{"tcp-bound-foreign", "method", methods_bound, 1},
	{"tcp-bound-same-port", "method", methods_bound, 2},
	{"tcp-bound-443", "method", methods_bound, 3},
	{"tcp-port-reused", "method", methods_reused},
	{"tcp-bound-late-port", "method", methods_late_port},
	{"tcp-simultaneous", "method", methods_simultaneous},
	{"tcp-repair", "method", methods_repair},
	{"tcp-md5", "method", methods_md5},
	{"tcp-addrform", "method", methods_addrform},
	{"udp-addrform", "method", methods_addrform_again},
	{"tcp-userns", "method", methods_userns},
	{"tcp-int80", "method", methods_int80},
	{"tcp-x32", "method", methods_x32},
	{"tcp-sendfile", "carried", methods_carried, 0},
	{"tcp-splice", "carried", methods_carried, 1},
	{"tcp-vmsplice", "carried", methods_carried, 2},
	{"tcp-zerocopy", "carried", methods_carried, 3},
	{"tcp-urgent", "carried", methods_carried, 4},
	{"tcp-dns-port", "dns", methods_nonblocking, 0, 0, 53},
	{"tcp-dot-port", "dns", methods_nonblocking, 0, 0, 853},
	{"tcp-443", "method", methods_nonblocking, 0, 0, 443},
};

const struct attempt_list methods_list = ATTEMPTS(methods_rows);
