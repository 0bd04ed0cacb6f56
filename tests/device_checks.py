"""What is held of data on a device, whatever the device is: ``put`` brings a NumPy array there.

The ordinary tests run these with NumPy in the place of CuPy; ``tests/gpu`` with CuPy and torch on a GPU.
"""

from __future__ import annotations

import numpy as np
from matrix_answers import check_answers

import ascd
from ascd.matrix.device.matrices import DeviceDense

#: Sizes that fill no tile and no vector of a kernel, and ones that fill them.
SHAPES = ((41, 23), (2100, 36), (64, 1200))


def design_of(array):
    """The array as a matrix where it is."""
    return DeviceDense(array)


def as_read(A, dtype):
    """The numbers that are read of A where it is stored with this type."""
    return A.astype(dtype).astype(np.float64)


def check_device(put, dtype, order, shape):
    """Every method gives what NumPy gives."""
    rng = np.random.default_rng(shape[0])
    A = np.round(8.0 * rng.standard_normal(shape)) if np.dtype(dtype).kind in "iu" else rng.standard_normal(shape)
    A = np.abs(A) if np.dtype(dtype).kind == "u" else A
    design, A = design_of(put(np.asarray(A, dtype=dtype, order=order))), as_read(A, dtype)
    for columns in (np.array([5, 0, 17, 3]), rng.permutation(shape[1])[: max(2, shape[1] // 2)]):
        check_answers(design, A, columns, close=1e-11)


def check_case(case, put, dtype, intercept):
    """The objective is the host's, and the certificate is true of the numbers that were stored."""
    A = as_read(case.A, dtype)
    known = (case.b, case.loss, case.penalty, case.sample_weight)
    on_host = ascd.Problem(A, *known)
    expected = ascd.solve(on_host, tol=1e-12, intercept=intercept)
    found = ascd.solve(
        ascd.Problem(design_of(put(np.asarray(case.A, dtype=dtype))), *known), 1e-10, intercept=intercept
    )
    assert found.status == expected.status or found.converged
    scale = max(abs(expected.zero_objective), abs(expected.objective), 1e-12)
    assert abs(found.objective - expected.objective) <= 1e-9 * scale
    if not intercept:
        image, slope = on_host.evaluate(found.x)[1:]
        assert image.shape == slope.shape
        assert abs(on_host.objective(found.x) - found.objective) <= 1e-12 * scale
    if found.converged:  # no point is below the objective by more than the gap
        assert expected.objective >= found.objective - found.gap - 1e-12 * scale


def check_estimator(make, put, fetch, dtype, data):
    """Coefficients and predictions are the host's, on the device of X."""
    X, y, weight = data
    X = np.asarray(X, dtype=dtype)
    expected, given = make().set_params(tol=1e-10).fit(X, y, sample_weight=weight), put(X)
    model = make().set_params(tol=1e-10).fit(given, put(y) if np.asarray(y).dtype.kind in "fiub" else y, put(weight))
    for found in (model.coef_, model.predict(given)):
        assert type(found) is type(given)
        assert found.device == given.device
    assert fetch(model.coef_).dtype == expected.coef_.dtype
    tolerance = 1e-4 if dtype == np.float32 else 2e-5
    np.testing.assert_allclose(fetch(model.coef_), expected.coef_, rtol=tolerance, atol=tolerance)
    assert abs(model.score(given, put(y)) - expected.score(X, y)) < 1e-3
    assert model.certificate_.gap <= model.certificate_.tolerance
