# SPDX-License-Identifier: Apache-2.0
"""The sandbox's name service: what it is told, and which question leaves."""
import os
import subprocess

import dns.message
import pytest

import client
import hello
import installed
from asking import SHARED, ask, ask_many, ask_many_tcp, told
from documents import POLICY
from waiting import PATIENCE

RESOLVERS = ["192.0.2.1", "203.0.113.53", "8.8.8.8", "10.0.0.2", "0.0.0.1", "127.0.0.53", "127.0.0.11", "2001:db8::77", "::1"]


def test_DNS_01_a_name_with_only_A_has_an_empty_AAAA(sandbox):
    assert told(sandbox, "v4only.test") == ("NOERROR", ["203.0.113.11"])
    assert told(sandbox, "v4only.test", "AAAA") == ("NOERROR", [])
    assert told(sandbox, "v6only.test", "AAAA") == ("NOERROR", ["2001:db8::11"])
    assert told(sandbox, "v6only.test") == ("NOERROR", [])
    for kind in ("SRV", "MX", "TXT", "CAA"):
        assert told(sandbox, "v4only.test", kind)[0] == "NOERROR", kind


@pytest.mark.parametrize("name,kind,value,other", [
    ("lame.test", "A", "203.0.113.42", "AAAA"), ("liar.test", "A", "203.0.113.43", "AAAA"),
    ("mute.test", "A", "203.0.113.44", "AAAA"), ("lame6.test", "AAAA", "2001:db8::45", "A"),
])
def test_DNS_01_an_upstream_that_fails_for_one_family_does_not_take_the_other_away(attach, name, kind, value, other):
    box = attach(f"version: 1\nname: lame\ndefault: deny\nrules: [{{name: a, hosts: [{name}], action: allow}}]\n")
    assert told(box, name, kind) == ("NOERROR", [value])
    assert told(box, name, other) == ("NOERROR", [])
    assert value in box.run(["getent", "ahosts", name], check=True).stdout
    address = f"[{value}]" if ":" in value else value
    assert "hello" in box.curl("--resolve", f"{name}:80:{address}", f"http://{name}/", check=True).stdout


MUSL = """
#include <netdb.h>
#include <stdio.h>
#include <arpa/inet.h>
int main(int argc, char **argv)
{
	struct addrinfo *found, hints = {.ai_socktype = SOCK_STREAM};
	int r = getaddrinfo(argv[1], "443", &hints, &found);
	char text[64];
	if (r != 0)
		return fprintf(stderr, "%s\\n", gai_strerror(r)), 1;
	for (; found; found = found->ai_next)
		if (found->ai_family == AF_INET)
			puts(inet_ntop(AF_INET, &((struct sockaddr_in *)found->ai_addr)->sin_addr, text, 64));
		else
			puts(inet_ntop(AF_INET6, &((struct sockaddr_in6 *)found->ai_addr)->sin6_addr, text, 64));
	return 0;
}
"""


@pytest.fixture(scope="module")
def musl_lookup(world):
    """A static program with musl's resolver, as a container of Alpine has it."""
    installed.need("musl-gcc")
    program = os.path.join(world.run, "musl-lookup")
    subprocess.run(
        ["musl-gcc", "-static", "-x", "c", "-o", program, world.write("lookup.c", MUSL)], check=True
    )
    return program


@pytest.mark.parametrize("name,address", [("v4only.test", "203.0.113.11"), ("v6only.test", "2001:db8::11")])
def test_DNS_01_musl_and_glibc_find_a_name_of_one_family(sandbox, musl_lookup, name, address):
    assert sandbox.run([musl_lookup, name], check=True).stdout.split() == [address]
    assert address in sandbox.run(["getent", "ahosts", name], check=True).stdout


@pytest.mark.parametrize("kind", ["HTTPS", "SVCB"])
def test_DNS_04_HTTPS_and_SVCB_are_always_empty(sandbox, world, watch, kind):
    with world.edge.socket(2, 2) as control:  # the zone does have the record
        control.settimeout(5)
        world.edge.call(control.sendto, dns.message.make_query("site.test", "HTTPS").to_wire(), ("203.0.113.53", 53))
        assert dns.message.from_wire(control.recv(4096)).answer
    before = len(world.nameserver.questions)
    assert told(sandbox, "site.test", kind) == ("NOERROR", [])
    watch.questions()  # settles
    assert not [q for q in world.nameserver.questions[before:] if q[1] in (64, 65)]


def _server_hello(sandbox, hello):
    with sandbox.connect("203.0.113.16", 443) as sock:
        sock.sendall(hello)
        head = sock.recv(6)
        return head[:1] == b"\x16" and head[5:6] == b"\x02"


def test_DNS_04_an_encrypted_hello_that_means_nothing_is_ignored(sandbox):
    grease = bytes.fromhex("00" "0001" "0001" "42" "0020") + bytes(32) + b"\0\x90" + bytes(144)
    raw = hello.make("site.test")
    assert _server_hello(sandbox, raw), "the control: a hello without it"
    assert _server_hello(sandbox, hello.with_extension(raw, 0xFE0D, grease))
    done = sandbox.run(
        ["openssl", "s_client", "-connect", "203.0.113.16:443", "-servername", "site.test",
         "-serverinfo", "65037", "-verify_return_error"],
        input=b"",
    )
    assert done.returncode == 0, done.stderr[-1500:]


@pytest.mark.parametrize("server", RESOLVERS)
@pytest.mark.parametrize("over", ["udp", "tcp"])
def test_DNS_06_every_server_answers_the_same(sandbox, server, over):
    assert told(sandbox, "api.test", server=server, over=over) == ("NOERROR", ["203.0.113.10"])
    assert told(sandbox, "denied.test", server=server, over=over) == ("NOERROR", [SHARED])


@pytest.mark.parametrize("server", ["127.0.0.53", "127.0.0.11"])
def test_DNS_06_programs_with_a_stub_resolver_line_work(sandbox, world, server):
    resolv = world.write(f"resolv-{server}", f"nameserver {server}\noptions edns0 trust-ad\n")
    assert "203.0.113.10" in sandbox.joined(["getent", "ahosts", "api.test"], resolv, check=True).stdout
    assert "203.0.113.10" in sandbox.joined(["busybox", "nslookup", "api.test"], resolv).stdout
    script = "require('dns').resolve4('api.test', (e, a) => console.log(e || a.join()))"
    assert sandbox.joined(["node", "-e", script], resolv, check=True).stdout.strip() == "203.0.113.10"


def test_DNS_06_a_program_of_Go_with_its_own_resolver_works(sandbox, world):
    installed.need("go")
    source = """package main
import ("context"; "fmt"; "net"; "os")
func main() {
	r := net.Resolver{PreferGo: true}
	found, err := r.LookupHost(context.Background(), os.Args[1])
	fmt.Println(found, err)
}
"""
    program = os.path.join(world.run, "go-lookup")
    subprocess.run(
        ["go", "build", "-o", program, world.write("lookup.go", source)], check=True,
        env={**os.environ, "CGO_ENABLED": "0", "GOCACHE": os.path.join(world.run, "go-cache"), "GO111MODULE": "off"},
    )
    for server in ("127.0.0.53", "127.0.0.11"):
        resolv = world.write(f"resolv-go-{server}", f"nameserver {server}\n")
        assert sandbox.joined([program, "api.test"], resolv, check=True).stdout.strip() == "[203.0.113.10] <nil>"


@pytest.mark.parametrize("asking", [ask_many, ask_many_tcp], ids=["udp", "tcp"])
@pytest.mark.parametrize("server", ["127.0.0.53", "0.0.0.1", "10.0.0.2"])
def test_DNS_06_a_hundred_questions_in_flight(attach, server, asking):
    box = attach("version: 1\nname: many\ndefault: deny\nrules: [{name: a, hosts: [api.test, \"*.wild.test\"], action: allow}]\n")
    names = [f"n{i}.wild.test" for i in range(50)] + [f"n{i}.denied.test" for i in range(49)] + ["api.test"]
    found = asking(box, names, server=server)
    assert found.pop("api.test") == (0, "203.0.113.10")
    assert all(answer == ((3, None) if "wild" in name else (0, SHARED)) for name, answer in found.items()), found


MUSL_MANY = """
#include <netdb.h>
#include <stdio.h>
#include <time.h>
#include <arpa/inet.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < 50; i++) {
		struct addrinfo *found, hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_INET};
		struct timespec a, b;
		char text[64];
		int r;

		clock_gettime(CLOCK_MONOTONIC, &a);
		r = getaddrinfo(argv[1], "443", &hints, &found);
		clock_gettime(CLOCK_MONOTONIC, &b);
		if (r != 0)
			return fprintf(stderr, "%d: %s\\n", i, gai_strerror(r)), 1;
		printf("%s %ld\\n", inet_ntop(AF_INET, &((struct sockaddr_in *)found->ai_addr)->sin_addr, text, 64),
			(b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000);
		freeaddrinfo(found);
	}
	return 0;
}
"""


@pytest.fixture(scope="module")
def musl_many(world):
    program = os.path.join(world.run, "musl-many")
    subprocess.run(
        ["musl-gcc", "-static", "-x", "c", "-o", program, world.write("many.c", MUSL_MANY)], check=True
    )
    return program


LINES = ["203.0.113.53", "0.0.0.1", "8.8.8.8"]


@pytest.mark.parametrize("name,address", [("api.test", "203.0.113.10"), ("denied.test", SHARED)])
def test_DNS_09_musl_asks_three_servers_at_once_and_finds_the_same_fifty_times(sandbox, world, musl_many, name, address):
    resolv = world.write("resolv-three", "".join(f"nameserver {line}\n" for line in LINES))
    lines = sandbox.joined([musl_many, name], resolv, check=True).stdout.split("\n")[:-1]
    assert len(lines) == 50 and {line.split()[0] for line in lines} == {address}
    slow = sorted(int(line.split()[1]) for line in lines)
    assert slow[25] < 20 * PATIENCE and slow[-1] < 200 * PATIENCE, slow


@pytest.mark.parametrize("name", ["api.test", "v6only.test", "denied.test", "nx.test", "x.local", "localhost"])
@pytest.mark.parametrize("kind", ["A", "AAAA", "TXT", "HTTPS"])
def test_DNS_09_all_servers_say_the_same(sandbox, name, kind):
    answers = {told(sandbox, name, kind, server=server)[0] + str(told(sandbox, name, kind, server=server)[1])
               for server in LINES}
    assert len(answers) == 1, answers


@pytest.mark.parametrize("name", ["denied.test", "evil.test", "never-heard-of.example", "github.test"])
def test_names_that_no_rule_opens_share_an_address_and_no_question_leaves(sandbox, world, watch, name):
    assert told(sandbox, name) == ("NOERROR", [SHARED])
    assert told(sandbox, name, "AAAA") == ("NOERROR", [])
    for kind in ("TXT", "MX", "SRV", "HTTPS"):
        assert told(sandbox, name, kind) == ("NOERROR", [])
    assert not watch.questions()
    told(sandbox, "ok.test")
    assert watch.questions(), "the control: a question about an open name does leave"


def test_a_name_under_a_search_domain_does_not_exist(attach, watch):
    box = attach(POLICY, search=["corp.example"])
    assert told(box, "anything.corp.example")[0] == "NXDOMAIN"
    assert told(box, "api.test.corp.example")[0] == "NXDOMAIN"
    assert not watch.questions()
    assert told(box, "anything.example") == ("NOERROR", [SHARED])


def test_an_open_name_that_does_not_exist_does_not_exist(sandbox):
    assert told(sandbox, "nx.test")[0] == "NXDOMAIN"


@pytest.mark.parametrize("name", ["private.test", "metadata.test"])
def test_a_name_with_only_refused_addresses_gets_the_shared_one(sandbox, name):
    assert told(sandbox, name) == ("NOERROR", [SHARED])


def test_a_refused_address_beside_a_public_one_is_never_told(sandbox):
    assert "10.0.0.1" not in told(sandbox, "mixed.test")[1]


def test_a_name_server_that_is_silent_costs_no_more_than_the_deadline(sandbox):
    rcode, values = told(sandbox, "silent.test")
    assert rcode in ("SERVFAIL", "NOERROR") and values in ([], [SHARED])
    with client.plain(sandbox) as connection:
        reply = connection.get(host="silent.test")
    assert (reply.status, reply.refusal) == (504, "dns-timeout")


def test_name_servers_that_do_not_answer_are_in_the_status(sandbox):
    def noted():
        found = [d for d in sandbox.stack.get("/v1/status")["degraded"] if d["feature"] == "resolver"]
        return found[0]["reason"] if found else None

    told(sandbox, "api.test")
    assert noted() is None
    for number in (1, 2):
        told(sandbox, "silent.test")
        assert noted() == f"no name server answers (lookups in a row: {number})"
    assert "resolver" in sandbox.stack.ctl("status").stdout
    told(sandbox, "api.test")
    assert noted() is None


def test_answers_live_a_minute_at_most(sandbox):
    assert all(rrset.ttl <= 60 for rrset in ask(sandbox, "api.test").answer)


@pytest.mark.parametrize(
    "packet",
    [b"", b"\0", bytes(11), bytes(12), bytes(17), b"\x12\x34\x01\x00\x00\x02" + bytes(30), b"\xff" * 512,
     b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01",
     b"\x12\x34\x81\x80\x00\x01\x00\x00\x00\x00\x00\x00\x03api\x04test\x00\x00\x01\x00\x01"],
    ids=["empty", "one byte", "short", "no question", "cut", "two questions", "noise", "pointer", "a response"],
)
def test_a_bad_packet_harms_nobody(sandbox, packet):
    with sandbox.connect("203.0.113.53", 53, kind="SOCK_DGRAM") as sock:
        sock.send(packet)
        assert told(sandbox, "api.test") == ("NOERROR", ["203.0.113.10"])
        sock.settimeout(0.05)
        try:
            answer = sock.recv(4096)
        except OSError:
            return
        assert answer[3] & 15 in (1, 4), "an answer to nonsense is FORMERR or NOTIMP"


def test_an_answer_that_is_cut_is_asked_for_again_over_TCP(attach, world):
    box = attach("version: 1\nname: long\ndefault: deny\nrules: [{name: long, hosts: [long.test], action: allow}]\n")
    since = len(world.nameserver.questions)
    assert told(box, "long.test") == ("NOERROR", ["203.0.113.39"])
    assert {over for _, _, over in world.nameserver.asked("long.test", since)} == {"udp", "tcp"}
