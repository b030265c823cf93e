# SPDX-License-Identifier: Apache-2.0
"""The nft table by itself: a socket of no cgroup of ours, which no program judges, to every kind of address."""
import subprocess

import pytest

from helper_rig import active, opening
from origin.netns import Netns

PYTHON = "/usr/bin/python3"
ATTEMPTS = """
import errno, socket, sys
for where in sys.argv[1:]:
    address, port = where.rsplit('@', 1)
    s = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET)
    s.settimeout(5)
    try:
        s.connect((address, int(port)))
        print('passes')
    except TimeoutError:
        print('timeout')
    except OSError as e:
        print(errno.errorcode[e.errno])
    s.close()
"""
PASSES, REFUSED = "passes", "ECONNREFUSED"
# the IPv4 address inside: 8.8.8.8 (808:808) or 10.0.0.1 (a00:1); Teredo's client is inverted
ALWAYS = {
    "203.0.113.9": PASSES, "2001:db8:9::1": PASSES, "192.0.0.9": PASSES, "223.255.255.255": PASSES,
    "10.0.0.1": REFUSED, "100.64.0.1": REFUSED, "169.254.1.1": REFUSED, "172.31.255.255": REFUSED,
    "192.168.1.1": REFUSED, "240.0.0.1": REFUSED, "168.63.129.16": REFUSED,
    "fd12::1": REFUSED, "fec0::1": REFUSED, "2001:2::1": REFUSED, "4000::1": REFUSED, "64:ff9b:1::808:808": REFUSED,
    "::808:808": PASSES, "::a00:1": REFUSED,  # v4-compatible
    "::ffff:0:808:808": PASSES, "::ffff:0:a00:1": REFUSED,  # v4-translated
    "64:ff9b::808:808": PASSES, "64:ff9b::a00:1": REFUSED, "64:ff9b::a9fe:a9fe": REFUSED,
    "2002:808:808::1": PASSES, "2002:a00:1::1": REFUSED, "2002:a9fe:a9fe::1": REFUSED,
    "2001:0:808:808:0:0:f7f7:f7f7": PASSES, "2001:0:a00:1:0:0:f7f7:f7f7": REFUSED,
    "2001:0:808:808:0:0:f5ff:fffe": REFUSED,
    "2001:db8::5efe:808:808": PASSES, "2001:db8::5efe:a00:1": REFUSED, "2001:db8::200:5efe:a00:1": REFUSED,
}  # fmt: skip
PLAIN = [opening("::ffff:10.1.0.0", 112, 443, 443), opening("fd12::", 32, 443, 443)]
METADATA = [opening("::ffff:169.254.169.254", 128, 80, 80, metadata=1), opening("fd00:ec2::254", 128, 80, 80, metadata=1)]
WIDE = [opening("::ffff:169.254.0.0", 112, 80, 81), opening("fd00::", 16, 80, 81)]
POLICIES = {
    "no openings": ([], {}),
    "openings": (PLAIN, {
        "10.1.2.3@443": PASSES, "10.1.2.3@80": REFUSED, "10.2.2.3@443": REFUSED, "fd12::1@443": PASSES,
        "64:ff9b::a01:203@443": REFUSED,
    }),
    "metadata": (METADATA, {
        "169.254.169.254@80": PASSES, "169.254.169.254@81": REFUSED, "fd00:ec2::254@80": PASSES,
        "fd00:ec2::23@80": REFUSED,
    }),
    "metadata and a range around it": (METADATA + WIDE, {
        "169.254.169.254@80": PASSES, "169.254.169.254@81": REFUSED, "169.254.1.1@81": PASSES,
        "169.254.170.2@80": REFUSED, "fd00:ec2::254@80": PASSES, "fd00:ec2::254@81": REFUSED, "fd00:ec2::1@81": PASSES,
    }),
}


@pytest.mark.parametrize("lane", ["bpf", "nft"])
@pytest.mark.parametrize("policy", POLICIES)
def test_every_form_of_address_is_judged(rig, policy, lane):
    openings, more = POLICIES[policy]
    rig.daemon(lambda offer: active(offer.id, openings=openings))
    place = Netns("a")
    try:
        done = rig.ctl("attach", "--id", "a", "--netns", place.path, "--cgroup", rig.cgroup(), "--lane", lane)
        assert done.returncode == 0, done.stderr
        wanted = {f"{address}@8443": verdict for address, verdict in ALWAYS.items()}
        wanted.update(more)
        out = subprocess.run(
            place.command([PYTHON, "-c", ATTEMPTS, *wanted]), capture_output=True, text=True, timeout=120, check=True
        ).stdout
        assert dict(zip(wanted, out.split())) == wanted
        assert rig.ctl("detach", "--id", "a").returncode == 0
    finally:
        place.close()
