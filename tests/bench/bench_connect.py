# SPDX-License-Identifier: Apache-2.0
"""bench_connect.py - what connect() costs in an attached sandbox; connects.c holds the clock.

refused    a refused connect() against one that fails with ENETUNREACH in a namespace with lo alone, without programs.
           Above the event budget one sandbox calls without pause; below it there are so many sandboxes that none has
           more than its events of a second, and a thread takes the events out of the ring as the daemon does. The
           kernel's own counters say afterwards that it was so. The namespaces without programs are as many: going
           from socket to socket costs without programs too (here 70 ns a call: each has 32 before the next).
captured   a connect() to a public address, which arrives at the sandbox's listeners, against one to a plain listener
           on loopback in a namespace of its own. One process makes both calls in turn and accepts both: nobody else
           has to run for a connect() to end.
"""
import errno
import os
import socket
import statistics
import subprocess

import figures
from helper import Helper, Refused, verdicts
from helper_rig import BIN
from places import Place
from rows import Row

NAME = "connect"
ROUNDS, CALLS = 5, 8000
TRIES = 3  # on a busy machine the events may not be taken out in time
BLOCK = 32
BUDGET = 100  # CAPTURE_EVENTS_PER_SECOND
PACED_PLACES = -(-CALLS // BLOCK // (BUDGET // BLOCK))  # so that each has at most BUDGET // BLOCK blocks a round
REFUSED_MOST, CAPTURE_MOST = 1.3, 4.0
LANES = (("bpf", 1), ("nft", 2))  # enum proto_lane
FAMILIES = (
    # name, a metadata and a private address and what refuses them, a public one, the plain listener's
    ("v4", "169.254.169.254", "10.0.0.1", "203.0.113.10", socket.AF_INET, "127.0.64.1"),
    ("v6", "fd00:ec2::254", "fd12:3456::1", "2001:db8::10", socket.AF_INET6, "::1"),
)


def connects(*arguments, fds=()):
    out = subprocess.run(
        [os.path.join(BIN, "bench", "connects"), *map(str, arguments)],
        stdout=subprocess.PIPE, text=True, check=True, pass_fds=fds,
    ).stdout
    return [tuple(float(word) for word in line.split()) for line in out.splitlines()]


def arm(error, address, port, places, listeners=()):
    at = "+".join("{}.{}".format(*place.fds) for place in places)
    return f"{error} {address} {port} {at} {'+'.join(str(fd) for fd in listeners)}"


def descriptors(places, *more):
    return [fd for place in places for fd in place.fds] + list(more)


# ---- refused


def paired(rows):
    """Blocks of the first arm beside those of the second that ran next to them, by round."""
    rounds = []
    for blocks in figures.by_round(rows).values():
        split = [[took for which, took in blocks if which == side] for side in (0, 1)]
        rounds.append(list(zip(*split)))
    return rounds


def refused(helper, plain, places, address, error, paced):
    events = helper.daemon.hello[1] if paced else -1  # behind the heartbeat
    unreachable = "10.0.0.1" if ":" not in address else "2001:db8::10"
    rows = connects(
        "failing", ROUNDS, CALLS, BLOCK, int(paced), events,
        arm(error, address, 80, places), arm(errno.ENETUNREACH, unreachable, 80, plain),
        fds=descriptors([*places, *plain], *([events] if paced else [])),
    )
    return paired(rows)


def events_of(helper, places):
    """(events written, suppressed, lost) of these sandboxes so far."""
    suppressed = lost = refusals = 0
    for place in places:
        counted = verdicts(helper, helper.daemon.offers[place.name].netns)
        suppressed, lost = suppressed + counted["suppressed"], lost + counted["lost"]
        refusals += counted["metadata"] + counted["private"]
    return refusals - suppressed - lost, suppressed, lost


def refused_row(helper, plain, places, name, address, error, paced):
    for _ in range(TRIES):
        row = refused_once(helper, plain, places, name, address, error, paced)
        if row.value is not None:
            break
    return row


def refused_once(helper, plain, places, name, address, error, paced):
    before = events_of(helper, places)
    rounds = refused(helper, plain, places, address, error, paced)
    wrote, suppressed, lost = (now - then for now, then in zip(events_of(helper, places), before))
    ours, theirs = (statistics.median(pair[side] for pairs in rounds for pair in pairs) for side in (0, 1))
    row = Row(
        NAME, f"refused {name}, {'below' if paced else 'above'} the event budget", figures.ratio_of_medians(rounds),
        "x", REFUSED_MOST, figures.ratio_interval(rounds),
        f"{ours:.0f} against {theirs:.0f} ns; {wrote} events, {suppressed} suppressed, {lost} lost",
    )
    if paced and (suppressed or lost):
        row.value, row.note = None, f"not below the budget: {suppressed} suppressed, {lost} lost"
    if not paced and suppressed < 0.9 * ROUNDS * CALLS:
        row.value, row.note = None, f"not above the budget: {suppressed} suppressed"
    return row


def run_refused(helper, plain, places):
    """As many namespaces of each kind."""
    for family, metadata, private, *_ in FAMILIES:
        for name, address, error in (
            ("metadata", metadata, errno.ECONNREFUSED), ("private", private, errno.EACCES)
        ):
            for paced in (False, True):
                n = len(places) if paced else 1
                yield refused_row(helper, plain[:n], places[:n], f"{family} {name}", address, error, paced)


# ---- captured


def captured_row(helper, place, plain, lane, family):
    name, _, _, public, number, loopback = family
    offer = helper.daemon.offers[place.name]
    ours = offer.tcp4 if number == socket.AF_INET else offer.tcp6
    with plain.listener(number, loopback) as listener:
        rows = connects(
            "succeeding", ROUNDS, CALLS,
            arm(0, public, 443, [place], ours),
            arm(0, loopback, listener.getsockname()[1], [plain], [listener.fileno()]),
            fds=descriptors([place, plain], *ours, listener.fileno()),
        )
    added = [(a - b) / 1000 for _, a, b in rows]
    low, high = figures.median_interval(added)
    rounds = [statistics.median((a - b) / 1000 for a, b in pairs) for pairs in figures.by_round(rows).values()]
    return Row(
        NAME, f"captured {name}, {lane} lane, added", statistics.median(added), "us", CAPTURE_MOST, (low, high),
        f"{statistics.median(a for _, a, _ in rows) / 1000:.1f} against "
        f"{statistics.median(b for _, _, b in rows) / 1000:.1f} us; rounds {min(rounds):.2f} to {max(rounds):.2f}",
    )


def run_captured(helper, plain, made):
    for lane, number in LANES:
        place = Place()
        made.append(place)
        try:
            helper.attach(place, lane=number)
        except Refused as error:
            why = str(error) or "the helper does not know this lane"
            yield Row(NAME, f"captured, {lane} lane", None, note=why)
            continue
        for family in FAMILIES:
            yield captured_row(helper, place, plain, lane, family)
        helper.detach(place)


# ----


def run():
    made = []
    helper = Helper()
    try:
        plain = Place()
        made.append(plain)
        yield from run_captured(helper, plain, made)
        plains, places = ([Place() for _ in range(PACED_PLACES)] for _ in range(2))
        made += plains + places
        for place in places:
            helper.attach(place, lane=1)
        yield from run_refused(helper, plains, places)
    finally:
        helper.close()
        for place in made:
            place.close()
