# SPDX-License-Identifier: Apache-2.0
"""rows.py - what a bench hands back: figures, each with its target, and the table that is made of them."""
from dataclasses import dataclass
from typing import Optional


@dataclass
class Row:
    bench: str
    figure: str  # what was measured
    value: Optional[float]  # None: it could not be measured here, `note` says why
    unit: str = ""
    target: Optional[float] = None  # the most that it may be; None: only told
    interval: Optional[tuple] = None  # of 95 % confidence
    note: str = ""

    @property
    def verdict(self):
        if self.value is None:
            return "skipped"
        if self.target is None:
            return "-"
        return "met" if self.value <= self.target else "MISSED"


def number(value):
    return "-" if value is None else f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def told(row):
    interval = "" if row.interval is None else f" [{number(row.interval[0])}, {number(row.interval[1])}]"
    value = "-" if row.value is None else f"{number(row.value)} {row.unit}".strip()
    return [row.bench, row.figure, value + interval, f"<= {number(row.target)}" if row.target is not None else "",
            row.verdict, row.note]


def table(rows):
    lines = [["bench", "figure", "value [95 %]", "target", "verdict", "note"], *map(told, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def line(row):
    return "  ".join(cell for cell in told(row)[1:] if cell)
