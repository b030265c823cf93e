# SPDX-License-Identifier: Apache-2.0
#
# make            builds the programs under build/
# make try        sets the machine up, builds, shows the main job in namespaces (root)
# make check      sets the machine up, builds, runs every test (root); SAN=1 for the sanitizer build
# make vm         boots Debian's own kernel under emulation, runs the kernel lane's tests in there (root; slow)
# make battery    the escape battery over every mode, lane and set of capabilities (root); BATTERY_OF="sealed/bpf/full"
# make soak       the system tests of load over a minute each, the daemon killed or handed over every 5 s, and 5 GiB each way
#                 over each bridge (root); SOAK=seconds SOAK_MIB=each
# make lint       formatting, layers, header hygiene, static analysis
# make bench      sets the machine up, builds, measures (root); BENCH="connect attach sandboxes" for some of it
# make fuzz       every fuzzer for FUZZ_SECONDS each
# make clean      removes what was built
#
# Every list below is explicit: a file that is not named here is not part of the product.

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

SAN ?= 0
FUZZ_SECONDS ?= 3600
BENCH ?=
B := $(if $(filter 1,$(SAN)),build-san,build)

# ---- what there is ------------------------------------------------------------------------------------------------

BASE     := buf clock fault fdpass file json keyfile keyring log secret slab
MODEL    := addr category range
RING     := loop timer
TLS      := sniff ca mint leaves engine reason server trust client
HTTP     := fields authority target h1_head h1_body h1_write h2_flood h2_head h2_library h2_receive h2_send h2_session h2_stream
DNS      := wire records answers
POLICY   := alabel check digest hosts lists load match paths policy private
CRED     := check credset load placeholder source value
REWRITE  := base64 swap
CONF     := yaml nearest table daemon_conf
AUDIT    := audit event
HARDEN   := privileges seccomp
CAPTURE  := flows heartbeat listener losses paths refusals uses
UPSTREAM := dial pool resolve
CONTROL  := commands link socket
PROXY    := connection decide drain exchange exchange_start explicit first head journal kernel leg lookup names naming notes opening origin origin_users prepared pulse record refusal refuse registry registry_prepared relay report rewrite_head sandbox session stream_h1 stream_h2 synthetic synthetic_record tunnel upgrade worker
FOLDERS  := base model ring tls http dns policy cred rewrite conf audit harden capture upstream control proxy ctl
HELPER   := addresses arguments ask attach bounding cgroup client containers daemon_link daemon_tell dial_openings \
            dialler document enter footing foreign foreign_holders foreign_links foreign_rules foreign_sockets \
            foreign_tables hand_over handout hosts intervals jail lane leftovers listeners loop main netlink netns \
            nft nft_batch nft_input nft_lane nft_outage nft_probe nft_resolver nft_rule nft_sets nft_uplink notes \
            openings outage peers pins privileges prober programs programs_hooks programs_sandbox routes rules sandboxes \
            sandboxes_words scratch selftest serve state steer_program sysctls unix_paths \
            upkeep uplink view
# the OCI hook: files of its own, and some of the helper's
HOOK     := hook hook_ask hook_bundle hook_conf hook_json hook_place hook_seccomp hook_spec hook_state hook_trust keystore
HOOK_TOO := ask bounding cgroup document handout jail leftovers pins programs_hooks state unix_paths
BPF      := policy create egress unix flows dialler # linked into one object, capture; steer is another
CTL      := beat cgroup2 check client doctor finding machine need probe show
BENCHES  := connects
PROBES   := anyip6 bpffs cgroup_kill cgroup_skb clone_into_cgroup connect_unix conntrack ip_rules memfd_seal netns_cookie \
            nft_notrack nft_refuse nft_reroute nft_tproxy peer_pidfd programs seccomp_filter set_retval \
            sk_lookup sock_create sock_diag sockops_connect transparent unprivileged_maps \
            uring_accept_multishot uring_msg_ring uring_recv_multishot uring_restrictions uring_setup

# a unit test is named after the file it tests; it links its folder's archive and those in LINK_folder
UNIT_base     := buf fault fdpass file json keyfile keyring secret slab
UNIT_model    := addr category range
UNIT_ring     := loop
UNIT_tls      := sniff mint leaves engine server client trust
UNIT_http     := authority fields h1_body h1_head h1_trailers h1_write h2_flood h2_head h2_library h2_send \
            h2_session h2_stream target
UNIT_dns      := wire records answers
UNIT_policy   := alabel hosts paths policy policy_check policy_paths private
UNIT_cred     := credset examples placeholder source
UNIT_rewrite  := base64 swap
UNIT_conf     := yaml nearest table daemon_conf
UNIT_audit    := event audit
UNIT_capture  := listener
UNIT_upstream := pool resolve
UNIT_control  := socket
UNIT_ctl      := show
UNIT_helper   := bounding dial_openings hook_conf hook_seccomp hook_spec keystore notes unix_paths
UNIT_proxy    := connection decide decide_proxy first journal notes prepared pulse refusal refuse rewrite_head \
            synthetic synthetic_record
FUZZERS       := sniff h1_request h1_response h1_body h1_trailers yaml hosts dns_wire dns_records policy swap \
            synthetic_record paths authority hook keystore h2_session h2_pair

LINK_base     := base
LINK_model    := model base
LINK_ring     := ring base
LINK_tls      := tls model base
LINK_http     := http model base
LINK_dns      := dns model base
LINK_conf     := conf model base
LINK_policy   := policy conf model base
LINK_cred     := cred policy conf model base
LINK_rewrite  := rewrite cred policy conf model base
LINK_audit    := audit model base
LINK_harden   := harden base
LINK_capture  := capture ring model base
LINK_upstream := upstream ring tls dns model base
LINK_control  := control audit http ring model base
LINK_ctl      := ctl base
LINK_proxy    := proxy control capture upstream audit harden rewrite cred policy conf dns http tls ring model base

# ---- how it is built ----------------------------------------------------------------------------------------------

CC      := gcc
CLANG   := clang
WARN    := -Wall -Wextra -Werror -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 \
           -Wno-format-nonliteral -Wno-missing-field-initializers -Wno-overlength-strings
HARD    := -fPIE -fstack-protector-strong -fstack-clash-protection -fcf-protection=full -D_FORTIFY_SOURCE=2
LDHARD  := -pie -Wl,-z,relro,-z,now,-z,noexecstack
ifeq ($(SAN),1)
HARD    := -fPIE -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -DSALLYPORT_SAN=1
LDHARD  := -pie -fsanitize=address,undefined
endif
VERSION := 0.1.0
CFLAGS  := -std=gnu11 -O2 -g $(WARN) $(HARD)
CPPFLAGS := -D_GNU_SOURCE -DSALLYPORT_VERSION='"$(VERSION)"' -Iuserspace -I. -I$(B)
LIBS    := -luring -lnghttp2 -lssl -lcrypto -lcares -lyaml -lseccomp -lbpf -lelf -lz
Q       := $(if $(V),,@)
say      = $(if $(V),,@printf '  %-6s %s\n' $(1) $(2))

archive  = $(B)/$(1).a
PROGRAMS := $(B)/sallyportd $(B)/sallyport-netns $(B)/sallyportctl $(B)/sallyport-hook

SOAK ?= 60
SOAK_MIB ?= 5120

.PHONY: all try check vm battery soak lint bench benches fuzz clean unit fuzzers probes
all: $(PROGRAMS) probes

# one archive for each folder of userspace/
objects_base     := $(BASE)
objects_model    := $(MODEL)
objects_ring     := $(RING)
objects_tls      := $(TLS)
objects_http     := $(HTTP)
objects_dns      := $(DNS)
objects_policy   := $(POLICY)
objects_cred     := $(CRED)
objects_rewrite  := $(REWRITE)
objects_conf     := $(CONF)
objects_audit    := $(AUDIT)
objects_harden   := $(HARDEN)
objects_capture  := $(CAPTURE)
objects_upstream := $(UPSTREAM)
objects_control  := $(CONTROL)
objects_proxy    := $(PROXY)
objects_ctl      := $(CTL)

define FOLDER_RULE
$(B)/$(1).a: $(patsubst %,$(B)/userspace/$(1)/%.o,$(objects_$(1)))
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && ar rcs $$@ $$^
endef
$(foreach f,$(FOLDERS),$(eval $(call FOLDER_RULE,$(f))))

$(B)/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/sallyportd: $(B)/userspace/main.o $(patsubst %,$(B)/%.a,proxy control capture upstream audit harden rewrite cred policy conf dns http tls ring model base)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDHARD) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIBS) -lpthread

$(B)/sallyportctl: $(B)/userspace/ctl/main.o $(patsubst %,$(B)/%.a,ctl cred policy conf model base)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDHARD) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group -lyaml -ljansson -lcrypto

$(B)/sallyport-netns: $(patsubst %,$(B)/netns-helper/%.o,$(HELPER)) $(B)/model.a $(B)/base.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDHARD) -o $@ $^ -lnftnl -lmnl -lbpf -lelf -lz -lseccomp -lcap

$(B)/sallyport-hook: $(patsubst %,$(B)/netns-helper/%.o,$(HOOK) $(HOOK_TOO)) $(B)/base.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDHARD) -o $@ $^ -ljansson -lcrypto -lseccomp -lcap -lbpf -lelf -lz

# ---- BPF: object, skeleton ----------------------------------------------------------------------------------------

$(B)/bpf/vmlinux.h:
	$(call say,BTF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)bpftool btf dump file /sys/kernel/btf/vmlinux format c > $@

$(B)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h) $(B)/bpf/vmlinux.h
	$(call say,BPF,$<)
	$(Q)$(CLANG) -target bpf -D__TARGET_ARCH_x86 -g -O2 -Wall -Werror -I. -I$(B) -I$(B)/bpf -c -o $@ $<

$(B)/bpf/capture.bpf.o: $(patsubst %,$(B)/bpf/%.bpf.o,$(BPF))
	$(call say,LINK,$@)
	$(Q)bpftool gen object $@ $^

.PRECIOUS: $(B)/bpf/%.bpf.o
$(B)/bpf/%.skel.h: $(B)/bpf/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)bpftool gen skeleton $< name $*_bpf > $@

$(B)/netns-helper/programs.o $(B)/netns-helper/programs_sandbox.o $(B)/netns-helper/dialler.o: $(B)/bpf/capture.skel.h
$(B)/netns-helper/steer_program.o: $(B)/bpf/steer.skel.h

# ---- tests --------------------------------------------------------------------------------------------------------

define UNIT_RULE
$(B)/unit/test_$(2): $(B)/tests/unit/test_$(2).o $(patsubst %,$(B)/%.a,$(LINK_$(1)))
	$$(call say,LD,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(LDHARD) -o $$@ $$(filter %.o,$$^) -Wl,--start-group $$(filter %.a,$$^) -Wl,--end-group -lcmocka -ljansson $$(LIBS) -lpthread
UNITS += $(B)/unit/test_$(2)
endef
$(foreach f,$(FOLDERS),$(foreach t,$(UNIT_$(f)),$(eval $(call UNIT_RULE,$(f),$(t)))))

# the helper has no archive: its tests link the one file
define UNIT_HELPER_RULE
$(B)/unit/test_helper_$(1): $(B)/tests/unit/test_helper_$(1).o $(B)/netns-helper/$(1).o $(B)/base.a
	$$(call say,LD,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(LDHARD) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) -lcmocka -ljansson -lcrypto -lcap -lbpf -lelf -lz
UNITS += $(B)/unit/test_helper_$(1)
endef
$(foreach t,$(UNIT_helper),$(eval $(call UNIT_HELPER_RULE,$(t))))
$(B)/unit/test_helper_dial_openings: $(B)/netns-helper/openings.o
$(B)/unit/test_helper_hook_conf: $(patsubst %,$(B)/netns-helper/%.o,hook_json unix_paths)
$(B)/unit/test_helper_hook_seccomp: $(B)/netns-helper/hook_json.o
$(B)/unit/test_helper_hook_spec: $(patsubst %,$(B)/netns-helper/%.o,bounding hook_bundle hook_json hook_state)

# the BPF battery: the helper's own loaders, driven by a test (root)
BATTERY := $(addprefix tests/bpf/,battery classes inspect kinds life names world) \
           $(addprefix netns-helper/,cgroup leftovers openings pins programs programs_hooks programs_sandbox steer_program unix_paths)
$(B)/tests/bpf/battery: $(patsubst %,$(B)/%.o,$(BATTERY)) $(B)/model.a $(B)/base.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDHARD) -o $@ $^ -lbpf -lelf -lz -luring -lpthread

# the escape battery: every attempt of a program in a sandbox. Never with a sanitizer, which would take the
# signals that an attempt dies of
ATTEMPTS := arena capset cgroups controls crew families fastopen foreign forms inbound links methods old options \
            outsider packet packets passing process raw scene udp uring
$(B)/tests/battery/attempts: CFLAGS := -std=gnu11 -O2 -g $(WARN) -fPIE
$(B)/tests/battery/attempts: LDHARD := -pie
$(B)/tests/battery/attempts: $(patsubst %,$(B)/tests/battery/%.o,$(ATTEMPTS))
	$(call say,LD,$@)
	$(Q)$(CC) $(LDHARD) -o $@ $^ -luring -lpthread

# how our parsers read bytes: test_h1_differences.py compares it with another reading
$(B)/tests/system/h1_reading: $(B)/tests/system/h1_reading.o $(patsubst %,$(B)/%.a,$(LINK_http))
	$(call say,LD,$@)
	$(Q)$(CC) $(LDHARD) -o $@ $^

unit: $(UNITS) $(B)/tests/bpf/battery $(B)/tests/battery/attempts $(B)/tests/system/h1_reading

# the benches' programs: what may not have an interpreter in the loop
$(B)/bench/%: $(B)/tests/bench/%.o
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LDHARD) -o $@ $^ -lbpf -lelf -lz -lpthread

benches: $(patsubst %,$(B)/bench/%,$(BENCHES))

# a probe is one file; it proves one behaviour of the kernel that something here relies on
$(B)/probes/%: kconfig-notes/probes/%.c $(wildcard kconfig-notes/probes/*.h) $(B)/bpf/capture.skel.h $(B)/bpf/steer.skel.h \
               $(B)/netns-helper/nft_batch.o
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDHARD) -o $@ $< $(filter %.o,$^) -lbpf -lelf -lz -luring -lnftnl -lmnl -lseccomp -lpthread

probes: $(patsubst %,$(B)/probes/%,$(PROBES))

# a fuzzer includes the .c it tests and links the rest of what it needs, all of it instrumented
FUZZFLAGS := -std=gnu11 -g -O1 -D_GNU_SOURCE -Iuserspace -I. -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined
FUZZ_sniff       := tls/sniff
FUZZ_h1_request  := http/h1_head http/h1_write http/fields http/authority http/target model/addr base/buf
FUZZ_h1_response := http/h1_head http/h1_write http/fields http/authority http/target model/addr base/buf
FUZZ_h1_body     := http/h1_body http/fields
FUZZ_h1_trailers := http/h1_head http/h1_write http/fields http/authority http/target model/addr base/buf
FUZZ_h2_session  := http/h2_flood http/h2_head http/h2_library http/h2_receive http/h2_send http/h2_stream http/fields http/authority http/target model/addr base/buf
FUZZ_h2_pair     := $(FUZZ_h2_session)
FUZZ_authority   := http/authority http/target model/addr
FUZZ_yaml        := base/fault
FUZZ_hosts       := policy/alabel model/addr
FUZZ_paths       :=
FUZZ_policy      := policy/alabel policy/check policy/digest policy/hosts policy/lists policy/match policy/paths policy/policy policy/private conf/yaml conf/nearest conf/table base/fault model/addr model/range model/category
FUZZ_dns_wire    := dns/wire model/addr base/buf
FUZZ_dns_records := dns/wire model/addr
FUZZ_synthetic_record := proxy/synthetic dns/answers dns/records policy/alabel policy/hosts model/addr model/range model/category base/buf base/fault
FUZZ_swap        := rewrite/base64 cred/credset cred/load cred/placeholder cred/source cred/value policy/alabel policy/check policy/digest policy/hosts policy/lists policy/load policy/match policy/paths policy/policy policy/private conf/yaml conf/nearest conf/table base/fault base/buf base/secret base/json model/addr model/range model/category
FUZZ_hook        := base/fault
FUZZ_HELPER_hook := bounding hook_bundle hook_conf hook_json hook_seccomp hook_spec hook_state unix_paths

define FUZZ_RULE
$(B)/fuzz/fuzz_$(1): tests/fuzz/fuzz_$(1).c $(wildcard tests/fuzz/*.h) $(patsubst %,userspace/%.c,$(FUZZ_$(1))) $(patsubst %,netns-helper/%.c,$(FUZZ_HELPER_$(1)))
	$$(call say,FUZZ,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CLANG) $$(FUZZFLAGS) -o $$@ $$(filter %.c,$$^) -lyaml -lcrypto -ljansson -lcap -lbpf -lnghttp2
FUZZ_PROGRAMS += $(B)/fuzz/fuzz_$(1)
endef
$(foreach f,$(FUZZERS),$(eval $(call FUZZ_RULE,$(f))))

fuzzers: $(FUZZ_PROGRAMS)

fuzz: fuzzers
	scripts/fuzz $(B) $(FUZZ_SECONDS) $(FUZZERS)

# ---- the two commands ---------------------------------------------------------------------------------------------

# two runs at once in one folder: one builds, the other waits and finds it done
ALONE = mkdir -p $(B) && flock $(B)/.lock

try:
	scripts/setup
	$(ALONE) $(MAKE) all
	scripts/try $(B)

check:
	scripts/setup --tests
	$(ALONE) $(MAKE) SAN=$(SAN) all unit fuzzers probes
	scripts/check $(B)

battery:
	scripts/setup --tests
	$(ALONE) $(MAKE) all $(B)/tests/battery/attempts
	SALLYPORT_BUILD=$(B) /usr/bin/python3 tests/battery/run.py $(BATTERY_OF)

soak:
	scripts/setup --tests
	$(ALONE) $(MAKE) SAN=$(SAN) all
	SALLYPORT_BUILD=$(B) SALLYPORT_SOAK=$(SOAK) SALLYPORT_BRIDGE_MIB=$(SOAK_MIB) /usr/bin/python3 -m pytest -p no:cacheprovider -q -s tests/system -k 'under_load or H1_07_much or WS_01_idle'

bench:
	scripts/setup --tests
	$(ALONE) $(MAKE) all benches
	scripts/bench $(B) $(BENCH)

# VM_STEPS="bpf try system=CAP_01": these steps alone, see tests/vm/guest.py
vm:
	scripts/setup --vm
	$(ALONE) $(MAKE) all unit probes
	scripts/vm $(B) $(VM_STEPS)

lint:
	scripts/setup --lint
	scripts/lint

clean:
	rm -rf build build-san

-include $(shell find $(B) -name '*.d' 2>/dev/null)
