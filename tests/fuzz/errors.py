"""Violations, and when an error is none: a ValueError or TypeError that names an argument and has a reason."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .block_calls import BLOCK_FAMILIES, block_truth, flat
from .calls import truth_of
from .cases import Case
from .likely import is_wrong
from .placed import is_placed

#: Words of which an error message must hold one: the argument that is to blame.
ARGUMENTS = (
    "A", "b", "X", "y", "x0", "tol", "alphas", "alpha", "sample_weight", "weights", "penalty", "steepness", "unbounded",
    "intercept0", "Cs", "cv", "scale", "classes", "groups", "positive", "loss", "dual", "rows",
    "failure", "patience", "offset",
)  # fmt: skip


@dataclass(frozen=True)
class Violation:
    """A promise that did not hold: its kind, what was seen, and how far off, relative to the terms of the objective."""

    kind: str
    text: str
    size: float = math.nan


def check_error(case: Case, error: Exception) -> list[Violation]:
    """Is it a clear one, with a reason?"""
    text = f"{type(error).__name__}: {error}"
    if not isinstance(error, ValueError | TypeError):
        return [Violation(f"exception {type(error).__name__}", text)]
    words = set("".join(letter if letter.isalnum() or letter == "_" else " " for letter in str(error)).split())
    if not words & set(ARGUMENTS):
        return [Violation("unclear error", text)]
    return [] if is_justified(case, str(error)) else [Violation("unjustified error", text)]


def is_justified(case: Case, message: str) -> bool:
    """Is there a reason for the error in the data?"""
    s = np.ones(len(case.b)) if case.weight is None else case.weight
    with np.errstate(all="ignore"):
        squares = (s[:, None] * case.A * case.A).sum(axis=0)
        strength = min(1.0, float(np.min(case.options.get("C", 1.0))))  # it weighs the samples of a classifier
    if "underflows" in message:
        if case.family.endswith("CV") or case.options.get("dual") is False:  # a fold's samples; weights of size C
            return bool(((case.A != 0.0) & (np.abs(case.A) < 1e-140)).any())
        rows = (case.A * case.A).sum(axis=1)  # the columns of a dual
        is_small = ((strength * squares < 1e-300) & (case.A[s > 0.0] != 0.0).any(axis=0)).any()
        return bool(is_small or ((rows < 1e-300) & (case.A != 0.0).any(axis=1)).any())
    if "alphas must be given" not in message and ("must be smaller" in message or "they are up to" in message):
        return not _are_strengths_finite(case)
    if "nor is it at" in message:  # the cost of the allowed point nearest to zero
        bounds = [np.abs(np.asarray(case.parameters.get(name, 0.0), dtype=float)) for name in ("lower", "upper")]
        farthest = max(np.max(bound, initial=0.0, where=np.isfinite(bound)) for bound in bounds)
        strengths = [np.max(case.parameters.get(name, 0.0)) for name in ("l1", "l2")]
        with np.errstate(over="ignore"):
            return not np.isfinite(strengths[0] * farthest + strengths[1] * farthest * farthest)
    if "F at zero coefficients is inf" in message:
        with np.errstate(over="ignore"):
            return not np.isfinite(np.sum(np.square(case.b)))
    if "overflow" in message or "large values" in message or "not finite" in message:
        return not np.isfinite(squares).all() or np.abs(case.A).max() > 1e100 or np.abs(case.b).max() > 1e100
    if "unbounded" in message:
        return bool(np.any(case.parameters.get("linear", 0.0)))
    if "alphas must be given" in message or "scaled" in message:
        weights = (case.options.get(name, 1.0) for name in ("penalty_weights", "weights"))
        called = case.options.get("call", case.family)
        return called in ("path", "stored_path", "path_blocks") or not all(np.any(given) for given in weights)
    if "x0" in message:
        start = case.options.get("x0")  # squares of what is beyond 1e150 are not float64 numbers
        is_rounding = case.family not in BLOCK_FAMILIES and is_all_rounding(case.loss, case.A, start)
        return start is not None and (np.abs(start).max() > 1e150 or not _start_value(case) < 1e300 or is_rounding)
    if "cv must leave samples" in message:  # shuffled folds of few samples
        return bool(np.unique(case.b, return_counts=True)[1].min() < 2 * int(case.options.get("cv", 5)))
    if "steepness" in message:
        return case.options.get("steepness") in ("gs", "gsl")
    if "bounded curvature" in message:
        return case.loss == "poisson"
    if "Stochastic" in message:
        return is_wrong(case.options.get("stochastic", {}))
    if "must be in memory" in message:  # samples or columns that are read one by one
        return is_placed(case.storage)
    if "positive=True needs a penalty" in message:  # an unpenalised group has no sense of its own there
        return bool({**case.parameters, **case.options}.get("positive"))
    if "classes in the data" in message:
        return len(set(case.b[s > 0.0])) < 2
    return "y must hold a positive count" in message or "Automatic alpha grid" in message


def _are_strengths_finite(case: Case) -> bool:
    """Of a penalty, with its weights, at the largest alpha of a path."""
    given, largest = case.parameters, float(np.max(case.options.get("alphas", 1.0)))
    weights = given.get("weights", 1.0)
    factor = 1.0 if weights is None or isinstance(weights, str) else np.max(weights)
    strengths = [np.max(given[name]) for name in ("strength", "l1", "l2") if name in given]
    with np.errstate(over="ignore"):
        return all(np.isfinite(largest * strength * factor) for strength in strengths)


def is_all_rounding(loss: str, A: Any, x: Any) -> bool:
    """Do products with x cancel so far that the exponential of their rounding overflows?"""
    if loss != "poisson" or x is None:
        return False
    with np.errstate(all="ignore"):
        size = np.abs(A) @ np.abs(np.asarray(x, dtype=float))
    return bool(size.max() * 1e-16 > 700.0)


def _start_value(case: Case) -> Any:
    if case.family in BLOCK_FAMILIES:
        truth = block_truth(case)
        return truth.value(flat(case.options["x0"], case.options.get("intercept0", 0.0), truth))[0]
    return truth_of(case).value(case.options["x0"])[0]
