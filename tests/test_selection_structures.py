"""The heap, the buckets and the sorts behind lazy selection keep their order under any changes of keys."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lockstep import assemble
from problems import CASES
from selection import bounds_of, watch

from ascd.engine.rules.ascd import sort_decreasing
from ascd.engine.rules.buckets import Buckets, put_largest_first
from ascd.engine.rules.heap import Heap
from ascd.engine.rules.scan import pick_at_least
from ascd.engine.steepness import STEEPNESS
from ascd.engine.tuning import BUCKET_GROWTH, CHILDREN, PICK_BLOCK

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
    if heap.place.size:
        check_inverse(heap.order, heap.place)
    assert np.array_equal(np.sort(heap.order), np.arange(heap.order.size))
    child = np.arange(1, heap.key.size)
    assert np.all(heap.key[(child - 1) // CHILDREN] >= heap.key[child])
    assert heap.key[0] == heap.key.max()


def arranged(keys, tracked):
    heap = Heap.of(len(keys), tracked)
    heap.key[:] = keys
    heap.arrange()
    return heap


@settings(max_examples=100, deadline=None)
@given(LISTS, CHANGES, st.booleans())
def test_heap_keeps_its_order(keys, changes, tracked):
    """Keys of any coordinate change, or where places are not tracked the top's alone."""
    heap, keys = arranged(keys, tracked), np.array(keys)
    for j, value in changes:
        j = j % keys.size if tracked else heap.order[0]
        keys[j] = value
        if tracked and j != heap.order[0]:
            heap.settle(j, value)
        else:
            heap.replace_top(value)
        check_heap(heap)
        np.testing.assert_array_equal(heap.key, keys[heap.order])


@settings(max_examples=100, deadline=None)
@given(LISTS, st.booleans())
def test_heap_is_arranged(keys, tracked):
    heap = arranged(keys, tracked)
    check_heap(heap)
    np.testing.assert_array_equal(heap.key, np.array(keys)[heap.order])


# ---------------------------------------------------------------------------------------- buckets


def check_buckets(buckets):
    """The permutation, the edges, and what selection needs: the prefix above a threshold."""
    check_inverse(buckets.order, buckets.place)
    assert buckets.edge[-1] == -math.inf
    assert buckets.end[-1] == buckets.key.size
    assert np.all(buckets.edge[:-1] >= buckets.edge[1:])
    starts = np.concatenate([[0], buckets.end[:-1]])
    assert np.all(starts <= buckets.end)
    ceilings = np.concatenate([[math.inf], buckets.edge[:-1]])
    for first, last, floor, ceiling in zip(starts, buckets.end, buckets.edge, ceilings, strict=True):
        inside = buckets.key[buckets.order[first:last]]
        assert np.all((inside >= floor) & (inside <= ceiling))
    for threshold in {*buckets.key, *(0.5 + buckets.key), *(buckets.key - 0.5)}:
        prefix = buckets.order[: buckets.end[buckets.bucket_of(threshold)]]
        assert set(np.flatnonzero(buckets.key >= threshold)) <= set(prefix)


def filled(keys):
    buckets = Buckets.of(len(keys))
    buckets.key[:] = keys
    buckets.distribute()
    return buckets


@settings(max_examples=100, deadline=None)
@given(LISTS)
def test_buckets_grow_geometrically(keys):
    buckets = filled(keys)
    check_buckets(buckets)
    assert buckets.end[0] == 1
    assert np.all(buckets.end[:-1] == np.ceil(buckets.end[1:] / BUCKET_GROWTH))


@settings(max_examples=100, deadline=None)
@given(LISTS, CHANGES)
def test_buckets_keep_their_edges_when_keys_change(keys, changes):
    buckets = filled(keys)
    for j, value in changes:
        buckets.rekey(j % len(keys), value)
        assert buckets.key[j % len(keys)] == value
        check_buckets(buckets)
    buckets.distribute()
    check_buckets(buckets)


@pytest.mark.parametrize("n", [1, 2, 3, 64, 1000])
def test_prefix_is_not_much_longer_than_needed(n):
    keys = np.random.default_rng(n).permutation(n) + 0.5
    buckets = filled(keys)
    for above in range(1, n + 1):
        assert buckets.end[buckets.bucket_of(float(n - above))] <= BUCKET_GROWTH * above


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
    assert max(found, 0.0) == values[lazy.heap.order[0]]
    rounding = 1e-12 * abs(lazy.drift[0]) * point.intervals.clock[0]
    assert found == values.max() or max(found, 0.0) >= (1.0 - 1e-12) * values.max() - rounding
    check_heap(lazy.heap)


@pytest.mark.parametrize("steepness", STEEPNESS)
@pytest.mark.parametrize(("rule", "field"), [("u-ascd", "ceiling"), ("l-ascd", "floor"), ("a-ascd", "floor")])
def test_lazy_top_is_the_largest_bound(rule, field, steepness):
    for seed, case in enumerate(CASES.values()):
        if STEEPNESS[steepness][2] and not case.is_smooth:
            continue
        init = ("gradient", "none")[seed % 2]
        assembly = assemble(case.library("sparse"), rule, steepness=steepness, init=init, x0=case.x0, seed=seed)
        lazy = getattr(assembly.rule, field)
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
