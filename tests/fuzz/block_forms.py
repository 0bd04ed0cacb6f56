"""A case of blocks with some of its rows, columns or outputs, or with all of them in another order or unit.

What belongs to columns goes with them: groups are renumbered, weights follow their groups, starts their columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .cases import Array, Case

#: By which power of c each parameter follows A → c·A.
POWERS = {"strength": 1, "l1": 1, "l2": 1, "ridge": 2}


def is_of_blocks(case: Case) -> bool:
    return case.b.ndim == 2 or case.loss == "softmax" or "groups" in {**case.parameters, **case.options}


def with_columns(case: Case, columns: Array) -> Case:
    """These columns, in this order."""
    place = {int(j): i for i, j in enumerate(columns)}

    def renumbered(table: dict[str, Any]) -> dict[str, Any]:
        found = dict(table)
        groups, weights = table.get("groups"), table.get("weights")
        if groups is not None:
            lists = [[place[j] for j in group if j in place] for group in groups]
            found["groups"] = [group for group in lists if group]
            if isinstance(weights, np.ndarray):
                found["weights"] = weights[[b for b, group in enumerate(lists) if group]]
        elif isinstance(weights, np.ndarray):
            found["weights"] = weights[columns]
        for key in ("x0", "penalty_weights"):
            if isinstance(table.get(key), np.ndarray):
                found[key] = table[key][columns]
        return found

    return replace(case, A=case.A[:, columns], parameters=renumbered(case.parameters), options=renumbered(case.options))


def with_outputs(case: Case, outputs: Array) -> Case:
    """These outputs of several, in this order."""
    options = {
        key: value[..., outputs] if key in ("x0", "intercept0") and np.ndim(value) else value
        for key, value in case.options.items()
    }
    if case.loss == "softmax":
        place = np.empty(outputs.size, dtype=np.int64)
        place[outputs] = np.arange(outputs.size)
        return replace(case, b=place[case.b], options=options)
    return replace(case, b=case.b[:, outputs], options=options)


def fewer_outputs(case: Case) -> Iterator[Case]:
    """Without one output, or one class fewer."""
    if case.loss == "softmax":
        labels = np.unique(case.b, return_inverse=True)[1].ravel()
        if not np.array_equal(labels, case.b) and "x0" not in case.options:
            yield replace(case, b=labels)
        if labels.max() > 1 and "x0" not in case.options:
            yield replace(case, b=np.minimum(labels, labels.max() - 1))
    elif case.b.ndim == 2 and case.b.shape[1] > 1:
        every = np.arange(case.b.shape[1])
        yield from (with_outputs(case, np.delete(every, t)) for t in every)


def plainer_groups(case: Case) -> Iterator[Case]:
    """One group, or single columns."""
    groups = case.parameters.get("groups")
    if groups is not None and len(groups) > 1:
        rest = {key: value for key, value in case.parameters.items() if key != "weights"}
        yield replace(case, parameters={**rest, "groups": [sorted(j for group in groups for j in group)]})
    if isinstance(case.parameters.get("weights"), str):
        yield replace(case, parameters={key: value for key, value in case.parameters.items() if key != "weights"})


def permuted_blocks(case: Case) -> tuple[Case, Any]:
    """Rows, columns and outputs in another order, and the function that takes a flat point back."""
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(case.shape[0]), rng.permutation(case.shape[1])
    outputs = max(2, int(case.b.max()) + 1) if case.loss == "softmax" else case.b.size // len(case.b)
    order = rng.permutation(outputs)
    if case.loss == "softmax" and order[case.b].max() + 1 < outputs:
        order = np.arange(outputs)  # the number of classes is told by the largest
    other = with_columns(case, columns)
    if outputs > 1:
        other = with_outputs(other, np.argsort(order) if case.loss == "softmax" else order)
    weight = None if case.weight is None else case.weight[rows]
    other = replace(other, A=other.A[rows], b=other.b[rows], weight=weight, twist="")
    place = np.argsort(order) if case.loss == "softmax" else order

    def back(flat: Array) -> Array:
        table = flat.reshape(-1, outputs)
        found = table.copy()
        found[np.ix_(columns, place)] = table[: columns.size]
        if len(table) > columns.size:
            found[columns.size, place] = table[columns.size]
        return found.ravel()

    return other, back


def scaled_blocks_case(case: Case, factor: float) -> tuple[Case, Any]:
    """A → c·A, x → x/c."""
    parameters = {
        key: value * factor ** POWERS[key] if key in POWERS else value for key, value in case.parameters.items()
    }
    options = {key: value / factor if key == "x0" else value for key, value in case.options.items()}
    storage = "F" if case.storage in ("float32", "int") else case.storage
    other = replace(case, A=case.A * factor, parameters=parameters, options=options, storage=storage, twist="")
    count = case.shape[1] * (max(2, int(case.b.max()) + 1) if case.loss == "softmax" else case.b.size // len(case.b))

    def back(flat: Array) -> Array:
        found = flat.copy()
        found[:count] *= factor
        return found

    return other, back
