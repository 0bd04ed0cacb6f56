"""Products of many columns, exact and short: seconds of each, and how far the short ones are off."""

from __future__ import annotations

import numpy as np

from ascd.matrix.device.gram import SHORT, Weighted, multiply
from on_gpu.places import design, seconds_of


def compare(place, X, count):
    """Seconds of both, the largest difference of short products from exact ones as a share of the diagonal."""
    source = design(X)
    columns, ones = np.arange(0, X.shape[1], max(1, X.shape[1] // count))[:count], np.ones(X.shape[0])
    exact, expected = seconds_of(place, lambda: multiply(Weighted(source, columns, ones, None)), 2)
    expected = expected[:200, :200].get()
    short, found = seconds_of(place, lambda: multiply(Weighted(source, columns, ones, None, SHORT)), 2)
    size = np.sqrt(expected.diagonal())
    away = np.abs((found[:200, :200].get() - expected) / np.outer(size, size)).max()
    return exact, short, float(away)
