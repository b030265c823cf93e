# SPDX-License-Identifier: Apache-2.0
"""The stack of each chain of calls. Linux up to 6.12 counts 512 bytes for the whole chain, each frame rounded up to 32;
newer kernels load what has more, so on these only this test sees it."""
import os
import re
import subprocess

import pytest

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.join(ROOT, os.environ.get("SALLYPORT_BUILD", "build"))
MOST, ROUND = 512, 32
# what a program that records a refusal calls, the innermost last
CHAINS = (
    ("record_client", "paths_walk_executable", "paths_step_dentry"),
    ("record_client", "paths_walk_cgroup", "paths_step_kernfs"),
)
ENTRIES = {
    "policy": ("policy_connect4", "policy_connect6", "policy_sendmsg4", "policy_sendmsg6"),
    "create": ("create_socket",),
    "unix": ("unix_connect", "unix_sendmsg"),
}


def frames(name):
    """Bytes below the frame pointer that each function of an object names."""
    path = os.path.join(BUILD, "bpf", f"{name}.bpf.o")
    text = subprocess.run(["llvm-objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
    found, function = {}, None
    for line in text.splitlines():
        head = re.match(r"[0-9a-f]+ <(\w+)>:", line)
        if head:
            function = function if head[1].startswith("LBB") else head[1]
        for depth in re.findall(r"r10 - (0x[0-9a-f]+|\d+)|r\d+ \+= -(0x[0-9a-f]+|\d+)", line):
            depth = int(depth[0] or depth[1], 0)
            found[function] = max(found.get(function, 0), depth if depth <= MOST else 0)
    return {function: -(-depth // ROUND) * ROUND for function, depth in found.items()}


@pytest.mark.parametrize("name", ENTRIES)
def test_a_chain_of_calls_fits_the_stack_of_older_kernels(name):
    found = frames(name)
    for entry in ENTRIES[name]:
        for chain in CHAINS:
            depths = [found[function] for function in (entry, *chain)]
            assert all(depths) and sum(depths) <= MOST, (entry, chain, depths)
