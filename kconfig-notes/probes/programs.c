/* SPDX-License-Identifier: Apache-2.0 */
/*
 * programs.c – the verifier takes each of the product's own programs: helpers in the places where
 * we use them (socket storage and the current task in connect4, storage and map of maps in
 * sockops), the maps' BTF, the loop bounds. With -v it shows the verifier's log of the one that is
 * not taken.
 */
#include <stdbool.h>

#include <bpf/libbpf.h>

#include "bpf/capture.skel.h"
#include "bpf/steer.skel.h"

#include "probe.h"

static int quiet(enum libbpf_print_level level, const char *format, va_list ap)
{
	(void)level, (void)format, (void)ap;
	return 0;
}

/* Those of unix sockets are left out where the kernel has no hooks for them: see connect_unix. */
static bool needed(const char *name)
{
	return strncmp(name, "unix_", 5) != 0;
}

/* Loads the program of that number alone, so that the answer has its name. False when there is none. */
static bool load_one(unsigned number)
{
	struct capture_bpf *bpf = capture_bpf__open();
	struct bpf_program *program;
	const char *name = NULL;
	unsigned i = 0;

	probe_need(bpf, "reading the object");
	bpf_object__for_each_program(program, bpf->obj)
	{
		bool wanted = needed(bpf_program__name(program)) && i++ == number;

		(void)bpf_program__set_autoload(program, wanted);
		name = wanted ? bpf_program__name(program) : name;
	}
	(void)bpf_map__set_autocreate(bpf->maps.flows, false);
	if (name)
		probe_need(capture_bpf__load(bpf) == 0, name);
	capture_bpf__destroy(bpf);
	return name;
}

int main(int argc, char **argv)
{
	struct steer_bpf *steer;
	unsigned number = 0;

	probe_begin("programs");
	if (argc < 2 || strcmp(argv[1], "-v") != 0)
		(void)libbpf_set_print(quiet);
	while (load_one(number))
		number++;
	if (number == 0)
		probe_missing("the object has no programs");
	steer = steer_bpf__open_and_load();
	probe_need(steer, "steer_lookup");
	steer_bpf__destroy(steer);
	probe_ok();
}
