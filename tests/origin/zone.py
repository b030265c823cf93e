# SPDX-License-Identifier: Apache-2.0
"""zone.py - every name of the tests' internet, in one table.

SILENT never answers, so that a lookup runs into its deadline; what is not in the table does not exist.
"""
A, NS, CNAME, SOA, PTR, MX, TXT, AAAA, SRV, SVCB, HTTPS, CAA = 1, 2, 5, 6, 12, 15, 16, 28, 33, 64, 65, 257
SILENT = object()

NAMESERVER4 = "203.0.113.53"
NAMESERVER6 = "2001:db8::53"
IP_ORIGIN4, IP_ORIGIN6 = "203.0.113.40", "2001:db8::40"  # its certificate bears these addresses
NAME_ORIGIN4 = "203.0.113.41"  # its certificate bears a name only

# priority 1, target ".", alpn=h3, ipv4hint=203.0.113.66, ech=abcd (RFC 9460 section 2.2)
HTTPS_RDATA = bytes.fromhex("0001" "00" "0001" "0003" "02" "6833" "0004" "0004" "cb007142" "0005" "0004" "61626364")

MX_RDATA = b"\x00\x0a" b"\x02mx\xc0\x0c"  # 10 mx.mail.test, by a pointer to the question
SRV_RDATA = b"\x00\x00\x00\x05\x14\x66" b"\x04chat\x04mail\x04test\x00"  # 0 5 5222 chat.mail.test


def _text(letter, strings):
    return (b"\xff" + letter * 255) * strings


ZONE = {
    "api.test": {A: ["203.0.113.10"], AAAA: ["2001:db8::10"]},
    "v4only.test": {A: ["203.0.113.11"], TXT: [b"\x05hello"]},
    "v6only.test": {AAAA: ["2001:db8::11"]},
    "git.test": {A: ["203.0.113.12"]},
    "bank.test": {A: ["203.0.113.13"]},
    "other.test": {A: ["203.0.113.14"]},
    "file.test": {A: ["203.0.113.15"]},
    "site.test": {A: ["203.0.113.16"], HTTPS: [HTTPS_RDATA]},
    "wrong.test": {A: ["203.0.113.20"]},
    "expired.test": {A: ["203.0.113.21"]},
    "selfsigned.test": {A: ["203.0.113.22"]},
    "denied.test": {A: ["203.0.113.30"]},
    "evil.test": {A: ["203.0.113.31"]},
    "readonly.test": {A: ["203.0.113.17"]},
    "ok.test": {A: ["203.0.113.32"]},
    "github.test": {A: ["203.0.113.33"]},
    "api.github.test": {A: ["203.0.113.34"]},
    "a.b.github.test": {A: ["203.0.113.35"]},
    "notgithub.test": {A: ["203.0.113.36"]},
    "xgithub.test": {A: ["203.0.113.37"]},
    "github.test.evil.test": {A: ["203.0.113.38"]},
    "closed.test": {A: ["203.0.113.50"]},
    "private.test": {A: ["10.0.0.1"]},
    "mixed.test": {A: ["203.0.113.10", "10.0.0.1"]},
    "private6.test": {AAAA: ["fd00::1"]},
    "metadata.test": {A: ["169.254.169.254"]},
    "mapped.test": {AAAA: ["::ffff:10.0.0.1"]},
    "loopback.test": {A: ["127.0.0.1"]},
    "long.test": {A: ["203.0.113.39"]},
    "lame.test": {A: ["203.0.113.42"]},
    "liar.test": {A: ["203.0.113.43"]},
    "mute.test": {A: ["203.0.113.44"]},
    "lame6.test": {AAAA: ["2001:db8::45"]},
    "silent.test": SILENT,
    "mail.test": {A: ["203.0.113.55"], MX: [MX_RDATA], TXT: [b"\x06v=spf1", b"\x03two"], CAA: [b"\x00\x05issue;"]},
    "_xmpp-client._tcp.mail.test": {SRV: [SRV_RDATA]},
    "text.test": {A: ["203.0.113.56"], TXT: [_text(b"t", 3)]},  # over 512 bytes
    "longtext.test": {A: ["203.0.113.57"], TXT: [_text(b"l", 16), _text(b"m", 15)]},  # over any UDP answer
    "hugetext.test": {A: ["203.0.113.58"], TXT: [_text(b"h", 60)]},  # over what is passed on
    "broken.test": {A: ["203.0.113.59"], TXT: [b"\x09abc"]},  # a string that goes on behind its record
    "tunnel.test": {A: ["203.0.113.60"], AAAA: ["2001:db8::60"]},
    "tunnel4.test": {A: ["203.0.113.61"]},
    "tunnel6.test": {AAAA: ["2001:db8::62"]},
    "two.test": {A: ["203.0.113.63", "203.0.113.64"]},
    "rebind.test": {A: ["203.0.113.65"]},  # and then CHANGES
    "h2.test": {A: ["203.0.113.70"], AAAA: ["2001:db8::70"]},  # these by the protocols that they choose among
    "both.test": {A: ["203.0.113.71"], AAAA: ["2001:db8::71"]},
    "first1.test": {A: ["203.0.113.72"]},
    "noalpn.test": {A: ["203.0.113.73"]},
    "grpc.test": {A: ["203.0.113.74"], AAAA: ["2001:db8::74"]},
    "alias.test": {CNAME: ["api.test"], A: ["203.0.113.10"]},
}

# question: rcode. Servers that know a name by one family only and say for the other that they failed, that
# it does not exist, or that they will not tell.
FAILS = {("lame.test", AAAA): 2, ("liar.test", AAAA): 3, ("mute.test", AAAA): 5, ("lame6.test", A): 2}

TRUNCATED = {"long.test", "longtext.test", "hugetext.test"}  # answered over UDP with TC and nothing else: the question must come again over TCP

# names whose address is another one with each question for it, the last for good; Nameserver.rewind() starts again
CHANGES = {"rebind.test": ["203.0.113.65", "169.254.169.254", "127.0.0.1", "10.0.0.1", "203.0.113.65"]}

# addresses whose certificate is not the good one: by the address that was dialled
CERTIFICATES = {
    "203.0.113.20": "wrong",
    "203.0.113.21": "expired",
    "203.0.113.22": "selfsigned",
    IP_ORIGIN4: "ip",
    IP_ORIGIN6: "ip",
    NAME_ORIGIN4: "noip",
}

# addresses that choose among other protocols than HTTP/1.1 alone, the first that the client offers too
PROTOCOLS = {
    "203.0.113.70": ("h2",),
    "2001:db8::70": ("h2",),
    "203.0.113.71": ("h2", "http/1.1"),
    "2001:db8::71": ("h2", "http/1.1"),
    "203.0.113.72": ("http/1.1", "h2"),
    "203.0.113.73": (),
}
