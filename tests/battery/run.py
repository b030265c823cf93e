# SPDX-License-Identifier: Apache-2.0
"""run.py - the battery over its combinations: {sealed, uplink} x {bpf, nft} x what capabilities there are.

    /usr/bin/python3 tests/battery/run.py [COMBINATION...]     (make battery: all)

A combination is mode/lane/capabilities, or `launcher` (inside of what `sallyport-netns enter` makes), or `hookless`
(sealed/bpf/full under a helper for which the kernel has no hooks on unix sockets, as before 6.7), or `baseline`. The result is a table, results.json in build/tests/battery or SALLYPORT_RESULTS, and an exit status.
"""
import itertools
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [path for path in (HERE, os.path.join(os.path.dirname(HERE), "system"), os.path.dirname(HERE))
                if path not in sys.path]

# pylint: disable=wrong-import-position
import documents  # noqa: E402
import topology  # noqa: E402
import verdicts  # noqa: E402
from box import ATTEMPTS, Box, Outsider, sweep  # noqa: E402
from judge import Judge  # noqa: E402
from stack import Stack  # noqa: E402
from waiting import until  # noqa: E402

PORTS = 20000  # of the first attempt of the first combination; each has a range of its own
BASELINE, LAUNCHER, HOOKLESS = "baseline", "launcher", "hookless"
NAMED = {BASELINE: (None, None, "full"), LAUNCHER: ("sealed", "auto", "kept"), HOOKLESS: ("sealed", "bpf", "full")}
WITHOUT_HOOK = ["/usr/bin/python3", os.path.join(os.path.dirname(HERE), "system", "without_hook.py")]
RESULTS = os.path.join(os.environ.get("SALLYPORT_RESULTS", os.path.dirname(ATTEMPTS)), "results.json")
# as 1 << CAP_...: what the runtime says it leaves its container, for uplink mode to judge
BOUNDING = {"full": "0x1ffffffffff", "default": "0xa80425fb", "noraw": "0xa80405fb", "none": "none"}
REFUSED_IN_UPLINK = ("full", "default")  # NET_ADMIN or NET_RAW among them
ALL = [BASELINE, *("/".join(parts) for parts in itertools.product(
    ("sealed", "uplink"), ("bpf", "nft"), BOUNDING)), LAUNCHER, HOOKLESS]


class Battery:
    """The world, one stack, the judge; each combination in a sandbox of its own."""

    def __init__(self):
        sweep()
        self.nonce = os.urandom(3).hex()
        self.world = topology.Topology()
        self._credentials = documents.write_credentials(self.world)
        self.judge = Judge(self.world, self.nonce)
        self.rows = [json.loads(line) for line in subprocess.run(
            [ATTEMPTS, "list"], check=True, capture_output=True, text=True).stdout.splitlines()]
        self.results = {}  # combination -> name -> Verdict
        self.refused = {}  # combination -> why the attach failed
        self._supported = set()  # names that have what they need without protection
        self._numbers = itertools.count()
        self.stack = self._start("main")
        self.exceptions = verdicts.Exceptions()

    def _start(self, name, wrapper=()):
        return Stack(self.world, name, credentials=[("swap-*", self._credentials)], wrapper=wrapper).start()

    def run(self, combination):
        """The problems of it, one line each; its verdicts are in results."""
        if combination != HOOKLESS:
            return self._run(combination, self.stack)
        stack = self._start(combination, WITHOUT_HOOK)
        try:
            return self._run(combination, stack)
        finally:
            stack.stop()

    def _run(self, combination, stack):
        base = PORTS + next(self._numbers) * 512
        outsider = Outsider(self.world, self.nonce)
        try:
            mode, lane, capabilities = NAMED.get(combination) or combination.split("/")
            box = Box(stack, outsider, self.nonce, base, mode, lane, BOUNDING.get(capabilities))
            try:
                return self._within(box, combination, mode, capabilities, base)
            finally:
                box.close()
        finally:
            outsider.close()

    def _within(self, box, combination, mode, capabilities, base):
        self.judge.begin(base, self.rows)
        mark = box.stack.audit_mark()
        crew = None if combination == LAUNCHER else box.crew(capabilities)
        crews = [crew] if crew else []
        problems = []
        try:
            if mode:
                done = box.try_attach()
                if done.returncode:
                    self.judge.end()
                    return self._refused_attach(combination, mode, capabilities, done)
                until(lambda: os.path.exists(box.ca), "the sandbox's CA certificate")
                self.judge.forget()
                box.write_trust("/etc/ssl/certs/ca-certificates.crt", box.ca)
                if mode == "uplink" and capabilities in REFUSED_IN_UPLINK:
                    problems.append(f"{combination}: the attach was not refused")
            crews.append(box.crew(capabilities, "stranger") if crew else box.entered())
            if not box.cut:
                self.judge.call(box.wire.own4, box.wire.own6, box.wire.peer4, box.wire.peer6)
            for one in crews:
                one.run("go")
            self.judge.hush()
            if mode:
                swapped, why = box.swap()
                if not swapped:
                    problems.append(f"{combination} https-swap: BROKEN {why}")
            crews[0].run("serial")
            said = {}
            for one in crews:
                said.update(one.said)
        finally:
            for one in crews:
                one.close()
        evidence = self.judge.end()
        self._judge(combination, said, evidence, self._asked(box, mark, base) if mode else set())
        return problems + self._problems(combination, box.stack)

    def _refused_attach(self, combination, mode, capabilities, done):
        self.refused[combination] = done.stderr.strip()
        expected = mode == "uplink" and capabilities in REFUSED_IN_UPLINK
        return [] if expected else [f"{combination}: attach: {done.stderr}"]

    def _asked(self, box, mark, base):
        """Attempts whose destination the daemon has on record."""
        addresses = {row["address"]: row["index"] for row in self.rows}
        found = set()
        for event in box.stack.audit(mark, sandbox=box.id, kind="connection"):
            host, _, port = str(event.get("asked", "")).rpartition(":")
            if host in addresses:
                found.add(addresses[host])
            elif port.isdigit() and 0 <= int(port) - base < len(self.rows):
                found.add(int(port) - base)
        return found

    def _judge(self, combination, said, evidence, asked):
        self.results[combination] = made = {}
        for row in self.rows:
            line = said.get(row["name"])
            if line is None and row["index"] not in evidence:
                continue
            made[row["name"]] = verdicts.judge(
                row, line, evidence.get(row["index"], ()), row["index"] in asked,
                row["name"] in self._supported,
            )
        if combination == BASELINE:
            self._supported = {name for name, v in made.items() if v.outcome != "UNSUPPORTED"}

    def _problems(self, combination, stack):
        made = self.results[combination]
        if combination != BASELINE:
            lacking = [line["feature"] for line in stack.get("/v1/status")["degraded"]]
            written = "/".join(NAMED[HOOKLESS]) if combination == HOOKLESS else combination
            return verdicts.Exceptions(lacking=lacking).problems(written, made)
        broken = [f"{combination} {name}: {v}" for name, v in made.items() if v.outcome == "BROKEN"]
        return broken + self.exceptions.baseline_problems(self.rows, made)

    def told(self):
        """A line for each combination: how many attempts ended how."""
        return [f"{name}: {verdicts.totals(made)}" for name, made in self.results.items()]

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(
                {"results": {c: {n: [v.outcome, v.detail] for n, v in made.items()}
                             for c, made in self.results.items()}, "attach refused": self.refused},
                file, indent=1,
            )

    def close(self):
        self.judge.close()
        try:
            self.stack.stop()
        finally:
            self.world.close()
        left = topology.leftovers(self.world.run, self.world.cgroup)
        assert not left, left


def main():
    wanted = sys.argv[1:] or ALL
    for name in wanted:
        if name not in ALL:
            sys.exit(f"{name}: there is no such combination; there are {' '.join(ALL)}")
    battery = Battery()
    problems = []
    try:
        problems += [f"exceptions.toml names {name}, which is no attempt"
                     for name in battery.exceptions.unknown(row["name"] for row in battery.rows)]
        for name in [BASELINE, *(n for n in wanted if n != BASELINE)]:
            found = battery.run(name)
            problems += found
            if name in battery.refused:
                print(f"{name}: the attach is refused: {battery.refused[name]}", flush=True)
            else:
                print(battery.told()[-1], flush=True)
            print("\n".join(f"    {line}" for line in found) or "    as written", flush=True)
            battery.write(RESULTS)  # also if a later one does not come to its end
    finally:
        battery.close()
    print(verdicts.table(battery.rows, battery.results))
    print("\n".join(problems) or "as written")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
