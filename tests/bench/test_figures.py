# SPDX-License-Identifier: Apache-2.0
"""The statistics of the benches, on samples whose answer is known."""
import os
import random
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import figures  # noqa: E402


def test_quantile_is_a_value_by_rank():
    values = list(range(100, 0, -1))
    assert [figures.quantile(values, q) for q in (0, 0.01, 0.5, 0.99, 1)] == [1, 1, 50, 99, 100]
    assert figures.quantile([7], 0.99) == 7


def test_median_interval_of_a_known_rank():
    # n = 100: binomial(100, 1/2) puts the 95 % interval at the 40th and the 61st value
    assert figures.median_interval(range(1, 101)) == (40, 61)


def test_median_interval_of_few_values_is_all_of_them():
    assert figures.median_interval([3, 1, 2]) == (1, 3)
    assert figures.median_interval([5]) == (5, 5)


def test_median_interval_covers_as_often_as_it_says():
    draw = random.Random(7)
    held = 0
    for _ in range(400):
        low, high = figures.median_interval([draw.expovariate(1) for _ in range(201)])
        held += low <= 0.6931 <= high  # ln 2, the median of that distribution
    assert 0.92 <= held / 400 <= 0.99, held


def test_by_round_keeps_what_follows_the_number():
    assert figures.by_round([(0, 1, 2), (1, 3, 4), (0, 5, 6)]) == {0: [[1, 2], [5, 6]], 1: [[3, 4]]}
    assert figures.by_round([(0, 1), (0, 2)]) == {0: [1, 2]}


def test_ratio_takes_the_median_round_and_is_not_moved_by_outliers():
    steady = [(20.0, 10.0)] * 50
    spoilt = [(20.0, 10.0)] * 48 + [(9000.0, 10.0)] * 2
    slow = [(60.0, 10.0)] * 50
    assert figures.ratio_of_medians([steady, spoilt, slow]) == 2.0


def test_ratio_interval_holds_the_ratio_and_narrows_with_more():
    draw = random.Random(3)

    def sample(n):
        return [[(draw.gauss(13, 1), draw.gauss(10, 1)) for _ in range(n)] for _ in range(5)]

    few, many = figures.ratio_interval(sample(40), resamples=200), figures.ratio_interval(sample(1000), resamples=200)
    assert few[0] < 1.3 < few[1] and many[0] < 1.3 < many[1]
    assert many[1] - many[0] < (few[1] - few[0]) / 2


def test_ratio_interval_is_the_same_twice():
    rounds = [[(float(a), float(a % 7 + 1)) for a in range(1, 60)]] * 3
    assert figures.ratio_interval(rounds) == figures.ratio_interval(rounds)
    assert figures.ratio_interval(rounds)[0] <= figures.ratio_of_medians(rounds) <= figures.ratio_interval(rounds)[1]
    assert statistics.median([1, 2, 3]) == 2
