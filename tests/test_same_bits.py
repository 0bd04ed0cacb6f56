"""The same call gives the same bits, wherever NumPy puts its arrays.

Compiled sums are reordered.  A loop that stores as well is compiled twice, in vectors and plain, and a comparison of
addresses decides which runs: two small arrays side by side in memory, or not, then mean other last bits.
"""

from __future__ import annotations

import numpy as np
import pytest

import ascd
from ascd.problem.losses import Sample
from ascd.problem.samples import evaluate_samples
from ascd.problem.terms import ByBlock, ByCoordinate, gap_of, measure

# ------------------------------------------------------------------------------------------- loops as they stand


# ------------------------------------------------------------------------------------------- kernels on near arrays

DISTANCES = (0, 2, 4, 8, 16, 64)


def placed(arrays, distance):
    """Copies of the arrays one after the other in one buffer, so many numbers apart."""
    buffer, found, first = np.zeros(sum(array.size for array in arrays) + distance * len(arrays) + 8), [], 0
    for array in arrays:
        found.append(buffer[first : first + array.size])
        found[-1][:] = array
        first += array.size + distance
    return found


def of_blocks(x, u, radius, room):
    penalty = ascd.Problem(np.eye(x.size), x, penalty=ascd.GroupL2(0.1, groups=x.size)).penalty
    parts, blocks = ByBlock(penalty, np.array([0, x.size]), room), np.array([0])
    measured = measure(parts, x, u, np.abs(radius[:1]), np.ones(1), blocks, np.zeros(1))
    return gap_of(parts, x, u, np.abs(radius[:1]), blocks, 0.7, True), measured


def of_coordinates(x, u, radius, _):
    parts = ByCoordinate(ascd.L1L2(0.1, 0.2).check(x.size))
    return gap_of(parts, x, u, np.abs(radius), np.arange(x.size), 0.7, True)


def of_samples(target, weight, predictor, gradient):
    curvature = np.empty(predictor.size)
    value = evaluate_samples(Sample(target, np.abs(weight)), ascd.Squared(), predictor, gradient, curvature, None)[0]
    return value, gradient.tobytes()


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("call", [of_blocks, of_coordinates, of_samples])
@pytest.mark.parametrize("size", [3, 4, 5, 9, 15, 17, 31, 40])
def test_sums_do_not_depend_on_places(call, size):
    arrays = np.random.default_rng(size).standard_normal((4, size))
    orders = (arrays, arrays[::-1])
    first, *others = (
        call(*(placed(order, distance) if order is arrays else placed(order, distance)[::-1]))
        for order in orders
        for distance in DISTANCES
    )
    assert all(other == first for other in others)
