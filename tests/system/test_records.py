# SPDX-License-Identifier: Apache-2.0
"""Records that are no addresses: forwarded for names that a rule names exactly, and read strictly on the way."""
import struct

import dns.flags
import pytest

from asking import SHARED, ask, told, wire_of
from sandbox import attached

POLICY = """version: 1
name: records
default: deny
rules:
  - name: exact
    hosts: [mail.test, _xmpp-client._tcp.mail.test, text.test, longtext.test, hugetext.test, broken.test, v4only.test,
            site.test, nx.test, silent.test]
    action: allow
  - {name: wild, hosts: ["*.wild.test"], action: allow}
  - {name: tunnelled, hosts: [git.test], ports: [22], action: tunnel}
"""


@pytest.fixture(scope="module")
def box(stack, lane):
    with attached(stack, POLICY, lane=lane) as made:
        yield made


@pytest.mark.parametrize("over", ["udp", "tcp"])
@pytest.mark.parametrize("name,kind,values", [
    ("mail.test", "MX", ["10 mx.mail.test."]),
    ("mail.test", "TXT", ['"two"', '"v=spf1"']),
    ("mail.test", "CAA", ['0 issue ";"']),
    ("_xmpp-client._tcp.mail.test", "SRV", ["0 5 5222 chat.mail.test."]),
    ("v4only.test", "TXT", ['"hello"']),
    ("mail.test", "SRV", []),
    ("nx.test", "TXT", []),
])
def test_records_of_a_name_that_a_rule_names(box, watch, name, kind, values, over):
    assert told(box, name, kind, over=over) == ("NOERROR", values)
    assert [q for q in watch.questions() if q[0].lower() == name], "it was asked for upstream"


def test_programs_find_them(box):
    script = ("require('dns').resolveSrv('_xmpp-client._tcp.mail.test', (e, a) => console.log(e || JSON.stringify(a)));"
              "require('dns').resolveMx('mail.test', (e, a) => console.log(e || JSON.stringify(a)))")
    out = box.joined(["node", "-e", script], check=True).stdout
    assert '"name":"chat.mail.test"' in out and '"exchange":"mx.mail.test"' in out, out
    assert told(box, "chat.mail.test") == ("NOERROR", [SHARED]), "where they lead is asked for in turn, and judged"


@pytest.mark.parametrize("kind", ["TXT", "MX", "SRV", "CAA", "NAPTR"])
@pytest.mark.parametrize("name", ["carried-out.wild.test", "denied.test", "site.test"])
def test_others_are_empty_and_no_question_leaves(box, watch, name, kind):
    if name == "site.test":
        kind = "HTTPS" if kind in ("TXT", "MX") else "SVCB" if kind == "SRV" else "ANY" if kind == "CAA" else "AXFR"
    assert told(box, name, kind) == ("NOERROR", [])
    assert not watch.questions()


def test_a_name_under_a_tunnel_has_its_records_too(box, watch):
    assert told(box, "git.test", "TXT") == ("NOERROR", [])
    assert [q for q in watch.questions() if q == ("git.test", 16, "udp")]


def test_an_answer_that_is_too_long_for_the_client_is_cut_and_whole_over_TCP(box):
    small = ask(box, "text.test", "TXT")
    assert small.flags & dns.flags.TC and not small.answer
    assert told(box, "text.test", "TXT", edns=1232) == ("NOERROR", [" ".join(['"' + "t" * 255 + '"'] * 3)])
    long = sorted([" ".join(['"' + "l" * 255 + '"'] * 16), " ".join(['"' + "m" * 255 + '"'] * 15)])
    for edns in (None, 512, 1232, 4096):
        cut = ask(box, "longtext.test", "TXT", edns=edns and min(edns, 1232))
        assert cut.flags & dns.flags.TC and not cut.answer, edns
    assert told(box, "longtext.test", "TXT", over="tcp") == ("NOERROR", long)
    found = box.joined(["node", "-e", "require('dns').resolveTxt('longtext.test', (e, a) => console.log(e || a.length))"])
    assert found.stdout.strip() == "2", found


@pytest.mark.parametrize("name", ["broken.test", "hugetext.test"])
def test_what_cannot_be_read_or_is_too_much_is_a_fault(box, name):
    assert told(box, name, "TXT", over="tcp") == ("SERVFAIL", [])
    assert told(box, name)[0] == "NOERROR"


def test_a_hundred_questions_for_records_in_flight(box):
    with box.connect("203.0.113.53", 53) as sock:
        sock.sendall(b"".join(
            struct.pack("!H", len(wire)) + wire
            for wire in (wire_of(number, "longtext.test", 16) for number in range(100))
        ))
        stream = sock.makefile("rb")
        for number in range(100):
            packet = stream.read(struct.unpack("!H", stream.read(2))[0])
            came, flags, _, count = struct.unpack("!HHHH", packet[:8])
            assert (came, flags & 15, count) == (number, 0, 2)


def test_a_client_that_asks_and_does_not_read_harms_nobody(box):
    wire = wire_of(1, "longtext.test", 16)
    with box.connect("203.0.113.53", 53) as sock:
        sock.settimeout(1)
        try:
            for _ in range(20000):
                sock.sendall(struct.pack("!H", len(wire)) + wire)
        except OSError:
            pass
        assert told(box, "mail.test", "MX") == ("NOERROR", ["10 mx.mail.test."])
