"""Data on a device: what estimators do with X beside stating a problem, without bringing it to the host.

X stays where it is and as it is; targets, weights and coefficients travel.  Results come back on the device of X, with
scikit-learn's array API dispatch or without it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_n_features, validate_data

from ascd._base.checks import Array
from ascd._base.devices import is_on_device, to_host
from ascd.data.dense import Dense, LocalDense
from ascd.data.device.dense import DeviceDense, check_values
from ascd.data.device.spaces import space_of
from ascd.data.distant import Distant
from ascd.data.parted import InTurn, Parted
from ascd.data.storages import open_design

#: What ``validate_data`` is told of y.
OF_Y = ("multi_output", "y_numeric")


def read_on_device(estimator: Any, X: Any, y: Any, checks: dict[str, Any]) -> tuple[Any, Array]:
    """X after a look at its shape, and y as scikit-learn checks it, on the host."""
    check_values(X)
    _check_n_features(estimator, X, reset=True)
    vars(estimator).pop("feature_names_in_", None)
    target = validate_data(estimator, y=to_host(y), **{name: checks[name] for name in OF_Y if name in checks})
    if target.shape[0] != X.shape[0]:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {X.shape[0]}, y has {target.shape[0]}"
        )
    return X, target


def linear_predictor(estimator: Any, X: Any) -> Any:
    """X·coef + intercept on the device of X."""
    check_values(X)
    _check_n_features(estimator, X, reset=False)
    coef, constant = (np.asarray(to_host(value)) for value in (estimator.coef_, estimator.intercept_))
    source, space = DeviceDense(X), space_of(X)
    columns = np.atleast_2d(coef)
    image = np.zeros((X.shape[0], len(columns)))
    for number, one in enumerate(np.asarray(columns, dtype=np.float64)):
        used = np.flatnonzero(one)
        part = np.zeros(X.shape[0])
        if used.size:
            source.add(used, one[used], part)
        image[:, number] = part
    found = image + constant if coef.ndim > 1 else image[:, 0] + constant
    with space.here():
        return space.put(np.ascontiguousarray(found, dtype=np.result_type(coef.dtype, np.float32)))


def held_out(X: Any, rows: Array, used: Array, coefs: Array) -> Array:
    """X[rows][:, used]·coefs on the host, where coefs have a column a fit."""
    source, out = DeviceDense(X), np.empty((rows.size, coefs.shape[1]))
    for number in range(coefs.shape[1]):
        image = np.zeros(X.shape[0])
        if used.size:
            source.add(used, np.ascontiguousarray(coefs[:, number]), image)
        out[:, number] = image[rows]
    return out


def moments(X: Any, weight: Array | None) -> tuple[Array, Array]:
    """Weighted means and variances of the columns."""
    source = DeviceDense(X)
    share = np.full(X.shape[0], 1.0 / X.shape[0]) if weight is None else weight / weight.sum()
    survey = source.survey(share, share[None, :])
    means = survey.products[0]
    with source.space.here():
        shares, less = source.space.put(share), source.space.put(means)
        found = source.space.zeros((1, X.shape[1]))
        for rows, there, part in source.chunks.tiles(None):
            away = part - less[None, there]
            found[:, there] = found[:, there] + shares[None, rows] @ (away * away)
        return means, source.space.fetch(found)[0]


def with_constant(X: Any, value: float, is_dual: bool) -> Distant:
    """X and a constant feature, as a design in two parts; for the dual, whose columns are samples, a constant row."""
    d, n = X.shape
    if is_dual:
        row = LocalDense(Dense(np.full((1, d), float(value), order="F")), (1, d))
        return Distant(Parted(InTurn([open_design(X.T), row]), np.array([0, n, n + 1]), np.array([0, d])))
    column = LocalDense(Dense(np.full((d, 1), float(value), order="F")), (d, 1))
    return Distant(Parted(InTurn([open_design(X), column]), np.array([0, d]), np.array([0, n, n + 1])))


def back(values: Any, X: Any) -> Any:
    """Host values on the device of X; as they are where X is on the host."""
    if not is_on_device(X) or np.asarray(values).dtype.kind not in "fiub":
        return values
    space = space_of(X)
    with space.here():
        return space.put(np.ascontiguousarray(values))
