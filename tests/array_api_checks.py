"""scikit-learn's checks of array API input, for every estimator; run in a process with SCIPY_ARRAY_API=1.

The namespace is array_api_strict, on two of its devices; a check that fails ends the process with an error.
"""

from __future__ import annotations

import sys
import warnings

import array_api_strict as xp
import numpy as np
import sklearn
from estimators import EVERY, make_data, target_of
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import estimator_checks

from ascd import estimators as ours

DATA = make_data(40, 6)
#: Rounded to float32, dependent columns of scikit-learn's checks ask these for coefficients of 1e6.
BADLY_ROUNDED = ("NNLS",)


def scikit_learns_checks(name: str) -> None:
    model = EVERY[name]()
    if name in BADLY_ROUNDED:
        model.set_params(max_iter=100)  # enough in float64, where values are compared
    known = type(model).__name__
    how = {"array_namespace": "array_api_strict", "check_sample_weight": True}
    estimator_checks.check_array_api_input(known, model, device_name="CPU_DEVICE", dtype_name="float32", **how)
    how |= {"device_name": "device1", "check_values": True}
    estimator_checks.check_array_api_input(known, model, dtype_name="float64", **how)
    estimator_checks.check_array_api_same_namespace(known, model, "array_api_strict", "device1")


def same_answer(name: str) -> None:
    """The coefficients are those for NumPy's arrays, in X's namespace, device and type; predictions too."""
    y = target_of(name, DATA)
    for dtype in (np.float64, np.float32):
        X = DATA.X.astype(dtype)
        expected = EVERY[name]().fit(X, y, sample_weight=DATA.weight)
        device = xp.Device("device1")
        given = [xp.asarray(values, device=device) for values in (X, y, DATA.weight)]
        with sklearn.config_context(array_api_dispatch=True):
            model = EVERY[name]().fit(*given)
            found = [model.coef_, model.intercept_, model.predict(given[0])]
            score = model.score(given[0], given[1])
        for array, wanted in zip(found, (expected.coef_, expected.intercept_, expected.predict(X)), strict=True):
            if isinstance(wanted, float) and not model.fit_intercept:
                assert array == wanted == 0.0
                continue
            assert isinstance(array, type(given[0])), (name, type(array))
            assert array.device == device
            values = np.asarray(xp.asarray(array, device=xp.Device("CPU_DEVICE")))
            assert values.dtype == np.asarray(wanted).dtype, (name, values.dtype)
            np.testing.assert_allclose(values, wanted, rtol=1e-5, atol=1e-7)
        assert abs(score - expected.score(X, y)) < 1e-5


def warm_start() -> None:
    X, y = xp.asarray(DATA.X), xp.asarray(DATA.y)
    with sklearn.config_context(array_api_dispatch=True):
        model = ours.Lasso(0.1, warm_start=True).fit(X, y)
        first = model.coef_
        assert model.fit(X, y).n_iter_ == 1
        assert float(xp.max(xp.abs(model.coef_ - first))) < 1e-6
        assert model.sparse_coef_.shape == (1, 6)


if __name__ == "__main__":
    warnings.simplefilter("error")
    for estimator in EVERY:
        with warnings.catch_warnings():
            if estimator in BADLY_ROUNDED:
                warnings.simplefilter("ignore", ConvergenceWarning)
            scikit_learns_checks(estimator)
        same_answer(estimator)
        print("passed", estimator)
    warm_start()
    sys.exit(0)
