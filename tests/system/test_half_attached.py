# SPDX-License-Identifier: Apache-2.0
"""An attach that fails says why in one line, and leaves namespace, cgroup, maps, pins and helper as they were: whichever
step it was, from the first look to the self-test."""
import errno
import json
import os
import subprocess

import pytest

from helper_rig import active, until
from origin.netns import Netns

LOOK = ("ip rule; ip -6 rule; ip addr; ip route show table all; ip -6 route show table all; nft list ruleset; "
        "cat /proc/sys/net/ipv4/conf/{all,default,lo}/{accept_local,rp_filter,arp_ignore}")


@pytest.fixture
def space():
    made = Netns("half")
    made.ip(["link set lo up"])
    yield made
    made.close()


def bpftool(*words):
    said = subprocess.run(["bpftool", "-j", *words], check=True, capture_output=True, text=True).stdout
    return json.loads(said.strip() or "[]")  # it says nothing of a cgroup without programs


def pins(rig):
    top = os.path.join(rig.state, "bpf")
    return sorted(os.path.join(folder, name) for folder, folders, files in os.walk(top) for name in folders + files)


def state(rig, space, cgroup):
    """All that an attach makes, wherever it makes it."""
    links = [(link["id"], link["type"]) for link in bpftool("link", "show")
             if os.stat(space.path).st_ino == link.get("netns_ino") or os.stat(cgroup).st_ino == link.get("cgroup_id")]
    entries = {name: len(bpftool("map", "dump", "pinned", os.path.join(rig.state, "bpf", name)))
               for name in ("sandboxes", "verdicts")}
    return {
        "namespace": space.run("bash", "-c", LOOK).stdout,
        "cgroup": [(one["attach_type"], one["id"]) for one in bpftool("cgroup", "show", cgroup)],
        "links": links, "maps": entries, "pins": pins(rig), "descriptors": rig.helper_fds(),
        "list": rig.ctl("list").stdout,
    }


def attach(rig, space, cgroup, *options):
    return rig.ctl("attach", "--id", "a", "--netns", space.path, "--cgroup", cgroup, *options)


def occupy(rig, space, cgroup):
    """A program that lets no other beside it, at one of the last hooks: those before it are taken by then."""
    rig.attach("donor")
    (program,) = [one for one in bpftool("cgroup", "show", rig.cgroups[-1]) if one["name"] == "egress_packet"]
    number = str(program["id"])
    subprocess.run(["bpftool", "cgroup", "attach", cgroup, "egress", "id", number], check=True)
    return lambda: subprocess.run(["bpftool", "cgroup", "detach", cgroup, "egress", "id", number], check=True)


def swallow(rig, space, cgroup):
    """What the table must see never arrives: the self-test fails, which is the last step."""
    space.ip(["route add blackhole 169.254.169.254 table local"])
    return lambda: space.ip(["route del blackhole 169.254.169.254 table local"])


def foreign_table(rig, space, cgroup):
    space.run("nft", "add", "table", "inet", "firewall")
    return lambda: space.run("nft", "delete", "table", "inet", "firewall")


def link(rig, space, cgroup):
    space.ip(["link add up0 type veth peer name up1"])
    return lambda: space.ip(["link del up0"])


def refusing(rig, space, cgroup):
    rig.daemons[-1].answer = lambda offer: active(offer.id, error=errno.EINVAL, text="policy:3:1: no such key")
    return lambda: setattr(rig.daemons[-1], "answer", lambda offer: active(offer.id))


# the step that fails: how it is made to, (what the one line says, and the remedy in it)
STEPS = {
    "a link besides lo": (link, ("has the link up", "--network none")),
    "a table of somebody else": (foreign_table, ("nft table `inet firewall`", "nft delete table inet firewall")),
    "a program of another helper": (occupy, ("the cgroup has the program egress_packet", "a cgroup of its own")),
    "a policy that the daemon refuses": (refusing, ("policy:3:1", "")),
    "a self-test that fails": (swallow, ("that must be refused was not", "")),
}


@pytest.mark.parametrize("step", STEPS)
def test_whichever_step_fails_nothing_is_left(rig, space, step):
    rig.daemon()
    cgroup = rig.cgroup()
    mend = STEPS[step][0](rig, space, cgroup)
    before = state(rig, space, cgroup)
    done = attach(rig, space, cgroup)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done.stderr
    for words in STEPS[step][1]:
        assert words in done.stderr, done.stderr
    until("everything as before", lambda: state(rig, space, cgroup) == before)
    mend()
    assert attach(rig, space, cgroup).returncode == 0, "and it can be attached when that is mended"
    after = state(rig, space, cgroup)
    changed = [key for key in before if before[key] != after[key]]
    assert sorted(changed) == sorted(before), "the control: an attach changes each of them"
