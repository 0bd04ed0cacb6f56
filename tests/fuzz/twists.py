"""The same problem said otherwise: permuted, or with A in other units.  Its answer belongs to the case as well.

Under a permutation, and under A → c·A, x → x/c with c a power of two, F keeps its value exactly.  So the answer to the
other problem, taken back, has to keep its gap on the case, and each answer is a candidate for the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .block_forms import is_of_blocks, permuted_blocks, scaled_blocks_case
from .cases import Array, Case

TWISTS = ("again", "permuted", "scaled")
#: A power of two: the products are exact.
FACTOR = 2.0**7
#: By which power of c each parameter follows A → c·A.
POWERS = {"strength": {"L1": 1, "L2": 2}, "l1": 1, "l2": 2, "linear": 1, "lower": -1, "upper": -1, "x0": -1}


def twisted(case: Case) -> tuple[Case, Any]:
    """The other case, and the function that takes its x back."""
    is_block = is_of_blocks(case) or case.family.endswith("_blocks")
    if case.twist == "permuted":
        return permuted_blocks(case) if is_block else _permuted(case)
    if case.twist == "scaled":
        return scaled_blocks_case(case, FACTOR) if is_block else _scaled(case)
    return replace(case, twist=""), lambda x: x


def _permuted(case: Case) -> tuple[Case, Any]:
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(case.shape[0]), rng.permutation(case.shape[1])
    back = np.argsort(columns)

    def of_columns(table: dict[str, Any]) -> dict[str, Any]:
        return {
            name: value[columns] if isinstance(value, np.ndarray) and name != "alphas" else value
            for name, value in table.items()
        }

    other = replace(
        case, A=case.A[np.ix_(rows, columns)], b=case.b[rows], twist="",
        weight=None if case.weight is None else case.weight[rows],
        parameters=of_columns(case.parameters), options=of_columns(case.options),
    )  # fmt: skip
    return other, lambda x: x[back]


def _scaled(case: Case) -> tuple[Case, Any]:
    def of_units(table: dict[str, Any]) -> dict[str, Any]:
        return {name: value * FACTOR ** _power(case, name) for name, value in table.items()}

    start = {name: value for name, value in case.options.items() if name == "x0"}
    with np.errstate(over="ignore"):
        if any(np.isinf(value).any() for value in _finite(case, of_units(case.parameters))):
            return replace(case, twist=""), lambda x: x  # there are no such units
    options = {**case.options, **of_units(start)}
    storage = "F" if case.storage in ("float32", "int") else case.storage
    other = replace(
        case, A=case.A * FACTOR, parameters=of_units(case.parameters), options=options, storage=storage, twist=""
    )
    return other, _times


def _finite(case: Case, scaled: dict[str, Any]) -> list[Any]:
    """Parameters in other units, as far as they were finite: bounds need not be."""
    return [np.asarray(value)[np.isfinite(case.parameters[name])] for name, value in scaled.items()]


def _times(x: Array) -> Array:
    return x * FACTOR


def _power(case: Case, name: str) -> int:
    power = POWERS.get(name, 0)
    return power[case.penalty] if isinstance(power, dict) else power
