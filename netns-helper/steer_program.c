/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steer_program.c – see steer_program.h. Goal: a sk_lookup program for each netns at the price of a
 * system call.
 *
 * The object is opened and loaded by libbpf once. What libbpf made of it (instructions with types
 * and map descriptors filled in) is copied, the places of the map descriptors and of the numbers of bpf/steer.h
 * are remembered, and the object is dropped. For each netns a SOCKMAP is created, its descriptor, those of the shared maps
 * and the netns's numbers put into those places of a copy, and the copy loaded by the raw call: 0.4 ms, where opening the
 * object again would read the kernel's types again (60 to 160 ms).
 *
 * The program holds its maps, the link the program, and the link's pin the link. #syscalls: bpf, and those of pins.c
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
#include "bpf/steer.h"
#include "bpf/steer.skel.h"

#define STEER_NAME "steer_lookup"

enum { STEER_PLACES = 24 };

/* What is put into instructions: descriptors of maps, then numbers. */
enum steer_part {
	STEER_SLOTS,
	STEER_SANDBOXES, /* from here on in the order of programs_judge_fds() */
	STEER_VERDICTS,
	STEER_RANGES,
	STEER_HOSTS,
	STEER_OPENINGS,
	STEER_HEARTBEAT,
	STEER_OUTAGE,
	STEER_MAPS,
	STEER_COOKIE = STEER_MAPS,
	STEER_LISTENERS,
	STEER_PARTS
};
static_assert((int)STEER_MAPS - (int)STEER_SANDBOXES == (int)PROGRAMS_JUDGE, "each of them");

struct steer_program {
	struct bpf_insn *insns;
	size_t ninsns;
	struct {
		size_t insn;
		enum steer_part part;
	} places[STEER_PLACES];
	size_t nplaces;
	int shared[PROGRAMS_JUDGE]; /* borrowed */
};

struct steer_netns {
	char id[CAPTURE_ID];
	const struct pins *pins; /* borrowed */
	bool linked;
};

static uint64_t steer_number(const struct bpf_insn *wide)
{
	return (uint64_t)(uint32_t)wide[1].imm << 32 | (uint32_t)wide[0].imm;
}

/* Which part a load of 64 bits is of; STEER_PARTS: of none. Map descriptors are marked in src_reg. */
static enum steer_part steer_part_of(const struct bpf_insn *wide, const int fds[STEER_MAPS])
{
	size_t map = 0;

	if (wide->src_reg == 0)
		return steer_number(wide) == STEER_NETNS    ? STEER_COOKIE
		       : steer_number(wide) == STEER_NSLOTS ? STEER_LISTENERS
							    : STEER_PARTS;
	while (map < STEER_MAPS && fds[map] != wide->imm)
		map++;
	return wide->src_reg == BPF_PSEUDO_MAP_FD && map < STEER_MAPS ? (enum steer_part)map
								      : STEER_PARTS;
}

/* Loads of 64 bits are two instructions wide. Each part must have been found, and no map that is none. */
static int steer_find_places(struct steer_program *p, const int fds[STEER_MAPS])
{
	unsigned found = 0;

	for (size_t i = 0; i + 1 < p->ninsns; i++) {
		const struct bpf_insn *insn = &p->insns[i];
		enum steer_part part;

		if (insn->code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		part = steer_part_of(insn, fds);
		i++;
		if (part == STEER_PARTS && insn->src_reg == 0)
			continue; /* a number of its own */
		if (part == STEER_PARTS || p->nplaces == STEER_PLACES)
			return -ENOTSUP;
		p->places[p->nplaces].insn = i - 1;
		p->places[p->nplaces++].part = part;
		found |= 1U << part;
	}
	return found == (1U << STEER_PARTS) - 1 ? 0 : -ENOTSUP;
}

static int steer_copy(struct steer_program *p, const struct steer_bpf *bpf)
{
	const struct bpf_insn *insns = bpf_program__insns(bpf->progs.steer_lookup);
	const int fds[STEER_MAPS] = {
		[STEER_SLOTS] = bpf_map__fd(bpf->maps.steer_slots),
		[STEER_SANDBOXES] = bpf_map__fd(bpf->maps.sandboxes),
		[STEER_VERDICTS] = bpf_map__fd(bpf->maps.verdicts),
		[STEER_RANGES] = bpf_map__fd(bpf->maps.ranges),
		[STEER_HOSTS] = bpf_map__fd(bpf->maps.hosts),
		[STEER_OPENINGS] = bpf_map__fd(bpf->maps.openings),
		[STEER_HEARTBEAT] = bpf_map__fd(bpf->maps.heartbeat),
		[STEER_OUTAGE] = bpf_map__fd(bpf->maps.outage),
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
	programs_judge_fds(programs, p->shared);
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

static void steer_put(struct bpf_insn *wide, enum steer_part part, uint64_t value)
{
	wide[0].imm = (int32_t)(uint32_t)value;
	if (part >= STEER_MAPS)
		wide[1].imm = (int32_t)(uint32_t)(value >> 32);
}

static int steer_load(const struct steer_program *p, const struct steer_spec *spec, int slots)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_SK_LOOKUP);
	_cleanup_free_ struct bpf_insn *insns = malloc(p->ninsns * sizeof(*insns));
	uint64_t values[STEER_PARTS] = {[STEER_SLOTS] = (uint64_t)slots,
		[STEER_COOKIE] = spec->netns_cookie,
		[STEER_LISTENERS] = spec->nslots};

	if (!insns)
		return -ENOMEM;
	for (size_t i = 0; i < PROGRAMS_JUDGE; i++)
		values[STEER_SANDBOXES + i] = (uint64_t)p->shared[i];
	memcpy(insns, p->insns, p->ninsns * sizeof(*insns));
	for (size_t i = 0; i < p->nplaces; i++)
		steer_put(&insns[p->places[i].insn], p->places[i].part, values[p->places[i].part]);
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

static int steer_link(struct steer_netns *s, int program, int netns_fd)
{
	_cleanup_close_ int link = bpf_link_create(program, netns_fd, BPF_SK_LOOKUP, NULL);
	int r = link < 0 ? link : pins_put_link(s->pins, s->id, NULL, link);

	s->linked = r == 0;
	return r;
}

static int steer_attach(const struct steer_program *p, struct steer_netns *s,
	const struct steer_spec *spec, struct fault *f)
{
	_cleanup_close_ int program = -1;
	_cleanup_close_ int slots = bpf_map_create(BPF_MAP_TYPE_SOCKMAP, "steer_slots",
		sizeof(uint32_t), sizeof(uint64_t), CAPTURE_SLOT_TCP + spec->nslots, NULL);
	int r;

	if (slots < 0)
		return fault_set(
			f, slots, "cannot make the map of the listeners: %s", strerror(-slots));
	r = steer_fill_all(slots, spec, f);
	if (r < 0)
		return r;
	program = steer_load(p, spec, slots);
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
	if (strlen(spec->id) >= CAPTURE_ID || spec->netns_cookie == 0)
		return fault_set(f, -EINVAL, "not an id of a sandbox, or no netns cookie");
	s = calloc(1, sizeof(*s));
	if (!s)
		return fault_set(f, -ENOMEM, "no memory");
	memcpy(s->id, spec->id, strlen(spec->id) + 1);
	s->pins = spec->pins;
	r = steer_attach(p, s, spec, f);
	if (r < 0) {
		steer_program_detach(s);
		return r;
	}
	*ret = s;
	return 0;
}

int steer_program_verify(const struct steer_netns *s, uint64_t netns_inode, struct fault *f)
{
	_cleanup_close_ int link = pins_open_link(s->pins, s->id, NULL);
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

void steer_program_detach(struct steer_netns *s)
{
	if (!s)
		return;
	if (s->linked)
		pins_drop_link(s->pins, s->id, NULL);
	free(s);
}
