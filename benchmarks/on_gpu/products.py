"""Products of many columns, exact and short: seconds of each, and how far the short ones are off."""

from __future__ import annotations

import numpy as np

from ascd.matrix.device.gram import Short, Wide, multiply
from on_gpu.places import design, seconds_of


def compare(place, X, count):
    """Seconds of both, the largest difference of short products from exact ones as a share of the diagonal."""
    source = design(X)
    columns, ones = np.arange(0, X.shape[1], max(1, X.shape[1] // count))[:count], np.ones(X.shape[0])
    lengths = np.ones(X.shape[1])
    lengths[columns] = np.sqrt(source.squares(ones, columns) / X.shape[0])
    exact, wide = seconds_of(place, lambda: multiply(Wide(source, columns, ones, None)), 2)
    scale = np.outer(lengths[columns], lengths[columns])[:200, :200]
    expected = wide[:200, :200].get() / scale
    del wide
    short, found = seconds_of(place, lambda: multiply(Short(source, columns, ones, None, lengths)), 2)
    away = np.abs(found[:200, :200].get() - expected).max() / X.shape[0]
    return exact, short, float(away)
