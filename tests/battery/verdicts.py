# SPDX-License-Identifier: Apache-2.0
"""verdicts.py - what became of each attempt, and whether that is as written.

From the judge's evidence first, then from what the attempt and the daemon say:

    REACHED      payload of it arrived at the canary, or the canary accepted a connection
    LEAKED       something of it was on the wire
    EXPOSED      it holds what no network namespace confines (a vsock), or another's connection
    CAPTURED     the daemon has it in its audit
    REFUSED      it got an errno at the step that mattered
    CONTAINED    it went through all steps, and nothing came of it
    TIMEOUT      it was still waiting at its deadline
    UNSUPPORTED  this kernel or these capabilities do not have what it needs
    WORKS, BROKEN  a control

exceptions.toml says which names may be worse than contained, in which combinations, and what closes them; a
line there that no longer happens is an error too.
"""
import errno
import fnmatch
import os
import tomllib
from dataclasses import dataclass

WORSE = ("EXPOSED", "LEAKED", "REACHED", "BROKEN")
OUT = ("LEAKED", "REACHED")
FILE = os.path.join(os.path.dirname(__file__), "exceptions.toml")
CONTROL, STRANGER, SERIAL, INSIDE = 1, 2, 4, 8  # attempt.h
CALLED = 16 | 32 | 64


@dataclass(frozen=True)
class Verdict:
    outcome: str
    detail: str

    def __str__(self):
        return f"{self.outcome} ({self.detail})" if self.detail else self.outcome


def _said(line):
    if line is None:
        return "no word"
    text = errno.errorcode.get(line["errno"], str(line["errno"])) if line["errno"] else ""
    return " ".join(part for part in (line["step"] and f"{line['step']}:", text) if part).strip(": ")


def judge(row, line, evidence, asked, supported=True):
    """supported: whether the attempt had what it needs without protection: if so, a failure to prepare is
    the protection's doing, or the capabilities'."""
    said = line["said"] if line else "nothing"
    if row["flags"] & CONTROL:
        works = {"works": "WORKS", "unsupported": "UNSUPPORTED"}.get(said, "BROKEN")
        return Verdict(works, _said(line) if works != "WORKS" else "")
    seen = sorted(f"{what} via {via}" for what, via in evidence)
    if any(what != "packet" for what, _ in evidence):
        return Verdict("REACHED", ", ".join(seen))
    if evidence:
        return Verdict("LEAKED", ", ".join(seen))
    if said in ("exposed", "broken"):
        return Verdict(said.upper(), _said(line))
    if asked:
        return Verdict("CAPTURED", "")
    outcomes = {"refused": "REFUSED", "unsupported": "UNSUPPORTED", "sent": "CONTAINED", "nothing": "TIMEOUT"}
    outcome = outcomes[said]
    if outcome == "UNSUPPORTED" and supported and line["errno"] not in (errno.EPERM, errno.EACCES, errno.ENODEV):
        outcome = "REFUSED"
    return Verdict(outcome, _said(line))


class Exceptions:
    def __init__(self, path=FILE, lacking=()):
        """lacking: the features that the status says this machine does not have."""
        with open(path, "rb") as file:
            text = tomllib.load(file)
        rows = text.get("exception", [])
        self.contained = set(text["baseline"]["contained"])
        self.names = self.contained.union(*(row["names"] for row in rows))
        for row in rows:
            assert set(row) - {"lacking"} == {"names", "combinations", "outcome", "reaches", "closed_by"}, row
            assert row["outcome"] in WORSE, row
        self.rows = [row for row in rows if row.get("lacking") in (None, *lacking)]

    def _matches(self, row, name, combination):
        return name in row["names"] and any(fnmatch.fnmatch(combination, p) for p in row["combinations"])

    def allowed(self, name, combination):
        return {row["outcome"] for row in self.rows if self._matches(row, name, combination)}

    def problems(self, combination, verdicts):
        """What is worse than written, and what is written and does not happen, one line each."""
        found = []
        for name, verdict in verdicts.items():
            allowed = self.allowed(name, combination)
            if verdict.outcome in WORSE and verdict.outcome not in allowed:
                found.append(f"{combination} {name}: {verdict}")
            if allowed and verdict.outcome not in WORSE and verdict.outcome != "UNSUPPORTED":
                found.append(f"{combination} {name}: {verdict}, but exceptions.toml says {'/'.join(allowed)}")
        return found

    def unknown(self, names):
        """Names in the file that no attempt has."""
        return sorted(self.names - set(names))

    def baseline_problems(self, rows, verdicts):
        """Without protection each gets out but those that are written down."""
        found = []
        for row in rows:
            name = row["name"]
            verdict = verdicts.get(name)
            if verdict is None or row["flags"] & CONTROL or verdict.outcome == "UNSUPPORTED":
                continue
            if verdict.outcome in OUT + ("EXPOSED",):
                if name in self.contained:
                    found.append(f"baseline {name}: {verdict}, but exceptions.toml says that it stays inside")
            elif name not in self.contained:
                found.append(f"baseline {name}: {verdict}: it proves nothing")
        return found


def table(rows, results):
    """name × combination → outcome, as text."""
    combinations = list(results)
    lines = []
    for row in rows:
        cells = [str(results[c].get(row["name"], Verdict("-", "")).outcome) for c in combinations]
        lines.append((row["name"], row["kind"], *cells))
    head = ("name", "kind", *combinations)
    widths = [max(len(line[i]) for line in (head, *lines)) for i in range(len(head))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip() for line in (head, *lines))


def totals(verdicts):
    count = {}
    for verdict in verdicts.values():
        count[verdict.outcome] = count.get(verdict.outcome, 0) + 1
    return ", ".join(f"{n} {outcome}" for outcome, n in sorted(count.items()))
