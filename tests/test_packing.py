"""Arrays in fewer bytes while they travel: what arrives is what was sent, to the last bit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from ascd.matrix.dask_cluster import Coded, bytes_of, packed, unpacked
from ascd.matrix.requests import shortest

RNG = np.random.default_rng(0)
LABELS = np.where(RNG.random(3000) < 0.5, -1.0, 1.0)
STRANGE = np.where(LABELS > 0.0, -0.0, 0.0)
STRANGE[7] = np.nan


class Pair(NamedTuple):
    first: Any
    second: Any


@pytest.mark.parametrize(
    ("array", "bytes_a_number"),
    [
        (LABELS, 1),
        (np.array([LABELS, 0.25 * LABELS + 0.1]), 1),
        (np.array([LABELS, LABELS])[:, 1::2], 1),
        (RNG.standard_normal(3000), 8),
        (np.where(np.arange(3000) == 1, 0.3, LABELS), 8),  # one value that the first look does not see
        (LABELS[:10], 8),
        (np.arange(3000), 4),
        (np.array([0, 2**40]), 8),
        (np.empty(0), 8),
    ],
)
def test_arrays_come_back_as_they_were(array, bytes_a_number):
    small = packed(array, {})
    assert bytes_of(small) <= array.size * bytes_a_number + (128 if isinstance(small, Coded) else 0)
    found = unpacked(small)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def test_codes_tell_zeros_and_nans_apart_by_their_bits():
    STRANGE[::3] = np.nan
    found = unpacked(packed(STRANGE, {}))
    np.testing.assert_array_equal(found.view(np.int64), STRANGE.view(np.int64))


def test_named_tuples_are_packed_inside_and_an_array_once():
    known: dict[int, Any] = {}
    small = packed(Pair(LABELS, Pair(2.0, LABELS)), known)
    assert small.first is small.second.second
    found = unpacked(small)
    assert isinstance(found, Pair)
    assert found.second.first == 2.0
    np.testing.assert_array_equal(found.second.second, LABELS)


@pytest.mark.parametrize(("largest", "dtype"), [(0, np.uint8), (255, np.uint8), (256, np.uint16), (2**20, np.uint32)])
def test_counts_are_as_short_as_the_largest_allows(largest, dtype):
    found = shortest(np.array([0, largest]))
    assert found.dtype == dtype
    assert found.tolist() == [0, largest]
