"""Estimators on data on a GPU (NumPy in the place of CuPy): all of them, their options, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from cupy_stand_in import on_gpu
from device_checks import check_estimator
from estimators import EVERY, make_data, target_of

from ascd import estimators as ours
from ascd._core.devices import to_host

pytestmark = pytest.mark.usefixtures("without_gpu")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", EVERY)
def test_every_estimator(name, dtype):
    data = make_data(30, 4)
    check_estimator(EVERY[name], on_gpu, to_host, dtype, (data.X, target_of(name, data), data.weight))


def test_duals_of_vector_machines_are_refused():
    data = make_data(40, 6)
    with pytest.raises(ValueError, match="must be in memory"):
        ours.LinearSVC(loss="hinge").fit(on_gpu(data.X), data.labels)
