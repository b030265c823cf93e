# SPDX-License-Identifier: Apache-2.0
"""figures.py - the statistics of the benches: medians, their confidence intervals, ratios of paired blocks.

Timings have long tails (an interrupt, another process on the core), so everything is a median; and the machine
drifts, so everything compares neighbours: calls that were made within microseconds of each other.
"""
import math
import random
import statistics

CONFIDENCE = 0.95
RESAMPLES = 1000


def quantile(values, q):
    """The value at or above a share q of all, by rank: no value is made up between two."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, max(0, math.ceil(q * len(ranked)) - 1))]


def median_interval(values, confidence=CONFIDENCE):
    """(low, high) for the median, by order statistics: the k-th smallest and the k-th largest, k from the binomial
    distribution of how many values lie below the median (its normal form, with continuity correction). No shape of
    the distribution is assumed; few values give the whole range."""
    ranked = sorted(values)
    n = len(ranked)
    z = statistics.NormalDist().inv_cdf(0.5 + confidence / 2)
    k = max(0, math.floor((n - z * math.sqrt(n) - 1) / 2))
    return ranked[k], ranked[n - 1 - k]


def by_round(rows):
    """{round: [what follows the number]} of rows (round, ...)."""
    rounds = {}
    for number, *rest in rows:
        rounds.setdefault(number, []).append(rest if len(rest) > 1 else rest[0])
    return rounds


def ratio_of_medians(rounds):
    """Median over the rounds of median(first) / median(second); a round is a list of pairs."""
    return statistics.median(
        statistics.median(a for a, _ in pairs) / statistics.median(b for _, b in pairs) for pairs in rounds
    )


def ratio_interval(rounds, confidence=CONFIDENCE, resamples=RESAMPLES, seed=1):
    """(low, high) for ratio_of_medians(), by bootstrap: the pairs of each round are drawn anew, pairs staying
    together, and the middle share of what comes out is taken."""
    draw = random.Random(seed)
    found = sorted(
        ratio_of_medians([draw.choices(pairs, k=len(pairs)) for pairs in rounds]) for _ in range(resamples)
    )
    cut = int((1 - confidence) / 2 * resamples)
    return found[cut], found[resamples - 1 - cut]
