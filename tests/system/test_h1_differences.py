# SPDX-License-Identifier: Apache-2.0
"""Two parsers on the same bytes: ours (h1_reading.c) and node's (h1_reading.js), no socket between. Then: what the
daemon forwards of each row, node reads as we read the row."""
import os
import subprocess
import tomllib

import pytest

import client
import h1_malformed
import h1_malformed_replies
import h1_odd
from stack import build_folder

HERE = os.path.dirname(__file__)
READERS = {
    "ours": [os.path.join(build_folder(), "tests", "system", "h1_reading")],
    "node": ["node", os.path.join(HERE, "h1_reading.js")],
}
LISTED = os.path.join(HERE, "h1_differences.toml")


def corpus():
    """"q name" or "r name" -> bytes"""
    rows = {f"q {name}": data for name, data in {**h1_malformed.HEADS, **h1_malformed.BODIES}.items()}
    rows |= {f"q behind {name}": b"".join(good) + rest for name, (good, rest) in h1_malformed.BEHIND.items()}
    rows |= {f"q odd {name}": data for name, data in h1_odd.REQUESTS.items()}
    for table in (h1_malformed_replies.HEADS, h1_malformed_replies.BODIES, h1_malformed_replies.BEHIND):
        rows |= {f"r {name}": data for name, data in table.items()}
    return rows | {f"r odd {name}": data for name, data in h1_odd.REPLIES.items()}


class Message:
    def __init__(self, words):
        self.start = words  # method and target, or status and reason; the minor version
        self.fields, self.body, self.trailers, self.whole = [], b"", [], False

    def __eq__(self, other):
        return vars(self) == vars(other)

    def __repr__(self):
        return f"<{self.start} {self.fields} {self.body[:100]} {self.trailers} {'whole' if self.whole else 'cut'}>"

    def but_for_fields(self):
        return self.start[:-1], self.body, self.trailers, self.whole


class Reading:
    """Of a message that is refused before its end nothing is kept: one parser names it sooner than the other."""

    def __init__(self, lines):
        self.messages = []
        for line in lines:
            word, *texts = line.split(" ")
            texts = [b"" if text == "-" else text for text in texts]
            if word in ("request", "reply"):
                self.messages.append(Message(texts))
            elif word in ("field", "trailer"):
                pair = tuple(bytes.fromhex(text or "") if text else b"" for text in texts)
                getattr(self.messages[-1], word + "s").append(pair)
            elif word == "body":
                self.messages[-1].body = bytes.fromhex(texts[0] or "")
            elif word == "whole":
                self.messages[-1].whole = True
            else:
                self.end = texts[0]
        if self.end == "refused" and self.messages and not self.messages[-1].whole:
            self.messages.pop()

    @property
    def verdict(self):
        return "refused" if self.end == "refused" else "reads"

    def __eq__(self, other):
        return (self.messages, self.end) == (other.messages, other.end)

    def __repr__(self):
        return f"{self.messages[:3]} end {self.end}"


def read(reader, rows):
    asked = b"".join(b"%s %d\n%s" % (name[0].encode(), len(data), data) for name, data in rows.items())
    done = subprocess.run(READERS[reader], input=asked, capture_output=True, timeout=60, check=True)
    readings, lines = [], []
    for line in done.stdout.decode("ascii").splitlines():
        lines.append(line)
        if line.startswith("end "):
            readings.append(Reading(lines))
            lines = []
    assert len(readings) == len(rows), done.stderr[-1000:]
    return dict(zip(rows, readings))


@pytest.fixture(scope="module")
def ours():
    return read("ours", corpus())


@pytest.fixture(scope="module")
def node():
    return read("node", corpus())


@pytest.fixture(scope="module")
def listed():
    with open(LISTED, "rb") as file:
        groups = tomllib.load(file)["difference"]
    found = {row: (group["ours"], group["node"]) for group in groups for row in group["rows"]}
    assert len(found) == sum(len(group["rows"]) for group in groups), "a row is listed twice"
    assert all(group["why"].strip() for group in groups)
    return found


def test_the_corpus_is_large():
    assert len(h1_odd.REQUESTS) >= 100 and len(corpus()) >= 600


def test_every_difference_is_explained_and_none_is_gone(ours, node, listed):
    assert set(listed) <= set(ours), set(listed) - set(ours)
    new = [f"{row}: ours {ours[row]}, node {node[row]}" for row in ours if ours[row] != node[row] and row not in listed]
    gone = [row for row in listed if ours[row] == node[row]]
    other = [row for row, verdicts in listed.items() if verdicts != (ours[row].verdict, node[row].verdict)]
    assert not new, "\n".join(new)
    assert not gone, f"read alike now: {gone}"
    assert not other, f"they differ in another way: {other}"


def test_both_read_most_of_what_is_valid(ours, node):
    """The control: the readers read, and do not refuse in chorus."""
    both = [row for row in ours if ours[row] == node[row] and ours[row].messages and ours[row].end == "clean"]
    assert len(both) >= 90
    assert ours["q odd chunks with trailers"].messages[0].trailers == [(b"X-Sum", b"1"), (b"x-sum", b"2")]


# ---- what is forwarded -------------------------------------------------------------------------------

FORWARDED_ALIKE = [row for row in h1_odd.REQUESTS if not row.startswith("CONNECT")]


def forwarded(sandbox, origin, data, reading):
    """The bytes of the requests that came to the origin. All replies are waited for, or a refusal."""
    before = len(origin.requests())
    with client.https(sandbox) as connection:
        connection.send(data)
        for message in reading.messages:
            if connection.reply(bytes.fromhex(message.start[0]).decode()).refusal:
                break
    return b"".join(request.head + request.body_raw for request in origin.requests()[before:])


# Node takes what is behind for another protocol before it knows whether there will be one; so would its server.
SWITCHED = "Upgrade: websocket and more"


def test_what_is_forwarded_is_read_alike(sandbox, origin, ours):
    """Bodies, targets and trailers; fields are ours to change. Rows with methods that node does not know are left out."""
    rows, sent = {}, {}
    for name in FORWARDED_ALIKE:
        reading = ours[f"q odd {name}"]
        if reading.end in ("clean", "closed") and reading.messages and not name.startswith("method") and name != SWITCHED:
            rows[name] = reading
            sent[f"q {name}"] = forwarded(sandbox, origin, h1_odd.REQUESTS[name], reading)
    node = read("node", sent)
    alike = 0
    for name, reading in rows.items():
        got = node[f"q {name}"]
        if not sent[f"q {name}"]:
            continue  # refused by policy
        assert got.end in ("clean", "closed"), f"{name}: {got}"
        wanted = [message.but_for_fields() for message in reading.messages]
        arrived = [message.but_for_fields() for message in got.messages]
        for message in wanted:
            message[2][:] = [pair for pair in message[2] if pair[0].lower().startswith(b"x")]
        assert arrived == wanted, f"{name}: sent {sent[f'q {name}'][:300]}"
        alike += 1
    assert alike >= 90, f"only {alike} of {len(rows)} rows were forwarded"
