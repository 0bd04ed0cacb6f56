"""Predictions for data on a device: computed by the design there, and given back on the device of X."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._base.devices import is_on_device
from ascd.data.device.spaces import space_of


def back(values: Any, X: Any) -> Any:
    """Host values on the device of X; as they are where X is on the host, or where they are text."""
    if not is_on_device(X) or np.asarray(values).dtype.kind not in "fiub":
        return values
    space = space_of(X)
    with space.here():
        return space.put(np.ascontiguousarray(values))
