"""Those who sleep wake when the threshold reaches their keys, all of them and nobody else, at any distance."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from lockstep import assemble
from selection import held_by, listed_in, watch

import ascd
from ascd.engine.rules.draw_list import ITS_PLACE, LAST_PICK, LIST_SIZE, DrawList
from ascd.engine.rules.sleepers import Rooms
from ascd.engine.rules.two_clocks import CLOCKS
from ascd.engine.tuning import CHUNK, DRAWS_IN_VAIN, LOOKS_A_WAKING

pytestmark = pytest.mark.usefixtures("interpreted", "lazy_everywhere")

STEPS = st.lists(st.tuples(st.floats(-2.0, 4.0), st.floats(0.0, 3.0), st.integers(0, 60)), min_size=1, max_size=30)


def sharing(n, several):
    rooms = Rooms.of(n, several)
    return [rooms.room_of(which) for which in range(several)]


def check_chunks(*rooms):
    """Every chunk is free or in one chain."""
    used = []
    for sleepers in rooms:
        for chunk in sleepers.chunk.tolist():
            while chunk >= 0:
                used.append(chunk)
                chunk = int(sleepers.behind[chunk])
    free = rooms[0].free[: rooms[0].unused[0]].tolist()
    assert sorted(used + free) == list(range(rooms[0].behind.size))


def woken(sleepers, above, distance):
    """Who wakes, into a list of their own."""
    awake = DrawList.of(sleepers.key.size)
    sleepers.wake_above(above, distance, awake)
    return listed_in(awake)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 700), st.integers(0, 10**6), STEPS)
def test_who_reaches_the_threshold_wakes(n, seed, steps):
    """The threshold falls and rises; some fall asleep in between, in one of two places that share their memory."""
    rng, (sleepers, other) = np.random.default_rng(seed), sharing(n, 2)
    keys = dict(enumerate(np.round(rng.standard_normal(n) * 10.0 ** rng.integers(-3, 2), seed % 3).tolist()))
    for j, key in keys.items():
        sleepers.put_in(j, key)
    awake, elsewhere, above = [], {}, 2.0
    for fall, distance, back in steps:
        above -= fall
        found, expected = woken(sleepers, above, distance), {j for j, key in keys.items() if key >= above}
        assert sorted(found) == sorted(expected)
        awake += found
        for j in found:
            del keys[j]
        for number, j in enumerate(awake[:back]):
            place, there = ((sleepers, keys), (other, elsewhere))[number % 2]
            there[j] = above - abs(float(rng.standard_normal()))
            place.put_in(j, there[j])
        del awake[:back]
        assert (held_by(sleepers), held_by(other)) == (keys, elsewhere)
        assert sleepers.count_asleep() == len(keys)
        check_chunks(sleepers, other)


def test_keys_of_no_number_or_no_size():
    """inf and what is no number wake first; −inf sleeps until all wake."""
    (sleepers,), awake = sharing(4, 1), DrawList.of(4)
    for j, key in enumerate((-math.inf, math.inf, math.nan, 1.0)):
        sleepers.put_in(j, key)
    assert sorted(woken(sleepers, 2.0, 1.0)) == [1, 2]
    assert woken(sleepers, -1e300, 1.0) == [3]
    assert woken(sleepers, -1e308, math.inf) == []
    sleepers.wake_all(awake)
    assert listed_in(awake) == [0]
    assert sleepers.count_asleep() == 0


def test_looks_are_paid_for():
    """Distances that shrink by thousands make levels too long: they are arranged anew, and looks stay few."""
    n, rng = 8000, np.random.default_rng(0)
    (sleepers,), keys = sharing(n, 1), -rng.random(n)
    for j in range(n):
        sleepers.put_in(j, keys[j])
    looks, above, count = 0, 0.0, len(woken(sleepers, 0.0, 0.2))
    while above > -0.2:
        above -= 5e-4
        looks += sleepers.number[np.flatnonzero(sleepers.edge <= above)[0]]
        count += len(woken(sleepers, above, 5e-4))
    assert count == np.sum(keys >= above)
    assert looks < 2 * (LOOKS_A_WAKING * count + n)


def test_those_wake_early_whose_turn_will_come_soon():
    """The threshold falls by one in two steps: by ten while an eighth of 162 in the list are drawn, if that goes on."""
    (sleepers,), awake = sharing(400, 1), DrawList.of(400)
    for j in range(400):
        sleepers.put_in(j, -float(j))
    sleepers.wake_early(-159.5, 100, awake)
    assert len(listed_in(awake)) == 160
    sleepers.wake_early(-160.5, 102, awake)  # so far it has fallen by one
    assert sorted(listed_in(awake)) == list(range(162))
    sleepers.wake_early(-180.5, 142, awake)
    assert sorted(listed_in(awake)) == list(range(191))
    assert sleepers.real.tolist() == [-190.625, -180.5]


@pytest.mark.parametrize("oracle", ["norm", "reference"])
@pytest.mark.parametrize("steepness", ["gs-s", "gsl-s"])
def test_draws_in_vain_end(steepness, oracle):
    """A list of those that cannot move: it is gone through, and any coordinate is picked."""
    rng = np.random.default_rng(5)
    A = sp.random(30, 60, 0.3, format="csc", random_state=5)
    lazy = assemble(ascd.Problem(A, rng.standard_normal(30), penalty=ascd.L1(1e3)), "a-ascd", oracle, steepness)
    watch(lazy, 5)
    rule, asleep = lazy.rule, lazy.rule.asleep
    places = [asleep.holder] if oracle == "norm" else [asleep.room_of(which) for which in range(CLOCKS)]
    for each in places:
        each.wake_all(rule.awake)
    assert sorted(listed_in(rule.awake)) == list(range(60))  # though nobody belongs to the set
    rule.awake.state[LAST_PICK], rule.awake.state[ITS_PLACE] = rule.awake.members[3], 3
    picks = watch(lazy, 40)
    assert rule.awake.state[LIST_SIZE] == 0
    assert sum(each.count_asleep() for each in places) == 60
    assert len(set(picks)) > DRAWS_IN_VAIN


@pytest.mark.parametrize("n", [1, CHUNK - 1, CHUNK, 5 * CHUNK - 1, 5 * CHUNK])
def test_there_is_room_for_all(n):
    """Also while all of them go from one level to others, and there from level to level."""
    one, other = sharing(n, 2)
    for j in range(n):
        (one, other)[j % 3 % 2].put_in(j, -float(j))
    for above in np.linspace(1.0, -n, 40):
        for each in (one, other):
            assert woken(each, 1.0 + n, 4.0 ** (-above % 7)) == []
            each.arrange_anew(1.0 + n, 4.0 ** (above % 7), DrawList.of(1))
            check_chunks(one, other)
    assert one.count_asleep() + other.count_asleep() == n


def test_all_is_forgotten():
    rooms = Rooms.of(500, 2)
    one, other = rooms.room_of(0), rooms.room_of(1)
    for j in range(500):
        (one, other)[j % 2].put_in(j, float(j))
    woken(one, 250.0, 3.0)
    rooms.forget_all()
    assert held_by(one) == held_by(other) == {}
    check_chunks(one, other)
