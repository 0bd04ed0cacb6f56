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


def test_fitted_there_and_used_here():
    data = make_data(40, 6)
    model, expected = ours.Lasso(0.1).fit(on_gpu(data.X), on_gpu(data.y)), ours.Lasso(0.1).fit(data.X, data.y)
    np.testing.assert_allclose(model.predict(data.X), expected.predict(data.X), atol=1e-4)
    assert model.score(data.X, on_gpu(data.y)) == pytest.approx(expected.score(data.X, data.y), abs=1e-4)
    assert expected.score(data.X, on_gpu(data.y)) == expected.score(data.X, data.y)
    odds = ours.LogisticRegression().fit(on_gpu(data.X), data.labels).predict_proba(data.X)
    np.testing.assert_allclose(
        odds, ours.LogisticRegression().fit(data.X, data.labels).predict_proba(data.X), atol=1e-3
    )
    with pytest.raises(ValueError, match="X must be two-dimensional"):
        model.predict(on_gpu(data.y))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", EVERY)
def test_every_estimator(name, dtype):
    data = make_data(30, 4)
    check_estimator(EVERY[name], on_gpu, to_host, dtype, (data.X, target_of(name, data), data.weight))


def test_duals_of_vector_machines_are_refused():
    data = make_data(40, 6)
    with pytest.raises(ValueError, match="must be in memory"):
        ours.LinearSVC(loss="hinge").fit(on_gpu(data.X), data.labels)
