"""Those who sleep wake when the threshold reaches their keys, all of them and nobody else, at any distance."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from lockstep import assemble
from selection import held_by, watch

import ascd
from ascd.engine.rules.lazy_draws import ITS_PLACE, LAST_PICK, LIST_SIZE
from ascd.engine.rules.sleepers import FREE, Sleepers
from ascd.engine.tuning import CHUNK, DRAWS_IN_VAIN, LOOKS_A_WAKING

pytestmark = pytest.mark.usefixtures("interpreted", "lazy_everywhere")

STEPS = st.lists(st.tuples(st.floats(-2.0, 4.0), st.floats(0.0, 3.0), st.integers(0, 60)), min_size=1, max_size=30)


def check_chunks(sleepers):
    """Every chunk is free or in one chain."""
    used = []
    for chunk in sleepers.chunk.tolist():
        while chunk >= 0:
            used.append(chunk)
            chunk = int(sleepers.behind[chunk])
    assert sorted(used + sleepers.free[: sleepers.account[FREE]].tolist()) == list(range(sleepers.behind.size))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 700), st.integers(0, 10**6), STEPS)
def test_who_reaches_the_threshold_wakes(n, seed, steps):
    """The threshold falls and rises; some fall asleep in between, also above where the last threshold was."""
    rng, sleepers, members = np.random.default_rng(seed), Sleepers.of(n), np.empty(n, dtype=np.int32)
    keys = dict(enumerate(np.round(rng.standard_normal(n) * 10.0 ** rng.integers(-3, 2), seed % 3).tolist()))
    for j, key in keys.items():
        sleepers.put_in(j, key)
    awake, above = [], 2.0
    for fall, distance, back in steps:
        above -= fall
        count = sleepers.wake_above(above, distance, members, 0)
        expected = {j for j, key in keys.items() if key >= above}
        assert set(members[:count].tolist()) == expected
        assert count == len(expected)
        awake += sorted(expected)
        for j in expected:
            del keys[j]
        for j in awake[:back]:
            keys[j] = above - abs(float(rng.standard_normal()))
            sleepers.put_in(j, keys[j])
        del awake[:back]
        assert held_by(sleepers) == keys
        assert sleepers.count_asleep() == len(keys)
        check_chunks(sleepers)


def test_keys_of_no_number_or_no_size():
    """inf and what is no number wake first; −inf sleeps until all wake."""
    sleepers, members = Sleepers.of(4), np.empty(4, dtype=np.int32)
    for j, key in enumerate((-math.inf, math.inf, math.nan, 1.0)):
        sleepers.put_in(j, key)
    assert sorted(members[: sleepers.wake_above(2.0, 1.0, members, 0)].tolist()) == [1, 2]
    assert members[: sleepers.wake_above(-1e300, 1.0, members, 0)].tolist() == [3]
    assert sleepers.wake_above(-1e308, math.inf, members, 0) == 0
    assert members[: sleepers.wake_above(-math.inf, 0.0, members, 0)].tolist() == [0]
    assert sleepers.count_asleep() == 0


def test_looks_are_paid_for():
    """Distances that shrink by thousands make levels too long: they are arranged anew, and looks stay few."""
    n, rng = 20_000, np.random.default_rng(0)
    sleepers, members, keys = Sleepers.of(n), np.empty(n, dtype=np.int32), -rng.random(n)
    for j in range(n):
        sleepers.put_in(j, keys[j])
    looks, above, woken = 0, 0.0, sleepers.wake_above(0.0, 0.2, members, 0)
    while above > -0.2:
        above -= 5e-4
        looks += sleepers.number[np.flatnonzero(sleepers.edge <= above)[0]]
        woken += sleepers.wake_above(above, 5e-4, members, 0)
    assert woken == np.sum(keys >= above)
    assert looks < 2 * (LOOKS_A_WAKING * woken + n)


@pytest.mark.parametrize("steepness", ["gs-s", "gsl-s", "gsl-q"])
def test_draws_in_vain_end(steepness):
    """A list of those that cannot move: it is gone through once, and any coordinate is picked."""
    rng = np.random.default_rng(5)
    A = sp.random(30, 60, 0.3, format="csc", random_state=5)
    problem = ascd.Problem(A, rng.standard_normal(30), penalty=ascd.L1(1e3))
    lazy = assemble(problem, "a-ascd", steepness=steepness)
    watch(lazy, 5)
    rule = lazy.rule
    rule.members[:], rule.state[LIST_SIZE] = np.arange(60), 60  # all awake, though nobody belongs to the set
    rule.asleep.heap.wake_above(-math.inf, 0.0, np.empty(60, dtype=np.int32), 0)
    rule.real[:] = -math.inf
    rule.state[LAST_PICK], rule.state[ITS_PLACE] = 3, 3
    picks = watch(lazy, 40)
    assert rule.state[LIST_SIZE] == 0
    assert rule.asleep.heap.count_asleep() == 60
    assert len(set(picks)) > DRAWS_IN_VAIN


@pytest.mark.parametrize("n", [1, CHUNK - 1, CHUNK, 5 * CHUNK - 1, 5 * CHUNK])
def test_there_is_room_for_all(n):
    """Also while all of them go from one level to others, and there from level to level."""
    sleepers, members, least = Sleepers.of(n), np.empty(n, dtype=np.int32), sys.maxsize
    for j in range(n):
        sleepers.put_in(j, -float(j))
    for above in np.linspace(1.0, -n, 40):
        sleepers.wake_above(1.0 + n, 4.0 ** (-above % 7), members, 0)
        sleepers.arrange_anew(1.0 + n, 4.0 ** (above % 7), members)
        least = min(least, int(sleepers.account[FREE]))
        check_chunks(sleepers)
    assert least >= 0
    assert sleepers.count_asleep() == n
