/* SPDX-License-Identifier: Apache-2.0 */
/*
 * programs.c – the verifier takes each of the product's own programs: helpers in the places where
 * we use them (socket storage and the current task in connect4, storage and map of maps in
 * sockops), the maps' BTF, the loop bounds.
 */
#include <bpf/libbpf.h>

#include "bpf/capture.skel.h"
#include "bpf/steer.skel.h"

#include "probe.h"

static int quiet(enum libbpf_print_level level, const char *format, va_list ap)
{
	(void)level, (void)format, (void)ap;
	return 0;
}

static const char *const names[] = {"policy_connect4", "policy_connect6", "policy_sendmsg4",
	"policy_sendmsg6", "create_socket", "egress_packet", "flows_sockops"};

/* Loads one program of the object alone, so that the answer has its name. */
static void load_one(const char *name)
{
	struct capture_bpf *bpf = capture_bpf__open();
	struct bpf_program *program;

	probe_need(bpf, "reading the object");
	bpf_object__for_each_program(program, bpf->obj)(void)
		bpf_program__set_autoload(program, strcmp(bpf_program__name(program), name) == 0);
	(void)bpf_map__set_autocreate(bpf->maps.flows, false);
	probe_need(capture_bpf__load(bpf) == 0, name);
	capture_bpf__destroy(bpf);
}

int main(void)
{
	struct steer_bpf *steer;

	probe_begin("programs");
	(void)libbpf_set_print(quiet);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		load_one(names[i]);
	steer = steer_bpf__open_and_load();
	probe_need(steer, "steer_lookup");
	steer_bpf__destroy(steer);
	probe_ok();
}
