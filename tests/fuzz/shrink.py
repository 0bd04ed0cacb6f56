"""A smaller case that violates the same promise: fewer rows and columns, simpler options, rounder numbers.

Greedy: every simplification is tried, and kept where a violation of the same kind and of no smaller order remains;
until none helps or the budget of calls is spent.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .cases import SPARSE, Case, source
from .checks import Violation, judge
from .forms import with_columns, with_outputs, with_rows
from .placed import is_placed

#: A violation beyond this share of the objective's terms is no matter of rounding.
COARSE = 1e-11
LABELLED = ("logistic", "squared_hinge", "softmax")
Judge = Callable[[Case], list[Violation]]


def order_of(violation: Violation) -> int:
    """0 for a violation of the size of rounding, 1 for a larger one."""
    return int(violation.size > COARSE)


def is_like(one: Violation, other: Violation) -> bool:
    """The same kind, of no smaller order; for errors the same words, since a smaller case can be wrong in new ways."""
    if one.kind != other.kind or order_of(one) < order_of(other):
        return False
    return one.text[:60] == other.text[:60] or not ("error" in one.kind or "exception" in one.kind)


def shrink(
    case: Case, violation: Violation, calls: int = 500, seconds: float = 60.0, judged: Judge | None = None
) -> tuple[Case, Violation]:
    """The smallest case found, and its violation."""
    find = judged or (lambda one: judge(one)[1])
    state, until = (case, violation), time.perf_counter() + seconds
    progress = True
    while progress:
        progress = False
        for simpler in simplifications(state[0]):
            if calls <= 0 or time.perf_counter() > until:
                return state
            calls -= 1
            kept = [v for v in _safely(find, simpler) if is_like(v, violation)]
            if kept:
                state, progress = (simpler, kept[0]), True
                break
    return state


def _safely(find: Judge, case: Case) -> list[Violation]:
    """Violations of a simplification; one that the judge itself cannot take (an empty box) is no case at all."""
    try:
        return find(case)
    except Exception:
        return []


def simplifications(case: Case) -> Iterator[Case]:
    """Cases that are simpler in one way, the most drastic first."""
    yield from _fewer(case, 0)
    yield from _fewer(case, 1)
    yield from fewer_outputs(case)
    yield from plainer_groups(case)
    yield from _plainer(case)
    yield from _rounder(case)


def _fewer(case: Case, axis: int) -> Iterator[Case]:
    """Without a block of rows (axis 0) or columns (axis 1)."""
    size = case.shape[axis]
    block = size // 2
    while block >= 1:
        for first in range(0, size, block):
            keep = np.r_[0:first, min(first + block, size) : size]
            if keep.size:
                yield with_columns(case, keep) if axis else with_rows(case, keep)
        block //= 2


def fewer_outputs(case: Case) -> Iterator[Case]:
    """Without one output, or one class fewer."""
    if case.loss == "softmax" and "x0" not in case.options:
        labels = np.unique(case.b, return_inverse=True)[1].ravel()
        if not np.array_equal(labels, case.b):
            yield replace(case, b=labels)
        if labels.max() > 1:
            yield replace(case, b=np.minimum(labels, labels.max() - 1))
    elif case.b.ndim == 2 and case.outputs > 1:
        every = np.arange(case.outputs)
        yield from (with_outputs(case, np.delete(every, t)) for t in every)


def plainer_groups(case: Case) -> Iterator[Case]:
    """One group, and no weights."""
    groups = case.parameters.get("groups")
    plain = {key: value for key, value in case.parameters.items() if key != "weights"}
    if groups is not None and len(groups) > 1:
        yield replace(case, parameters={**plain, "groups": [sorted(j for group in groups for j in group)]})
    if isinstance(case.parameters.get("weights"), str):
        yield replace(case, parameters=plain)


#: Options that a family cannot be called without.
NEEDED = (
    "C", "loss", "l1_ratio", "fit_intercept", "epsilon", "alpha", "alphas", "Cs", "cv", "rule", "oracle", "groups",
    "grouped", "call",
)  # fmt: skip


def _plainer(case: Case) -> Iterator[Case]:
    if is_placed(case.storage):
        yield from (replace(case, storage=re.sub(r"\d+$", str(seed), case.storage)) for seed in range(3))
    elif case.storage not in ("F", "csc"):
        yield replace(case, storage="csc" if case.storage in SPARSE else "F")
    if case.storage != "F":
        yield replace(case, storage="F")
    if case.weight is not None:
        yield replace(case, weight=None)
    for name in case.options:
        if name not in NEEDED:
            yield case.with_option(**{name: None})
    for name, value in case.options.items():
        if name in ("alphas", "Cs") and isinstance(value, np.ndarray) and value.size > 1:
            yield from (case.with_option(**{name: value[[i]]}) for i in range(value.size))
        if name in ("n_alphas", "Cs", "alphas", "max_iter", "stop_after") and isinstance(value, int) and value > 1:
            yield case.with_option(**{name: value // 2})
    yield from _plainer_penalty(case)


def _plainer_penalty(case: Case) -> Iterator[Case]:
    needed = {
        "L1": ("strength",), "L2": ("strength",), "L1L2": ("l1", "l2"), "BoundedL1L2": ("l1",), "L21": ("strength",),
        "GroupL2": ("strength", "groups"), "SparseGroup": ("l1", "l2", "groups"),
    }  # fmt: skip
    if case.penalty == "BoundedL1L2" and "linear" not in case.parameters:
        inner = {key: value for key, value in case.parameters.items() if key not in ("lower", "upper")}
        yield replace(case, penalty="L1L2", parameters={"l2": 0.0, **inner})
    if case.penalty not in ("None",):
        yield replace(case, penalty="None", parameters={})
    for name, value in case.parameters.items():
        if name not in needed.get(case.penalty, ()):
            yield replace(case, parameters={key: other for key, other in case.parameters.items() if key != name})
        if isinstance(value, np.ndarray) and not case.has_blocks:
            for entry in dict.fromkeys(value.tolist()):
                yield replace(case, parameters={**case.parameters, name: float(entry)})


def _rounder(case: Case) -> Iterator[Case]:
    for key in ("A", "b", "weight"):
        values = getattr(case, key)
        if values is not None and not (key == "b" and case.loss in LABELLED):  # labels stay
            yield from (replace(case, **{key: other}) for other in rounder(values))
    for key in ("parameters", "options"):
        table = getattr(case, key)
        for name, value in table.items():
            if isinstance(value, float | np.ndarray) and name not in ("tol", "max_time"):
                yield from (replace(case, **{key: {**table, name: other}}) for other in rounder(value))
    for threshold in (1.35, 1.0):
        if case.loss == "huber" and case.threshold not in (1.35, 1.0):
            yield replace(case, threshold=threshold)


def rounder(values: Any) -> Iterator[Any]:
    """The same numbers as signs, powers of ten, or with fewer digits."""
    array = np.atleast_1d(np.asarray(values, dtype=float))
    with np.errstate(all="ignore"):
        signs = np.where(np.isfinite(array), np.sign(array), array)
        powers = np.where(signs * np.isfinite(array) != 0.0, signs * 10.0 ** np.round(np.log10(np.abs(array))), array)
    digits = (np.array([float(f"{value:.{k}e}") for value in array.ravel()]).reshape(array.shape) for k in (0, 1, 3))
    for other in (signs, powers, *digits):
        if len(str(other.tolist())) < len(str(array.tolist())):
            yield other if isinstance(values, np.ndarray) else float(other[0])


def as_test(case: Case, violation: Violation, name: str) -> str:
    """A pytest test that fails today."""
    return (
        f"def test_{name}():\n"
        f'    """{violation.kind}: {violation.text}"""\n'
        f"    case = {source(case)}\n"
        f"    assert judge(case)[1] == []\n"
    )
