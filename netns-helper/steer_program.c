/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steer_program.c – see steer_program.h. Goal: a sk_lookup program for each netns at the price of a
 * system call.
 *
 * The object is opened and loaded by libbpf once. What libbpf made of it (instructions with types
 * and map descriptors filled in) is copied, the places of the two map descriptors are remembered,
 * and the object is dropped. For each netns two maps are created, their descriptors put into those
 * places of a copy (beside those of the two maps of outage.bpf.h, which are everybody's), and the copy loaded by the raw call: 0.4 ms, where opening the object again
 * would read the kernel's types again (60 to 160 ms).
 *
 * The program holds its maps, the link the program, and the link's pin the link; we hold the state
 * map, to change it. #syscalls: bpf, and those of pins.c
 */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "netns-helper/pins.h"
#include "netns-helper/programs.h"
#include "netns-helper/steer_program.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "bpf/capture.h"
#include "bpf/steer.skel.h"

#define STEER_NAME "steer_lookup" /* of the program and of the link's pin */

enum { STEER_PLACES = 16 };

enum steer_map {
	STEER_MAP_SLOTS,
	STEER_MAP_STATE,
	STEER_MAP_HEARTBEAT, /* this and the next: of all sandboxes */
	STEER_MAP_OUTAGE,
	STEER_MAP_COUNT
};

struct steer_program {
	struct bpf_insn *insns;
	size_t ninsns;
	struct {
		size_t insn;
		enum steer_map map;
	} places[STEER_PLACES]; /* where a map descriptor stands */
	size_t nplaces;
	struct programs_outage_fds outage; /* borrowed */
};

struct steer_netns {
	char id[CAPTURE_ID];
	const struct pins *pins; /* borrowed */
	struct capture_steer state;
	int state_fd;
	bool linked;
};

/* Loads of a map descriptor are two instructions wide, marked in src_reg (BPF_PSEUDO_MAP_FD). */
static int steer_find_places(struct steer_program *p, const int fds[STEER_MAP_COUNT])
{
	for (size_t i = 0; i < p->ninsns; i++) {
		const struct bpf_insn *insn = &p->insns[i];
		size_t map = 0;

		if (insn->code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		i++;
		if (insn->src_reg == 0)
			continue;
		while (map < STEER_MAP_COUNT && fds[map] != insn->imm)
			map++;
		if (insn->src_reg != BPF_PSEUDO_MAP_FD || map == STEER_MAP_COUNT ||
			p->nplaces == STEER_PLACES)
			return -ENOTSUP;
		p->places[p->nplaces].insn = i - 1;
		p->places[p->nplaces++].map = (enum steer_map)map;
	}
	return 0;
}

static int steer_copy(struct steer_program *p, const struct steer_bpf *bpf)
{
	const struct bpf_insn *insns = bpf_program__insns(bpf->progs.steer_lookup);
	int fds[STEER_MAP_COUNT] = {
		[STEER_MAP_SLOTS] = bpf_map__fd(bpf->maps.steer_slots),
		[STEER_MAP_STATE] = bpf_map__fd(bpf->maps.steer_state),
		[STEER_MAP_HEARTBEAT] = bpf_map__fd(bpf->maps.heartbeat),
		[STEER_MAP_OUTAGE] = bpf_map__fd(bpf->maps.outage),
	};

	p->ninsns = bpf_program__insn_cnt(bpf->progs.steer_lookup);
	p->insns = malloc(p->ninsns * sizeof(*insns));
	if (!p->insns)
		return -ENOMEM;
	memcpy(p->insns, insns, p->ninsns * sizeof(*insns));
	return steer_find_places(p, fds);
}

int steer_program_open(const struct programs *programs, struct fault *f, struct steer_program **ret)
{
	struct steer_program *p = calloc(1, sizeof(*p));
	struct steer_bpf *bpf = NULL;
	int r;

	if (!p)
		return fault_set(f, -ENOMEM, "no memory");
	programs_outage_fds(programs, &p->outage);
	bpf = steer_bpf__open();
	r = bpf ? steer_bpf__load(bpf) : -errno;
	if (r < 0) {
		fault_set(f, r, "the kernel does not take the sk_lookup program: %s", strerror(-r));
	} else {
		r = steer_copy(p, bpf);
		if (r < 0)
			fault_set(f, r, "cannot copy the sk_lookup program: %s", strerror(-r));
	}
	steer_bpf__destroy(bpf); /* takes NULL */
	if (r < 0) {
		steer_program_close(p);
		return r;
	}
	*ret = p;
	return 0;
}

void steer_program_close(struct steer_program *p)
{
	if (!p)
		return;
	free(p->insns);
	free(p);
}

/* ---- a netns
 * ------------------------------------------------------------------------------------------------------
 */

static int steer_load(const struct steer_program *p, const int fds[STEER_MAP_COUNT])
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_SK_LOOKUP);
	_cleanup_free_ struct bpf_insn *insns = malloc(p->ninsns * sizeof(*insns));

	if (!insns)
		return -ENOMEM;
	memcpy(insns, p->insns, p->ninsns * sizeof(*insns));
	for (size_t i = 0; i < p->nplaces; i++)
		insns[p->places[i].insn].imm = fds[p->places[i].map];
	return bpf_prog_load(
		BPF_PROG_TYPE_SK_LOOKUP, STEER_NAME, "Dual BSD/GPL", insns, p->ninsns, &opts);
}

static int steer_fill(int slots, uint32_t first, const int *sockets, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t slot = first + (uint32_t)i;
		uint64_t socket = (uint64_t)sockets[i];
		int r = bpf_map_update_elem(slots, &slot, &socket, BPF_NOEXIST);

		if (r < 0)
			return r;
	}
	return 0;
}

static int steer_fill_all(int slots, const struct steer_spec *spec, struct fault *f)
{
	int r = steer_fill(slots, CAPTURE_SLOT_UDP, &spec->udp, 1);

	if (r == 0)
		r = steer_fill(slots, CAPTURE_SLOT_TCP, spec->listeners, spec->nslots);
	return r < 0 ? fault_set(
			       f, r, "cannot put the listeners into their slots: %s", strerror(-r))
		     : 0;
}

/* Writes to; on failure what was there stays. */
static int steer_change(struct steer_netns *s, const struct capture_steer *to)
{
	const uint32_t set = CAPTURE_STEER_SET;
	int r = bpf_map_update_elem(s->state_fd, &set, to, BPF_ANY);

	if (r == 0)
		s->state = *to;
	return r;
}

static int steer_link(struct steer_netns *s, int program, int netns_fd)
{
	_cleanup_close_ int link = bpf_link_create(program, netns_fd, BPF_SK_LOOKUP, NULL);
	int r = link < 0 ? link : pins_put_link(s->pins, s->id, STEER_NAME, link);

	s->linked = r == 0;
	return r;
}

/* The two maps: the caller's to close is the second, *ret_slots; the first is s->state_fd. */
static int steer_make_maps(struct steer_netns *s, unsigned nslots, int *ret_slots)
{
	int slots;

	s->state_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "steer_state", sizeof(uint32_t),
		sizeof(struct capture_steer), CAPTURE_STEER_ENTRIES, NULL);
	if (s->state_fd < 0)
		return s->state_fd;
	slots = bpf_map_create(BPF_MAP_TYPE_SOCKMAP, "steer_slots", sizeof(uint32_t),
		sizeof(uint64_t), CAPTURE_SLOT_TCP + nslots, NULL);
	if (slots < 0)
		return slots;
	*ret_slots = slots;
	return 0;
}

static int steer_attach(const struct steer_program *p, struct steer_netns *s,
	const struct steer_spec *spec, struct fault *f)
{
	struct capture_steer state = {.nslots = spec->nslots, .resolver = spec->resolver};
	_cleanup_close_ int slots = -1, program = -1;
	int r, fds[STEER_MAP_COUNT];

	memcpy(state.own4, spec->own4, sizeof(state.own4));
	memcpy(state.own6, spec->own6, sizeof(state.own6));
	r = steer_make_maps(s, spec->nslots, &slots);
	if (r == 0)
		r = steer_change(s, &state);
	if (r < 0)
		return fault_set(f, r, "cannot make the sk_lookup maps: %s", strerror(-r));
	r = steer_fill_all(slots, spec, f);
	if (r < 0)
		return r;
	fds[STEER_MAP_SLOTS] = slots;
	fds[STEER_MAP_STATE] = s->state_fd;
	fds[STEER_MAP_HEARTBEAT] = p->outage.heartbeat;
	fds[STEER_MAP_OUTAGE] = p->outage.outage;
	program = steer_load(p, fds);
	if (program < 0)
		return fault_set(f, program, "the kernel does not take the sk_lookup program: %s",
			strerror(-program));
	r = steer_link(s, program, spec->netns_fd);
	return r < 0 ? fault_set(f, r, "cannot attach the sk_lookup program to the netns: %s",
			       strerror(-r))
		     : 0;
}

int steer_program_attach(const struct steer_program *p, const struct steer_spec *spec,
	struct fault *f, struct steer_netns **ret)
{
	struct steer_netns *s;
	int r;

	if (spec->nslots == 0 || spec->nslots > CAPTURE_SLOTS)
		return fault_set(f, -EINVAL, "%u listeners, 1 to %d", spec->nslots, CAPTURE_SLOTS);
	if (strlen(spec->id) >= CAPTURE_ID)
		return fault_set(f, -EINVAL, "not an id of a sandbox");
	s = calloc(1, sizeof(*s));
	if (!s)
		return fault_set(f, -ENOMEM, "no memory");
	memcpy(s->id, spec->id, strlen(spec->id) + 1);
	s->pins = spec->pins;
	s->state_fd = -1;
	r = steer_attach(p, s, spec, f);
	if (r < 0) {
		steer_program_detach(s);
		return r;
	}
	*ret = s;
	return 0;
}

static int steer_set_active(struct steer_netns *s, bool active)
{
	struct capture_steer state = s->state;

	state.active = active;
	return steer_change(s, &state);
}

int steer_program_activate(struct steer_netns *s, struct fault *f)
{
	int r = steer_set_active(s, true);

	return r < 0 ? fault_set(f, r, "cannot activate the sk_lookup program: %s", strerror(-r))
		     : 0;
}

int steer_program_deactivate(struct steer_netns *s)
{
	return steer_set_active(s, false);
}

int steer_program_set_locals(
	struct steer_netns *s, const uint8_t (*locals)[16], size_t n, struct fault *f)
{
	struct capture_steer state = s->state;
	int r;

	if (n > CAPTURE_LOCALS)
		return fault_set(
			f, -E2BIG, "the uplink has %zu addresses, at most %d", n, CAPTURE_LOCALS);
	memset(state.locals, 0, sizeof(state.locals));
	if (n > 0)
		memcpy(state.locals, locals, n * sizeof(*locals));
	r = steer_change(s, &state);
	return r < 0 ? fault_set(f, r,
			       "cannot tell the sk_lookup program the uplink's addresses: %s",
			       strerror(-r))
		     : 0;
}

int steer_program_verify(const struct steer_netns *s, uint64_t netns_inode, struct fault *f)
{
	_cleanup_close_ int link = pins_open_link(s->pins, s->id, STEER_NAME);
	struct bpf_link_info info = {0};
	uint32_t n = sizeof(info);
	int r = link < 0 ? link : bpf_obj_get_info_by_fd(link, &info, &n) < 0 ? -errno : 0;

	/* of a link that was detached the inode is 0 */
	if (r == 0 && (info.type != BPF_LINK_TYPE_NETNS || info.netns.netns_ino != netns_inode))
		r = -ENOENT;
	return r < 0 ? fault_set(f, r,
			       "the sk_lookup program is not attached to its network namespace any "
			       "more")
		     : 0;
}

int steer_program_dropped(const struct steer_netns *s, uint64_t *ret)
{
	const uint32_t count = CAPTURE_STEER_COUNT;
	struct capture_steer counts;
	int r = bpf_map_lookup_elem(s->state_fd, &count, &counts);

	if (r == 0)
		*ret = counts.dropped;
	return r;
}

void steer_program_detach(struct steer_netns *s)
{
	if (!s)
		return;
	if (s->linked)
		pins_drop_link(s->pins, s->id, STEER_NAME);
	cleanup_close(&s->state_fd);
	free(s);
}
