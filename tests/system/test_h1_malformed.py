# SPDX-License-Identifier: Apache-2.0
"""Malformed HTTP/1 in both directions, hundreds of rows (h1_malformed.py, h1_malformed_replies.py) over TLS and plain.

All connections of a battery are opened at once and judged one by one: what each got, and for all of them together
that the origin saw nothing. Behind every malformed request goes a good one with a credential; that one, sent alone,
is the control.
"""
import re
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

import client
import h1_malformed as requests
import h1_malformed_replies as replies
from documents import API_SECRET

WAYS = {"https": client.https, "plain": client.plain}
AT_ONCE = 24
PATIENCE = 5
SMUGGLED = "GET /behind-malformed HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n"
STATUS = {"bad-request": 400, "host-mismatch": 403, "method-denied": 403, "host-denied": 403, "upstream-connect": 502}


class Answer:
    """All that came on one connection until it ended."""

    def __init__(self, data, ended):
        self.data = data
        self.ended = ended
        self.statuses = [int(n) for n in re.findall(rb"(?:^|[\r\n}\w])HTTP/1\.1 (\d{3}) ", data)]
        refusals = re.findall(rb"\r\nsallyport-refusal: ([a-z-]+)\r\n", data, re.IGNORECASE)
        self.refusals = [name.decode() for name in refusals]

    def __repr__(self):
        return f"{self.statuses} {self.refusals} {'ended' if self.ended else 'NOT ENDED'} {self.data[:200]!r}"


def ask(connection, data):
    """Sends what it can, reads until the other side closes."""
    with connection:
        connection.sock.settimeout(PATIENCE)
        try:
            connection.send(data)
        except OSError:
            pass  # refused before all of it was read
        received, ended = b"", False
        try:
            while chunk := connection.sock.recv(65536):
                received += chunk
            ended = True
        except socket.timeout:
            pass
        except OSError:  # a reset
            ended = True
        return Answer(received, ended)


def ask_all(sandbox, rows):
    """rows: (way, name) -> bytes. All of them at once."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked = {row: pool.submit(lambda row, data: ask(WAYS[row[0]](sandbox), data), row, data) for row, data in rows.items()}
        return {row: answer.result() for row, answer in asked.items()}


def every(names):
    return [(way, name) for way in WAYS for name in names]


def identify(rows):
    return pytest.mark.parametrize("row", rows, ids=[f"{way}-{name}" for way, name in rows])


class Battery:
    """One series of rows: the answers, what left, what the origin got on connections that are new since."""

    def __init__(self, sandbox, world, rows, watched=True):
        watch = world.watch() if watched else None
        before = len(world.origin.connections)
        arrived = len(world.origin.requests())
        bearer = f"Authorization: Bearer {sandbox.placeholder('API_TOKEN')}\r\n"
        smuggled = {way: (SMUGGLED + (bearer if way == "https" else "") + "\r\n").encode() for way in WAYS}
        self.answers = ask_all(sandbox, {row: data + smuggled[row[0]] for row, data in rows.items()})
        self.watch = watch
        self.arrived = world.origin.requests()[arrived:]
        self.received = b"\0".join(bytes(c.received) for c in world.origin.connections[before:])


@pytest.fixture(scope="module")
def control(sandbox, world):
    """A good request, and behind it the one that must not come: both come. So their silence says something."""
    good = requests.head(line=b"GET /m HTTP/1.1")
    for way in WAYS:
        watch = world.watch()
        battery = Battery(sandbox, world, {(way, "good"): good}, watched=False)
        answer = battery.answers[(way, "good")]
        assert answer.statuses == [200, 200], answer
        assert watch.fired()
        assert [r.path for r in battery.arrived] == ["/m", "/behind-malformed"]
        assert way == "plain" or API_SECRET.encode() in battery.received
    return True


@pytest.fixture(scope="module")
def heads(sandbox, world, control):
    rows = {(way, name): requests.HEADS[name] for way, name in HEAD_ROWS}
    return Battery(sandbox, world, rows)


@pytest.fixture(scope="module")
def bodies(sandbox, world, control):
    return Battery(sandbox, world, {(way, name): requests.BODIES[name] for way, name in BODY_ROWS})


@pytest.fixture(scope="module")
def behind(sandbox, world, control):
    rows = {(way, name): b"".join(requests.BEHIND[name][0]) + requests.BEHIND[name][1] for way, name in BEHIND_ROWS}
    return Battery(sandbox, world, rows)


HEAD_ROWS = [row for row in every(requests.HEADS) if row[0] != "plain" or row[1] not in requests.NOT_PLAIN]
BODY_ROWS = every(requests.BODIES)
BEHIND_ROWS = every(requests.BEHIND)


def test_there_are_enough_rows():
    assert len(requests.HEADS) + len(requests.BODIES) + len(requests.BEHIND) >= 150
    assert len(replies.HEADS) + len(replies.BODIES) + len(replies.BEHIND) >= 40


# ---- requests ----------------------------------------------------------------------------------------


def refused(answer, category):
    assert answer.statuses == [STATUS[category]] and answer.refusals == [category], answer
    assert answer.ended, answer


@identify(HEAD_ROWS)
def test_a_malformed_head_is_refused(heads, row):
    way, name = row
    if way == "plain" and name in requests.UNKNOWN:
        assert heads.answers[row].ended and not heads.answers[row].data
        return
    wanted = requests.OTHERWISE.get(name, requests.BAD)
    refused(heads.answers[row], requests.PLAIN.get(name, wanted) if way == "plain" else wanted)


def test_nothing_of_a_malformed_head_leaves(heads):
    heads.watch.nothing("malformed heads")


@identify(BODY_ROWS)
def test_a_malformed_body_is_refused(bodies, row):
    refused(bodies.answers[row], requests.BAD)


def test_a_malformed_body_is_never_whole_at_the_origin(bodies):
    assert {r.path for r in bodies.arrived} <= {"/m"}
    assert not [r.body_raw for r in bodies.arrived if r.complete]
    assert b"behind-malformed" not in bodies.received and API_SECRET.encode() not in bodies.received


@identify(BEHIND_ROWS)
def test_what_is_malformed_behind_good_requests_is_refused(behind, row):
    good = requests.BEHIND[row[1]][0]
    answer = behind.answers[row]
    assert answer.statuses[:len(good)] == [200] * len(good), answer
    assert len(answer.statuses) == len(good) + 1 and answer.statuses[-1] in (400, 403), answer
    assert len(answer.refusals) == 1 and answer.ended, answer


def test_what_is_good_arrives_and_nothing_more(behind):
    wanted = sum(len(requests.BEHIND[name][0]) for _, name in BEHIND_ROWS)
    assert [r.path for r in behind.arrived] == ["/good"] * wanted
    assert b"behind-malformed" not in behind.received and API_SECRET.encode() not in behind.received


# ---- replies -----------------------------------------------------------------------------------------

REPLIES = {**replies.HEADS, **replies.BODIES, **replies.BEHIND}
NUMBER = {name: number for number, name in enumerate(REPLIES)}


@pytest.fixture(scope="module")
def answered(sandbox, world):
    """A request for each row, and one behind it for something good."""
    texts = list(REPLIES.values())

    def behaviour(exchange):
        exchange.close = True
        exchange.send(texts[exchange.argument(1)])

    world.origin.on("/reply/", behaviour)
    after = "GET /bytes/3 HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n"
    rows = {
        (way, name): f"GET /reply/{NUMBER[name]} HTTP/1.1\r\nHost: api.test\r\n\r\n{after}".encode()
        for way, name in every(REPLIES)
    }
    return ask_all(sandbox, rows)


@identify(every(replies.HEADS))
def test_a_malformed_reply_becomes_502(answered, row):
    answer = answered[row]
    final = [status for status in answer.statuses if status >= 200]
    assert final == [502] and answer.refusals == ["upstream-connect"], answer
    assert all(status in (102, 103) for status in answer.statuses[:-1])
    assert b"poison" not in answer.data and answer.ended, answer


@identify(every(replies.BODIES))
def test_a_malformed_body_makes_no_whole_reply(answered, row):
    answer = answered[row]
    assert answer.ended and answer.statuses in ([], [200], [502]), answer
    if answer.statuses == [200]:
        head, _, body = answer.data.partition(b"\r\n\r\n")
        assert b"poison" not in body
        assert b"content-length: 100\r\n" in head.lower() + b"\r\n" or b"\r\n0\r\n" not in body


@identify(every(replies.BEHIND))
def test_what_nobody_asked_for_does_not_arrive(answered, row):
    answer = answered[row]
    first = 304 if "304" in row[1] else 204 if "204" in row[1] else 200
    assert answer.statuses == [first, 200], answer
    assert answer.data.endswith(b"\r\n\r\n012") and b"poison" not in answer.data
