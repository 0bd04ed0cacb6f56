"""A device on a machine without one: that of array_api_strict, whose arrays NumPy does not read."""

from __future__ import annotations

import numpy as np
import pytest

strict = pytest.importorskip("array_api_strict")
DEVICE = strict.Device("device1")


def on_device(values):
    return strict.asarray(np.asarray(values), device=DEVICE)
