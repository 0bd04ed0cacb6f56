"""The heap, the queue and the sorts behind lazy selection keep their order under any changes of keys."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lockstep import assemble
from problems import CASES
from selection import bounds_of, watch

from ascd.engine.rules.ascd import sort_decreasing
from ascd.engine.rules.heap import Heap
from ascd.engine.rules.order import put_largest_first
from ascd.engine.rules.queue import Queue
from ascd.engine.rules.scan import pick_at_least
from ascd.engine.steepness import STEEPNESS
from ascd.engine.tuning import CHILDREN, FRONT, LEVEL_GROWTH, PICK_BLOCK

pytestmark = pytest.mark.usefixtures("interpreted", "lazy_everywhere")

#: few values, so that many are equal, and all kinds that a bound can take
KEYS = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e6, 1e6), st.just(math.inf))
LISTS = st.lists(KEYS, min_size=1, max_size=40)
CHANGES = st.lists(st.tuples(st.integers(0, 10**6), KEYS), max_size=40)


def check_inverse(order, place):
    assert np.array_equal(order[place], np.arange(order.size))
    assert np.array_equal(place[order], np.arange(order.size))


# ------------------------------------------------------------------------------------------- heap


def check_heap(heap):
    check_inverse(heap.order, heap.place)
    assert np.array_equal(np.sort(heap.order), np.arange(heap.order.size))
    child = np.arange(1, heap.key.size)
    assert np.all(heap.key[(child - 1) // CHILDREN] >= heap.key[child])
    assert heap.key[0] == heap.key.max()


def arranged(keys):
    heap = Heap.of(len(keys))
    heap.key[:] = keys
    heap.arrange()
    return heap


@settings(max_examples=100, deadline=None)
@given(LISTS, CHANGES)
def test_heap_keeps_its_order(keys, changes):
    heap, keys = arranged(keys), np.array(keys)
    for j, value in changes:
        j %= keys.size
        keys[j] = value
        if j == heap.order[0]:
            heap.replace_top(value)
        else:
            heap.settle(j, value)
        check_heap(heap)
        np.testing.assert_array_equal(heap.key, keys[heap.order])


@settings(max_examples=100, deadline=None)
@given(LISTS)
def test_heap_is_arranged(keys):
    heap = arranged(keys)
    check_heap(heap)
    np.testing.assert_array_equal(heap.key, np.array(keys)[heap.order])


# ------------------------------------------------------------------------------------------ queue


def check_queue(queue, keys):
    """It holds these coordinates with these keys, the largest on top; levels keep their edges."""
    size = queue.queued()
    assert size == len(keys)
    assert {int(j): queue.key[position] for position, j in enumerate(queue.order[:size])} == keys
    assert np.all(queue.edge[:-1] >= queue.edge[1:])
    assert queue.edge[-1] == -math.inf
    ends = np.concatenate([[0], queue.end])
    assert np.all(ends[:-1] <= ends[1:])
    for b, (first, last) in enumerate(pairwise(ends)):
        assert np.all(queue.key[first:last] >= queue.edge[b])
        assert b == 0 or np.all(queue.key[first:last] < queue.edge[b - 1])
    assert (queue.end[0] > 0) == (size > 0)
    child = np.arange(1, queue.end[0])
    assert np.all(queue.key[(child - 1) // CHILDREN] >= queue.key[child])
    if size > 0:
        assert queue.key[0] == max(keys.values())
    if queue.end[0] > 1:
        assert keys[queue.after_top()] == max(queue.key[1 : queue.end[0]])


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 1200), st.integers(0, 10**6), CHANGES)
def test_queue_keeps_its_order(n, seed, changes):
    """Keys of the top change; coordinates leave and come back."""
    rng = np.random.default_rng(seed)
    queue, outside = Queue.of(n), []
    queue.key[:] = np.round(rng.standard_normal(n), seed % 3)
    keys = dict(enumerate(queue.key.tolist()))
    queue.arrange()
    check_queue(queue, keys)
    for number, value in changes:
        top, what = int(queue.order[0]), number % 4
        if what == 0 and outside:
            j = outside.pop()
            queue.put_in(j, value)
            keys[j] = value
        elif what == 1 and keys:
            queue.drop_top()
            outside.append(top)
            del keys[top]
        elif keys:
            queue.replace_top(value)
            keys[top] = value
        check_queue(queue, keys)


@pytest.mark.parametrize("n", [1, 2, FRONT, FRONT + 1, 3000])
def test_queue_gives_all_out_in_order(n):
    keys = np.round(np.random.default_rng(n).standard_normal(n), 3)
    queue, found = Queue.of(n), []
    queue.key[:] = keys
    queue.arrange()
    while queue.queued() > 0:
        found.append(queue.order[0])
        queue.drop_top()
    assert sorted(found) == list(range(n))
    np.testing.assert_array_equal(keys[found], np.sort(keys)[::-1])


def test_queue_keeps_a_short_heap():
    """While keys become small one after the other, as those of visited coordinates do."""
    n = 3000
    queue, sizes = Queue.of(n), []
    queue.key[:] = np.random.default_rng(0).standard_normal(n)
    queue.arrange()
    for t in range(2 * n):
        queue.replace_top(-4.0 - 1e-3 * t)
        sizes.append(queue.end[0])
    assert np.mean(sizes) < 2 * FRONT
    assert max(sizes) < LEVEL_GROWTH**2 * FRONT


@pytest.mark.parametrize("n", [5, 500])
def test_queue_lives_with_keys_that_are_no_numbers(n):
    queue = Queue.of(n)
    queue.key[:] = np.where(np.arange(n) % 2, math.nan, 1.0)
    queue.arrange()
    for t in range(2 * n):
        queue.replace_top((math.nan, -math.inf, 0.5)[t % 3])
        assert sorted(queue.order) == list(range(n))
    left = n
    while queue.queued() > 0:
        queue.drop_top()
        left -= 1
    assert left == 0


# ------------------------------------------------------------------------------------------ sorting


@settings(max_examples=100, deadline=None)
@given(LISTS, st.integers(0, 10**6), st.integers(0, 10**6))
def test_largest_come_first(keys, size, count):
    size = 1 + size % len(keys)
    count = 1 + count % size
    key, order = np.array(keys), np.random.default_rng(size).permutation(len(keys)).astype(np.int32)
    before = order.copy()
    put_largest_first(order, key, size, count)
    assert sorted(order[:size]) == sorted(before[:size])
    assert np.array_equal(order[size:], before[size:])
    np.testing.assert_array_equal(np.sort(key[order[:count]]), np.sort(key[before[:size]])[size - count :])


@settings(max_examples=100, deadline=None)
@given(LISTS, st.integers(0, 10**6))
def test_members_are_sorted_by_decreasing_key(keys, count):
    count %= len(keys) + 1
    key, members = np.array(keys), np.random.default_rng(count).permutation(len(keys)).astype(np.int32)
    before = members.copy()
    sort_decreasing(members, count, key)
    assert sorted(members[:count]) == sorted(before[:count])
    assert np.array_equal(members[count:], before[count:])
    np.testing.assert_array_equal(key[members[:count]], np.sort(key[before[:count]])[::-1])


# ------------------------------------------------------------------------------------------ lazy tops


def check_top(lazy, point):
    """The top has the largest of all bounds, evaluated afresh, up to the rounding of its key."""
    values, found = bounds_of(point)[lazy.which], lazy.largest_bound(point.intervals)
    rounding = 1e-12 * abs(lazy.drift[0]) * point.intervals.lengths[0]
    top = values[lazy.holder.order[0]]
    assert max(found, 0.0) == top or (lazy.is_static and abs(max(found, 0.0) - top) <= rounding)
    assert found == values.max() or max(found, 0.0) >= (1.0 - 1e-12) * values.max() - rounding
    if lazy.which == 0:
        check_heap(lazy.holder)
    else:
        assert sorted(lazy.holder.order) == list(range(point.x.size))


FIELDS = {"u-ascd": "ceiling", "l-ascd": "floor", "a-ascd": "floor"}


@pytest.mark.parametrize("steepness", STEEPNESS)
@pytest.mark.parametrize("rule", FIELDS)
def test_lazy_top_is_the_largest_bound(rule, steepness):
    """Every two of rule, steepness and problem meet: each pair of the first two has a third of the problems."""
    turn = list(FIELDS).index(rule) + list(STEEPNESS).index(steepness)
    for seed, case in list(enumerate(CASES.values()))[turn % 3 :: 3]:
        if STEEPNESS[steepness][2] and not case.is_smooth:
            continue
        init = ("gradient", "none")[seed % 2]
        assembly = assemble(case.library("sparse"), rule, steepness=steepness, init=init, x0=case.x0, seed=seed)
        lazy = getattr(assembly.rule, FIELDS[rule])
        watch(assembly, 25, lambda point, pick, lazy=lazy: check_top(lazy, point))


# ------------------------------------------------------------------------------------- uniform picks


class Ticket:
    """A generator that draws one given number."""

    def __init__(self, number):
        self.number = number

    def random(self):
        return self.number


@pytest.mark.parametrize("size", [1, PICK_BLOCK, PICK_BLOCK + 1, 3 * PICK_BLOCK + 7])
def test_every_member_has_the_same_chance(size):
    values = np.random.default_rng(size).integers(0, 3, size).astype(float)
    members = np.flatnonzero(values >= values.max())
    tickets = (np.arange(members.size) + 0.5) / members.size
    assert [pick_at_least(values, values.max(), Ticket(number)) for number in tickets] == members.tolist()


@pytest.mark.parametrize("threshold", [2.0, math.nan])
def test_where_no_value_reaches_the_threshold_any_coordinate_is_picked(threshold):
    values = np.ones(PICK_BLOCK + 4)
    assert [pick_at_least(values, threshold, Ticket(number)) for number in (0.0, 0.5, 0.999)] == [0, 130, 259]
