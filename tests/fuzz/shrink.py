"""A smaller case that violates the same promise: fewer rows, columns and outputs, plainer options, rounder numbers.

Greedy: every simplification is tried, and kept where a violation of the same kind and of no smaller order remains;
until none helps or the budget of calls is spent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from .cases import Case, source
from .checks import Violation, judge
from .forms import with_columns, with_outputs, with_rows

#: A violation beyond this share of the objective's terms is no matter of rounding.
COARSE = 1e-11
Judge = Callable[[Case], list[Violation]]
#: Options that a family cannot be called without.
NEEDED = (
    "C", "loss", "l1_ratio", "fit_intercept", "epsilon", "alpha", "alphas", "Cs", "cv", "rule", "oracle", "groups",
    "grouped", "call",
)  # fmt: skip


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
    for axis in (0, 1):
        yield from _fewer(case, axis)
    if case.b.ndim == 2 and case.outputs > 1:
        yield from (with_outputs(case, np.delete(np.arange(case.outputs), t)) for t in range(case.outputs))
    if case.storage != "F":
        yield replace(case, storage="F")
    if case.weight is not None:
        yield replace(case, weight=None)
    yield from (case.with_option(**{name: None}) for name in case.options if name not in NEEDED)
    if case.penalty != "None":
        yield replace(case, penalty="None", parameters={})
    for name in case.parameters:
        yield replace(case, parameters={key: other for key, other in case.parameters.items() if key != name})
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


def _rounder(case: Case) -> Iterator[Case]:
    """The same numbers as signs, or with fewer digits; labels stay."""
    for key in ("A", "b", "weight"):
        values = getattr(case, key)
        if values is None or values.dtype.kind != "f" or (key == "b" and case.loss in ("logistic", "squared_hinge")):
            continue
        digits = [np.array([float(f"{value:.{k}e}") for value in values.ravel()]).reshape(values.shape) for k in (0, 2)]
        for other in (np.sign(values), *digits):
            if len(str(other.tolist())) < len(str(values.tolist())):
                yield replace(case, **{key: other})


def as_test(case: Case, violation: Violation, name: str) -> str:
    """A pytest test that fails today."""
    return (
        f"def test_{name}():\n"
        f'    """{violation.kind}: {violation.text}"""\n'
        f"    case = {source(case)}\n"
        f"    assert judge(case)[1] == []\n"
    )
