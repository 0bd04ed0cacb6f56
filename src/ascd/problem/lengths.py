"""Lengths of vectors, also where squares leave the range of float64 and the length does not.

    ‖x‖ = m·‖x/m‖,      m = max|x_i|

in NumPy, and one hypot after the other in compiled code: a compiler may square before it divides, but keeps calls.

With soft(u) the entries of u beyond ±threshold (those above it, where only coefficients that are not negative are
allowed).  Products of 10⁻¹⁷⁰ have squares that are 0: a gradient of that size would look like none at all, and prove
anything.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel
from ascd.problem.tuning import LEAST_SUM_OF_SQUARES, MOST_SUM_OF_SQUARES


@helper
def keeps_digits(square: float, most: float) -> bool:
    """Is the sum of squares one of float64's ordinary numbers, or the largest entry none to mend it with?"""
    return LEAST_SUM_OF_SQUARES < square < MOST_SUM_OF_SQUARES or not 0.0 < most < math.inf


@helper
def length_of(vector: Array) -> float:
    """‖vector‖."""
    square, most = 0.0, 0.0
    for i in range(vector.size):
        square += vector[i] * vector[i]
        most = max(most, abs(vector[i]))
    if keeps_digits(square, most):
        return math.sqrt(square)
    length = 0.0
    for i in range(vector.size):
        length = math.hypot(length, vector[i])
    return length


@helper
def distance_between(one: Array, other: Array) -> float:
    """‖one − other‖."""
    square, most = 0.0, 0.0
    for i in range(one.size):
        change = one[i] - other[i]
        square += change * change
        most = max(most, abs(change))
    if keeps_digits(square, most):
        return math.sqrt(square)
    length = 0.0
    for i in range(one.size):
        length = math.hypot(length, one[i] - other[i])
    return length


@helper
def beyond(u: float, threshold: float, positive: bool) -> float:
    """soft(u): what of u the L1 part (and the bound at 0) does not hold."""
    if u > threshold:
        return u - threshold
    return u + threshold if u < -threshold and not positive else 0.0


@helper
def length_beyond(u: Array, scale: float, threshold: float, positive: bool) -> float:
    """‖soft(scale·u)‖."""
    total, most = 0.0, 0.0
    for i in range(u.size):
        part = beyond(scale * u[i], threshold, positive)
        total += part * part
        most = max(most, abs(part))
    if keeps_digits(total, most):
        return math.sqrt(total)
    length = 0.0
    for i in range(u.size):
        length = math.hypot(length, beyond(scale * u[i], threshold, positive))
    return length


@helper
def away_at(x: float, g: float, length: float, group: float, l1: float, ridge: float, positive: bool) -> float:
    """Return the distance of −g from the derivative in one coefficient of a block of this length; at 0, beyond ±l1."""
    if x != 0.0:
        return g + group * (x / length) + ridge * x + math.copysign(l1, x)
    return beyond(-g, l1, positive)


@helper
def largest_entry(u: Array, scale: float, positive: bool) -> float:
    most = 0.0
    for i in range(u.size):
        most = max(most, scale * u[i] if positive else abs(scale * u[i]))
    return most


def norm(values: Any) -> float:
    """‖values‖, of an array of any shape."""
    flat = np.ravel(values)
    square, most = squares_of_rest(flat, 0.0, flat)
    if keeps_digits(square, most):
        return math.sqrt(square)
    return most * float(np.linalg.norm(flat / most)) if most < math.inf else most


def distance_from_multiple(values: Array, factor: float, other: Array) -> float:
    """‖values − factor·other‖."""
    square, most = squares_of_rest(values.ravel(), factor, other.ravel())
    return math.sqrt(square) if keeps_digits(square, most) else norm(values - factor * other)


@kernel
def squares_of_rest(values: Array, factor: float, other: Array) -> tuple[float, float]:
    """Σ (values − factor·other)², and the largest of these entries."""
    square, most = 0.0, 0.0
    for i in range(values.size):
        rest = values[i] - factor * other[i]
        square += rest * rest
        most = max(most, abs(rest))
    return square, most


def row_lengths(values: Array) -> Array:
    """The lengths of the rows; what is 10⁻¹⁵⁰ of the largest counts as 0."""
    most = float(np.abs(values).max(initial=0.0))
    lengths: Array = np.linalg.norm(values if not 0.0 < most < math.inf else values / most, axis=1)
    return lengths * most if 0.0 < most < math.inf else lengths


def lengths_of_blocks(values: Array, starts: Array) -> Array:
    """The lengths of blocks of rows; what is 10⁻¹⁵⁰ of the largest entry counts as 0."""
    most = float(np.abs(values).max(initial=0.0))
    unit = most if 0.0 < most < math.inf else 1.0
    lengths: Array = unit * np.sqrt(np.add.reduceat(((values / unit) ** 2).sum(axis=1), starts[:-1]))
    return lengths
