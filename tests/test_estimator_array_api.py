"""Array API input with scikit-learn's dispatch on: SciPy reads its switch at import, so the checks have a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn
from estimators import EVERY

from ascd import estimators as ours

HERE = Path(__file__).parent


def test_every_estimator_takes_arrays_of_another_namespace():
    pytest.importorskip("array_api_strict")
    search = os.pathsep.join([str(HERE), *filter(None, sys.path)])
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": search}
    command = [sys.executable, str(HERE / "array_api_checks.py")]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == " ".join(f"passed {name}" for name in EVERY).split()


def test_the_tag_says_so():
    assert ours.Lasso().__sklearn_tags__().array_api_support == hasattr(
        sklearn.utils._array_api, "check_same_namespace"
    )


def test_arrays_with_a_conversion_of_their_own_need_no_dispatch():
    strict = pytest.importorskip("array_api_strict")
    X = np.random.default_rng(0).standard_normal((20, 3))
    model = ours.Ridge().fit(strict.asarray(X), strict.asarray(2.0 * X[:, 0]))
    assert isinstance(model.coef_, np.ndarray)
    np.testing.assert_array_equal(model.coef_, ours.Ridge().fit(X, 2.0 * X[:, 0]).coef_)
