"""The heap, the buckets and the sorts behind lazy selection keep their order under any changes of keys."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import CASES
from selection import bounds_of, equip, watch

from ascd.rules.ascd import sort_decreasing
from ascd.rules.buckets import Buckets, put_largest_first
from ascd.rules.heap import Heap
from ascd.steepness import STEEPNESS

pytestmark = pytest.mark.usefixtures("interpreted")

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
    ordered = heap.key[heap.order]
    child = np.arange(1, ordered.size)
    assert np.all(ordered[(child - 1) // 2] >= ordered[child])
    assert heap.key[heap.order[0]] == heap.key.max()


@settings(max_examples=100, deadline=None)
@given(LISTS, CHANGES)
def test_heap_keeps_its_order(keys, changes):
    heap = Heap.of(len(keys))
    heap.key[:] = keys
    heap.arrange()
    check_heap(heap)
    for j, value in changes:
        heap.key[j % len(keys)] = value
        heap.settle(j % len(keys))
        check_heap(heap)


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
def test_buckets_double_in_size(keys):
    buckets = filled(keys)
    check_buckets(buckets)
    assert buckets.end[0] == 1
    assert np.all(buckets.end[:-1] == (buckets.end[1:] + 1) // 2)


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
def test_prefix_is_at_most_twice_as_long_as_needed(n):
    keys = np.random.default_rng(n).permutation(n) + 0.5
    buckets = filled(keys)
    for above in range(1, n + 1):
        assert buckets.end[buckets.bucket_of(float(n - above))] <= 2 * above


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
    """The true top has the largest of all bounds, evaluated afresh, up to the rounding of its key."""
    values = bounds_of(point)[lazy.which]
    found = values[lazy.true_top(point.intervals)]
    assert found == values.max() or found >= values.max() - 1e-12 * (found + lazy.drift * point.intervals.clock[0])
    check_heap(lazy.heap)


@pytest.mark.parametrize("steepness", STEEPNESS)
@pytest.mark.parametrize(("rule", "field"), [("u-ascd", "ceiling"), ("l-ascd", "floor"), ("a-ascd", "floor")])
def test_true_top_is_the_largest_bound(rule, field, steepness):
    for seed, case in enumerate(CASES.values()):
        if STEEPNESS[steepness][2] and not case.is_smooth:
            continue
        init = ("gradient", "none")[seed % 2]
        assembly = equip(case.library("sparse"), rule, steepness=steepness, init=init, x0=case.x0, seed=seed)
        lazy = getattr(assembly.rule, field)
        watch(assembly, 25, lambda point, pick, lazy=lazy: check_top(lazy, point))
