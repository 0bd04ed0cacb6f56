"""Draws from a list are uniform whoever leaves or comes in between, and who is drawn was foreseen."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import follows

from ascd.engine.rules.draw_list import ITS_PLACE, LAST_PICK, LIST_SIZE, DrawList

pytestmark = pytest.mark.usefixtures("interpreted")

#: Those who leave before a draw (at most all but one do), or come in.
CHANGES = st.lists(st.integers(-4, 2), min_size=2, max_size=5)


def list_of(size, room):
    awake = DrawList.of(room)
    awake.members[:] = np.arange(room)
    awake.state[LIST_SIZE] = size
    return awake


def sizes_after(size, changes):
    for change in changes:
        size = max(size + change, 1)
        yield size


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 8), CHANGES)
def test_every_draw_is_uniform_on_the_list_as_it_is_then(size, changes):
    rng, sizes = np.random.default_rng(0), list(sizes_after(size, changes))
    picks = np.empty((3000, len(sizes)), dtype=int)
    for run in picks:
        awake = list_of(size, 40)
        awake.draw_one(rng)
        for draw, now in enumerate(sizes):
            awake.state[LIST_SIZE] = now
            run[draw] = awake.draw_one(rng)
    for draw, now in enumerate(sizes):
        assert follows(picks[:, draw], np.full(now, 1.0 / now))
    for one, other in combinations(range(len(sizes)), 2):  # and independent of the others
        both = picks[:, one] * sizes[other] + picks[:, other]
        assert follows(both, np.full(sizes[one] * sizes[other], 1.0 / (sizes[one] * sizes[other])))


@settings(max_examples=40, deadline=None)
@given(st.integers(5, 60), st.integers(0, 10**6))
def test_the_next_two_are_foreseen_also_where_those_drawn_leave(size, seed):
    rng, awake = np.random.default_rng(seed), list_of(size, size)
    awake.draw_one(rng)
    while awake.state[LIST_SIZE] > 1:
        first, second = awake.places.tolist()
        awake.remove_at(awake.state[ITS_PLACE])
        foreseen, left = int(awake.members[first]), int(awake.state[LIST_SIZE])
        pick = awake.draw_one(rng)
        assert pick == awake.state[LAST_PICK] == awake.members[awake.state[ITS_PLACE]]
        assert awake.state[ITS_PLACE] < left
        assert awake.places[0] == second
        if first < left:
            assert pick == foreseen
