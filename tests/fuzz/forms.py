"""A case with some of its rows, columns or outputs, or with all of them in another order or unit.

What belongs to columns goes with them: groups are renumbered, weights follow their groups, starts their columns.
Under a permutation, and under A → c·A, x → x/c with c a power of two, F keeps its value exactly: the answer to the
other problem, taken back, has to keep its gap on the case, and each answer is a candidate for the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .cases import Array, Case

TWISTS = ("again", "permuted", "scaled")
#: A power of two: the products are exact.
FACTOR = 2.0**7
#: Parameters and options that have a number for each column where they are arrays.
OF_COLUMNS = ("strength", "weights", "l1", "l2", "linear", "lower", "upper", "x0", "penalty_weights")
#: By which power of c each parameter follows A → c·A; ``strength`` of L2 and ``l2`` of blocks differ.
POWERS = {"strength": 1, "l1": 1, "l2": 2, "ridge": 2, "linear": 1, "lower": -1, "upper": -1, "x0": -1}
Back = Callable[[Array], Array]


def with_rows(case: Case, rows: Array) -> Case:
    weight = None if case.weight is None else case.weight[rows]
    options = {name: value[rows] if name == "offset" else value for name, value in case.options.items()}
    return replace(case, A=case.A[rows], b=case.b[rows], weight=weight, options=options)


def with_columns(case: Case, columns: Array) -> Case:
    """These columns, in this order."""
    place = {int(j): i for i, j in enumerate(columns)}

    def renumbered(table: dict[str, Any]) -> dict[str, Any]:
        found, groups = dict(table), table.get("groups")
        lists = [[place[j] for j in group if j in place] for group in groups or ()]
        if groups is not None:
            found["groups"] = [group for group in lists if group]
        for key in OF_COLUMNS:
            if isinstance(found.get(key), np.ndarray):
                is_of_groups = key == "weights" and groups is not None
                kept = [b for b, group in enumerate(lists) if group] if is_of_groups else columns
                found[key] = found[key][kept]
        return found

    return replace(case, A=case.A[:, columns], parameters=renumbered(case.parameters), options=renumbered(case.options))


def with_outputs(case: Case, outputs: Array) -> Case:
    """These outputs of several, in this order."""
    options = {
        key: value[..., outputs] if key in ("x0", "intercept0") and np.ndim(value) else value
        for key, value in case.options.items()
    }
    if case.loss == "softmax":
        return replace(case, b=np.argsort(outputs)[case.b], options=options)
    return replace(case, b=case.b[:, outputs], options=options)


def twisted(case: Case) -> tuple[Case, Back]:
    """The same problem stated otherwise, and the function that takes its flat point back."""
    plain = replace(case, twist="")
    if case.twist == "permuted":
        return _permuted(plain)
    return _scaled(plain) if case.twist == "scaled" else (plain, lambda point: point)


def _permuted(case: Case) -> tuple[Case, Back]:
    rng = np.random.default_rng(0)
    (d, n), T = case.shape, case.outputs
    columns, outputs = rng.permutation(n), rng.permutation(T)
    if case.loss == "softmax" and np.argsort(outputs)[case.b].max() + 1 < T:
        outputs = np.arange(T)  # the largest label tells the number of classes
    other = with_rows(with_columns(case, columns), rng.permutation(d))
    other = with_outputs(other, outputs) if case.has_rows and T > 1 else other

    def back(point: Array) -> Array:
        found = point.reshape(-1, T).copy()
        found[np.ix_(np.append(columns, np.arange(n, len(found))), outputs)] = point.reshape(-1, T)
        return found.ravel()

    return other, back


def _scaled(case: Case) -> tuple[Case, Back]:
    def in_units(table: dict[str, Any]) -> dict[str, Any]:
        return {
            name: value * FACTOR ** _power(case, name) if _power(case, name) else value for name, value in table.items()
        }

    with np.errstate(over="ignore"):
        parameters, options = in_units(case.parameters), in_units(case.options)
    for name, value in parameters.items():
        before = case.parameters[name]
        if name in POWERS and np.isinf(np.asarray(value)[np.isfinite(before)]).any():
            return case, lambda point: point  # there are no such units
    storage = "F" if case.storage in ("float32", "int") else case.storage
    count = case.shape[1] * case.outputs

    def back(point: Array) -> Array:
        return np.append(point[:count] * FACTOR, point[count:])

    return replace(case, A=case.A * FACTOR, parameters=parameters, options=options, storage=storage), back


def _power(case: Case, name: str) -> int:
    if name == "strength" and case.penalty == "L2":
        return 2
    return 1 if name == "l2" and case.penalty == "SparseGroup" else POWERS.get(name, 0)
