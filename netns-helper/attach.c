/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attach.c – one sandbox in the kernel.
 *
 * Order, each step such that until the last one nothing gets through:
 *   verify     netns (a netns, not ours), cgroup (v2, not the root, neither the helper nor the
 *              daemon inside); uplink: no capability that undoes it; nothing of somebody else's in
 *              the netns; sealed: no link but lo
 *   inside     uplink: the table, closed. lo up, own addresses, AnyIP;
 *              uplink: settings and routing rules; listeners and DNS sockets
 *   bpf lane   steer: sk_lookup on the netns, drops. programs: the cgroup programs, the
 *              sandbox's map entries, inactive: refuses with ENETUNREACH, and sk_lookup drops
 *   nft lane   the table, closed
 * (offer to the daemon; it answers that the policy is active)
 *   bpf lane   openings: the ranges that the policy lifts; the table; activate, which is one entry
 *   nft lane   the table
 * A failure anywhere undoes what was done, in reverse. Uniqueness among sandboxes is the caller's
 * question.
 *
 * Not here: who asked, the daemon, ending processes. #syscalls: fcntl getrandom close, and those of the parts
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "bpf/capture.h"
#include "netns-helper/attach.h"
#include "netns-helper/document.h"
#include "netns-helper/foreign.h"
#include "netns-helper/hosts.h"
#include "netns-helper/lane.h"
#include "netns-helper/leftovers.h"
#include "netns-helper/nft.h"
#include "netns-helper/programs.h"
#include "netns-helper/steer_program.h"

#include "base/cleanup.h"

struct attach_inside {
	struct attachment *a;
	struct fault *fault;
};

bool attach_id_valid(const char id[PROTO_ID])
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	static const char others[] = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
	size_t n = strnlen(id, PROTO_ID);

	return n > 0 && n < PROTO_ID && strchr(first, id[0]) && strspn(id, others) == n;
}

static int attach_copy_fd(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? -errno : copy;
}

static void attach_mapped(const uint8_t own4[4], uint8_t ret[16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	memcpy(ret, prefix, sizeof(prefix));
	memcpy(ret + sizeof(prefix), own4, 4);
}

static int attach_verify(struct attachment *a, const struct attach_spec *spec, struct fault *fault)
{
	struct cgroup_path daemon, own;
	struct stat st;
	int r;

	r = netns_verify(a->netns_fd, fault, &a->identity);
	if (r < 0)
		return r;
	r = cgroup_verify(a->cgroup_fd, fault, &own);
	if (r < 0)
		return r;
	a->cgroup = strdup(own.text);
	if (!a->cgroup)
		return fault_set(fault, -ENOMEM, "out of memory");
	if (fstat(a->cgroup_fd, &st) < 0)
		return fault_set(fault, -errno, "--cgroup: cannot be examined");
	a->cgroup_id = st.st_ino;
	if (spec->daemon > 0 && cgroup_of(spec->daemon, &daemon) == 0 &&
		cgroup_inside(daemon.text, a->cgroup))
		return fault_set(fault, -EINVAL, "--cgroup: sallyportd itself is inside");
	r = leftovers_clear(a->cgroup_fd, fault);
	if (r < 0)
		return r;
	if (a->mode != PROTO_UPLINK)
		return 0;
	return uplink_verify(a->netns_fd, a->cgroup_fd,
		spec->request->bounding_said ? &spec->request->bounding : NULL, fault);
}

/* Runs in the namespace. The table goes last: until then it holds. */
static int attach_leave(void *arg)
{
	struct attachment *a = arg;

	if (a->uplink)
		uplink_take_back(a->uplink);
	routes_take_back(&a->routes, a->own4, a->own6);
	if (a->nft && !a->left_closed)
		(void)nft_unload(); /* its owner may have removed it already */
	a->nft = false;
	return 0;
}

/* Runs in the namespace, before anything is changed there. */
static int attach_inspect(void *arg)
{
	struct attach_inside *in = arg;
	struct attachment *a = in->a;
	const struct foreign_spec foreign = {
		.cgroup = a->cgroup, .cgroup_id = a->cgroup_id, .uplink = a->mode == PROTO_UPLINK};
	int r = foreign_verify(&foreign, in->fault, &a->resolver);

	if (r == 0 && a->mode == PROTO_SEALED)
		r = routes_only_lo(in->fault);
	return r;
}

static int attach_arrange(struct attachment *a, struct fault *fault)
{
	int r = routes_set_up(a->own4, a->own6, fault, &a->routes);

	if (r == 0 && a->uplink)
		r = uplink_set_up(a->routes.v6, fault, a->uplink);
	return r;
}

/* Runs in the namespace. */
static int attach_enter(void *arg)
{
	struct attach_inside *in = arg;
	struct attachment *a = in->a;
	int r = attach_arrange(a, in->fault);

	if (r == 0) {
		r = listeners_open(
			listeners_slots(), a->routes.v6, a->lane == PROTO_LANE_NFT, &a->listeners);
		if (r < 0)
			(void)fault_set(
				in->fault, r, "cannot open the listeners: %s", strerror(-r));
	}
	if (r < 0) {
		(void)attach_leave(a); /* does not fail */
		return r;
	}
	a->inside = true;
	return 0;
}

/* Runs in the namespace. */
static int attach_load_table(void *arg)
{
	return nft_load(arg);
}

/*
 * Loads the table: closed, or with the policy's openings. Whatever did not load is a failed attach: the
 * message names the kernel's option.
 */
static int attach_table(struct attachment *a, bool closed, struct fault *fault)
{
	struct nft_spec table = {
		.mode = a->mode,
		.lane = a->lane,
		.closed = closed,
		.outage = a->outage,
		.locals = a->uplink ? a->uplink->addresses.list : NULL,
		.nlocals = a->uplink ? a->uplink->addresses.n : 0,
		.inbound = a->inbound,
		.resolver = a->resolver,
		.hosts = a->hosts->ip,
		.nhosts = a->hosts->n,
		.openings = a->openings,
		.nopenings = a->nopenings,
		.nslots = a->listeners.nslots,
	};
	int r = a->inside ? listeners_ports(&a->listeners, table.ports4, table.ports6) : 0;

	if (r < 0)
		return fault_set(fault, r, "cannot read the listeners' ports: %s", strerror(-r));
	memcpy(table.own4, a->own4, sizeof(a->own4));
	memcpy(table.own6, a->own6, sizeof(a->own6));
	table.fault = fault;
	r = netns_within(a->netns_fd, attach_load_table, &table);
	if (r < 0)
		return fault_set(fault, r, "cannot load the nft table: %s", strerror(-r));
	a->nft = true;
	return 0;
}

static int attach_steer(struct attachment *a, const struct attach_spec *spec, struct fault *fault)
{
	struct steer_spec steer = {
		.id = a->id,
		.pins = programs_pins(spec->programs),
		.netns_fd = a->netns_fd,
		.nslots = a->listeners.nslots,
		.listeners = a->listeners.tcp[0],
		.udp = a->listeners.dns[0],
		.netns_cookie = a->cookie,
	};

	return steer_program_attach(spec->steer, &steer, fault, &a->steer);
}

static int attach_programs(
	struct attachment *a, const struct attach_spec *spec, struct fault *fault)
{
	const char *unix_paths[PROTO_UNIX_PATHS];
	struct programs_spec programs = {
		.id = a->id,
		.netns_cookie = a->cookie,
		.cgroup_fd = a->cgroup_fd,
		.cgroup_id = a->cgroup_id,
		.mode = a->mode == PROTO_UPLINK ? CAPTURE_UPLINK : CAPTURE_SEALED,
		.unix_paths = unix_paths,
		.resolver = a->resolver,
	};

	for (size_t i = 0; i < PROTO_UNIX_PATHS && spec->request->unix_paths[i][0]; i++)
		unix_paths[programs.nunix_paths++] = spec->request->unix_paths[i];
	attach_mapped(a->own4, programs.own4);
	if (a->routes.v6)
		memcpy(programs.own6, a->own6, sizeof(programs.own6));
	return programs_attach(spec->programs, &programs, fault, &a->programs);
}

/* The addresses of the uplink pass like the own ones. */
static int attach_locals(struct attachment *a, struct fault *fault)
{
	const struct addresses *l;
	int r;

	if (!a->uplink || a->lane != PROTO_LANE_BPF)
		return 0; /* the table knows them */
	l = &a->uplink->addresses;
	r = programs_set_locals(a->programs, l->list, l->n, fault);
	if (r < 0)
		return fault_set(
			fault, r, "cannot set the addresses of its interfaces: %s", strerror(-r));
	return 0;
}

static int attach_steps(struct attachment *a, const struct attach_spec *spec, struct fault *fault)
{
	struct attach_inside in = {a, fault};
	int r;

	a->netns_fd = attach_copy_fd(spec->netns_fd);
	a->cgroup_fd = attach_copy_fd(spec->cgroup_fd);
	if (a->netns_fd < 0 || a->cgroup_fd < 0)
		return fault_set(fault, -EMFILE, "out of descriptors");
	r = document_text(spec->policy_fd, &a->policy, &a->npolicy);
	if (r < 0)
		return fault_set(fault, r, "--policy: cannot be copied: %s", strerror(-r));
	r = attach_verify(a, spec, fault);
	if (r < 0)
		return r;
	r = netns_within(a->netns_fd, attach_inspect, &in);
	if (r == 0 && a->mode == PROTO_UPLINK)
		r = attach_table(a, true, fault);
	if (r == 0)
		r = netns_within(a->netns_fd, attach_enter, &in);
	if (r < 0)
		return fault_set(fault, r, "cannot enter the network namespace: %s", strerror(-r));
	if (spec->request->strict && !a->routes.v6)
		return fault_set(
			fault, -EAFNOSUPPORT, "--strict: the network namespace has no IPv6");
	r = netns_cookie(a->listeners.dns[0], &a->cookie);
	if (r < 0)
		return fault_set(fault, r, "the network namespace has no cookie (Linux 5.14): %s",
			strerror(-r));
	if (a->lane == PROTO_LANE_NFT)
		return attach_table(a, true, fault);
	r = attach_steer(a, spec, fault);
	if (r < 0)
		return fault_set(fault, r, "cannot attach the sk_lookup program: %s", strerror(-r));
	r = attach_programs(a, spec, fault);
	if (r < 0)
		return fault_set(fault, r, "cannot attach the cgroup programs: %s", strerror(-r));
	return attach_locals(a, fault);
}

/* What only some have. */
static int attach_take_request(struct attachment *a, const struct proto_attach *request)
{
	while (a->nsearch < PROTO_SEARCH && request->search[a->nsearch][0])
		a->nsearch++;
	if (a->nsearch) {
		a->search = calloc(a->nsearch, sizeof(*a->search));
		if (!a->search)
			return -ENOMEM;
		memcpy(a->search, request->search, a->nsearch * sizeof(*a->search));
	}
	if (a->mode != PROTO_UPLINK)
		return 0;
	a->uplink = calloc(1, sizeof(*a->uplink));
	if (!a->uplink)
		return -ENOMEM;
	a->uplink->addresses.fd = -1;
	return 0;
}

int attach_begin(const struct attach_spec *spec, struct fault *fault, struct attachment **ret)
{
	struct attachment *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return fault_set(fault, -ENOMEM, "out of memory");
	memcpy(a->id, spec->request->id, sizeof(a->id));
	a->mode = (enum proto_mode)spec->request->mode;
	a->hosts = spec->hosts;
	a->netns_fd = a->cgroup_fd = -1;
	a->lane = spec->lane;
	if (inet_pton(AF_INET, PROTO_OWN4, a->own4) != 1 ||
		inet_pton(AF_INET6, PROTO_OWN6, a->own6) != 1)
		r = fault_set(fault, -EINVAL, "the own addresses do not parse");
	else if (getrandom(&a->inbound, sizeof(a->inbound), 0) != sizeof(a->inbound))
		r = fault_set(fault, -EIO, "the kernel gives no random number");
	else if (attach_take_request(a, spec->request) < 0)
		r = fault_set(fault, -ENOMEM, "out of memory");
	else {
		a->inbound |= 1; /* 0 is what every other connection has */
		r = attach_steps(a, spec, fault);
	}
	if (r < 0) {
		attach_undo(a);
		attach_free(a);
		return r;
	}
	*ret = a;
	return 0;
}

static int attach_activate(struct attachment *a, struct fault *fault)
{
	int r = programs_activate(a->programs, fault);

	return r < 0 ? fault_set(fault, r, "cannot activate the cgroup programs: %s", strerror(-r))
		     : 0;
}

/* Runs in the namespace. */
static int attach_read_addresses(void *arg)
{
	struct attachment *a = arg;
	int r = addresses_read(&a->uplink->addresses);

	if (r <= 0)
		return r;
	return nft_set_locals(a->uplink->addresses.list, a->uplink->addresses.n);
}

int attach_follow(struct attachment *a, struct fault *fault)
{
	int r;

	if (!a->uplink || !addresses_changed(&a->uplink->addresses) ||
		(a->lane == PROTO_LANE_BPF && !a->programs))
		return 0; /* nothing, or it is being taken down */
	r = netns_within(a->netns_fd, attach_read_addresses, a);
	if (r < 0)
		return fault_set(fault, r, "cannot follow the addresses of its interfaces: %s",
			strerror(-r));
	return attach_locals(a, fault);
}

int attach_finish(struct attachment *a, const uint8_t digest[32],
	const struct capture_opening *openings, size_t nopenings, struct fault *fault)
{
	int r;

	if (nopenings) {
		a->openings = malloc(nopenings * sizeof(*openings));
		if (!a->openings)
			return fault_set(fault, -ENOMEM, "out of memory");
		memcpy(a->openings, openings, nopenings * sizeof(*openings));
		a->nopenings = nopenings;
	}
	if (a->lane == PROTO_LANE_BPF) {
		r = programs_set_policy(a->programs, digest, openings, nopenings, fault);
		if (r < 0)
			return fault_set(fault, r, "cannot set the openings: %s", strerror(-r));
	}
	r = attach_reopen(a, fault);
	a->active = r == 0;
	return r;
}

int attach_close(struct attachment *a)
{
	struct fault ignored = {""};

	if (a->lane == PROTO_LANE_NFT) /* the table is all there is */
		return attach_table(a, true, &ignored);
	return programs_deactivate(a->programs);
}

/* Runs in the namespace. */
static int attach_repair_settings(void *arg)
{
	return sysctls_repair(arg);
}

void attach_repair(struct attachment *a)
{
	struct fault ignored = {""};

	if (a->lane == PROTO_LANE_BPF)
		(void)programs_repair(a->programs); /* see attach.h */
	(void)attach_table(a, true, &ignored);
	if (a->uplink && a->uplink->on)
		(void)netns_within(a->netns_fd, attach_repair_settings, &a->uplink->sysctls);
}

int attach_reopen(struct attachment *a, struct fault *fault)
{
	int r = attach_table(a, false, fault);

	return r < 0 || a->lane == PROTO_LANE_NFT ? r : attach_activate(a, fault);
}

/* Runs in the namespace. */
static int attach_set_hosts(void *arg)
{
	const struct hosts_list *hosts = arg;

	return nft_set_hosts(hosts->ip, hosts->n);
}

int attach_renew_hosts(struct attachment *a)
{
	if (!a->nft || a->lane != PROTO_LANE_NFT)
		return 0; /* a map of all sandboxes has them */
	return netns_within(a->netns_fd, attach_set_hosts, (void *)a->hosts);
}

/* Runs in the namespace. */
static int attach_refuse(void *arg)
{
	(void)arg;
	return nft_set_outage(true);
}

static int attach_admit(void *arg)
{
	(void)arg;
	return nft_set_outage(false);
}

int attach_set_outage(struct attachment *a, bool refuses)
{
	int r = a->nft ? netns_within(a->netns_fd, refuses ? attach_refuse : attach_admit, NULL)
		       : 0;

	if (r == 0)
		a->outage = refuses; /* also for a table that is loaded later */
	return r;
}

void attach_shut(struct attachment *a)
{
	bool reachable = a->inside && a->listeners.dns[0] >= 0;
	struct fault ignored = {""};

	if (a->programs)
		a->account = programs_leave_account(a->programs);
	programs_detach(a->programs);
	a->programs = NULL;
	steer_program_detach(a->steer);
	a->steer = NULL;
	if (reachable && a->nft && a->lane == PROTO_LANE_NFT)
		(void)attach_table(
			a, true, &ignored); /* a namespace that cannot be entered is gone */
	if (a->inside)
		listeners_close(&a->listeners);
}

void attach_undo(struct attachment *a)
{
	struct fault ignored = {""};

	attach_shut(a);
	programs_forget_account(a->account, a->cookie);
	a->account = NULL;
	a->left_closed =
		a->mode == PROTO_UPLINK && a->active && a->nft && cgroup_populated(a->cgroup_fd);
	if (a->left_closed)
		(void)attach_table(
			a, true, &ignored); /* or what was loaded stays, which holds as well */
	if (a->inside || a->nft) {
		(void)netns_within(a->netns_fd, attach_leave,
			a); /* a namespace that cannot be entered is gone */
		a->inside = false;
	}
	if (a->uplink)
		uplink_done(a->uplink);
	cleanup_close(&a->netns_fd);
	a->netns_fd = -1;
}

void attach_put_search(const struct attachment *a, char ret[PROTO_SEARCH][PROTO_NAME])
{
	memset(ret, 0, PROTO_SEARCH * sizeof(*ret));
	if (a->nsearch)
		memcpy(ret, a->search, a->nsearch * sizeof(*ret));
}

void attach_free(struct attachment *a)
{
	if (!a)
		return;
	cleanup_close(&a->cgroup_fd);
	free(a->policy);
	free(a->search);
	free(a->cgroup);
	free(a->uplink);
	free(a->openings);
	free(a);
}
