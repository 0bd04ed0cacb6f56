"""Predictions for data on a device: computed by the design there, and given back on the device of X."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd.matrix.device.arrays import space_of
from ascd.matrix.device.sparse import is_sparse_on_device, is_there


def back(values: Any, X: Any) -> Any:
    """Host values on the device of X; as they are where X is on the host, or where they are text."""
    if not is_there(X) or np.asarray(values).dtype.kind not in "fiub":
        return values
    space = space_of(X.data if is_sparse_on_device(X) else X)
    with space.here():
        return space.put(np.ascontiguousarray(values))
