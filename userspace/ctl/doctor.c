/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor.c – see doctor.h. The kernel is tried by the probes of need.h, never asked for its version
 * or its configuration; the rest of the machine is looked at by machine.h. What is required follows
 * from the request: with `auto` either lane will do, and a lane that does not work is one the
 * product does without as long as the other works.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "ctl/doctor.h"
#include "ctl/finding.h"
#include "ctl/machine.h"
#include "ctl/need.h"
#include "ctl/probe.h"

enum { DOCTOR_OK, DOCTOR_MISSING, DOCTOR_WRONG, DOCTOR_UNTRIED };
enum { DOCTOR_OUTPUT = 1 << 18 };

struct doctor {
	const struct doctor_request *request;
	char probes[4096]; /* their directory */
	bool required[NEED_PARTS];
	bool lacks[NEED_PARTS]; /* a row of that part is missing, or could not be tried */
	bool untried[NEED_PARTS]; /* of these, the last */
	unsigned seen[FINDING_STATES];
	bool missing, unknown; /* of what is required */
	struct buf out;
	struct json json;
};

static void doctor_tell(struct doctor *d, const struct finding *f)
{
	d->seen[f->state]++;
	d->missing |= f->required && f->state == FINDING_MISSING;
	d->unknown |= f->required && f->state == FINDING_UNTRIED;
	if (d->request->json)
		finding_json(f, &d->json);
	else
		finding_print(f, stdout);
}

static void doctor_try(struct doctor *d, const struct need *need)
{
	struct finding f = {.name = need->name,
		.required = d->required[need->part],
		.use = need->use,
		.option = need->option,
		.remedy = need->remedy};

	if (need->root && geteuid() != 0) {
		finding_set(&f, FINDING_UNTRIED, "only root can try it");
		f.option = NULL;
		f.remedy = "sudo sallyportctl doctor";
	} else {
		switch (probe_run(d->probes, need->name, f.symptom, sizeof(f.symptom))) {
		case PROBE_OK:
			break;
		case PROBE_MISSING:
			f.state = f.required ? FINDING_MISSING : FINDING_WITHOUT;
			break;
		case PROBE_SKIPPED:
			f.state = FINDING_WITHOUT;
			break;
		case PROBE_BROKEN:
			f.state = FINDING_UNTRIED;
			f.option = NULL;
			f.remedy = "make probes, or install the product whole";
			break;
		}
	}
	d->lacks[need->part] |= f.state != FINDING_OK;
	d->untried[need->part] |= f.state == FINDING_UNTRIED;
	doctor_tell(d, &f);
}

/* With `auto` no lane is required, but one of the two. */
static void doctor_lane(struct doctor *d)
{
	struct finding f = {.name = "lane",
		.required = true,
		.use = "sandboxes at all: one of the two lanes",
		.remedy = "mend what is named above for one of them"};
	bool bpf = !d->lacks[NEED_BPF], nft = !d->lacks[NEED_NFT];

	if (bpf)
		finding_set(&f, FINDING_OK, "%s", nft ? "both work; bpf is used" : "bpf works");
	else if (nft)
		finding_set(&f, FINDING_OK, "nft works: no attribution, no errno of our choice");
	else if (d->untried[NEED_BPF] || d->untried[NEED_NFT])
		finding_set(&f, FINDING_UNTRIED, "neither was seen to work");
	else
		finding_set(&f, FINDING_MISSING, "neither works");
	doctor_tell(d, &f);
}

static int doctor_status(const struct doctor *d)
{
	return d->missing ? DOCTOR_MISSING : d->unknown ? DOCTOR_UNTRIED : DOCTOR_OK;
}

static void doctor_end_text(const struct doctor *d)
{
	for (unsigned i = 0; i < FINDING_STATES; i++)
		printf("%s%u %s", i ? ", " : "", d->seen[i], finding_word((enum finding_state)i));
	printf(": %s\n", d->missing   ? "something that is required is missing"
			 : d->unknown ? "something that is required could not be tried"
				      : "what is required works");
}

static int doctor_end_json(struct doctor *d)
{
	int r;

	json_close(&d->json, ']');
	json_open(&d->json, "count", '{');
	for (unsigned i = 0; i < FINDING_STATES; i++)
		json_number(&d->json, finding_word((enum finding_state)i), d->seen[i]);
	json_close(&d->json, '}');
	json_number(&d->json, "status", doctor_status(d));
	json_close(&d->json, '}');
	r = json_end(&d->json);
	if (r < 0)
		(void)fprintf(stderr, "sallyportctl: the answer does not fit: %s\n", strerror(-r));
	else
		printf("%.*s\n", SLICE_ARG(buf_slice(&d->out)));
	return r < 0 ? DOCTOR_MISSING : 0;
}

static int doctor_start(struct doctor *d)
{
	const struct doctor_request *q = d->request;
	const char *lane = q->lane ? q->lane : "auto", *mode = q->mode ? q->mode : "sealed";
	struct utsname system;
	int r = 0;

	if (strcmp(lane, "auto") != 0 && strcmp(lane, "bpf") != 0 && strcmp(lane, "nft") != 0) {
		(void)fprintf(stderr, "sallyportctl: --lane is auto, bpf or nft\n");
		return DOCTOR_WRONG;
	}
	if (strcmp(mode, "sealed") != 0 && strcmp(mode, "uplink") != 0) {
		(void)fprintf(stderr, "sallyportctl: --mode is sealed or uplink\n");
		return DOCTOR_WRONG;
	}
	d->required[NEED_ALL] = true;
	d->required[NEED_BPF] = strcmp(lane, "bpf") == 0;
	d->required[NEED_NFT] = strcmp(lane, "nft") == 0;
	d->required[NEED_UPLINK] = strcmp(mode, "uplink") == 0;
	if (q->probes)
		(void)snprintf(d->probes, sizeof(d->probes), "%s", q->probes);
	else
		r = probe_directory(d->probes, sizeof(d->probes));
	if (r < 0) /* each probe will say that it is not there */
		(void)snprintf(d->probes, sizeof(d->probes), "(no directory of probes)");
	if (uname(&system) < 0)
		memset(&system, 0, sizeof(system));
	if (!q->json) {
		printf("%s %s %s, lane %s, mode %s\n", system.sysname, system.release,
			system.machine, lane, mode);
		return 0;
	}
	json_start(&d->json, &d->out);
	json_open(&d->json, NULL, '{');
	json_text(&d->json, "kernel", system.release);
	json_text(&d->json, "machine", system.machine);
	json_text(&d->json, "lane", lane);
	json_text(&d->json, "mode", mode);
	json_open(&d->json, "findings", '[');
	return 0;
}

int doctor_run(const struct doctor_request *request)
{
	struct doctor d = {.request = request};
	int r;

	buf_init(&d.out, DOCTOR_OUTPUT);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	r = doctor_start(&d);
	if (r == 0) {
		for (size_t i = 0; i < machine_count; i++) {
			struct finding f;

			machine_look(i, request->state, &f);
			doctor_tell(&d, &f);
		}
		for (size_t i = 0; i < need_count; i++)
			doctor_try(&d, &need_rows[i]);
		if (!d.required[NEED_BPF] && !d.required[NEED_NFT])
			doctor_lane(&d);
		if (request->json)
			r = doctor_end_json(&d);
		else
			doctor_end_text(&d);
		r = r ? r : doctor_status(&d);
	}
	buf_done(&d.out);
	return r;
}
