"""Problems for races, from data: a kind by its name, and a strength as a number or as a part of λ_max."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._core.checks import as_number, unknown_name
from ascd.problem.penalties import L1, L1L2, L2
from ascd.problem.problem import Problem
from ascd.svm import DualSVM

CONTESTS = ("lasso", "ridge", "elastic-net", "logistic", "svm")


def make_problem(X: Any, y: Any, kind: str, strength: str = "") -> Problem:
    """A problem of a kind from data; ``strength`` is a number, or "max/20" for a part of the smallest λ with x* = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd.racing import make_problem
    >>> make_problem(np.eye(3), [3.0, 1.0, -2.0], "lasso", "max/3").parts.penalty
    L1(strength=1.0, weights=1.0, linear=0.0)
    """
    if kind not in CONTESTS:
        raise unknown_name(kind, "problem", CONTESTS)
    if kind in ("logistic", "svm"):
        y = _signs(y)
    if kind == "svm":
        return DualSVM(X, y, C=_number(strength or "1"))
    if kind == "ridge":
        return Problem(X, y, penalty=L2(_number(strength or "1")))
    loss = "logistic" if kind == "logistic" else "squared"
    value = _strength(Problem(X, y, loss=loss), strength or "max/20")
    penalty = L1L2(value, value) if kind == "elastic-net" else L1(value)
    return Problem(X, y, loss=loss, penalty=penalty)


def check_strength(kind: str, strength: str) -> None:
    """Refuse a strength that ``make_problem`` would refuse whatever the data are.

    Examples
    --------
    >>> from ascd.racing import check_strength
    >>> check_strength("lasso", "max/20")
    >>> check_strength("ridge", "max/20")
    Traceback (most recent call last):
    ...
    ValueError: strength must be a positive number, or for an ℓ1 penalty max/20 (say) for a part of λ_max; got 'max/20'
    """
    has_largest = kind not in ("svm", "ridge")
    _number(strength or "1", "max/" if has_largest else "")


def _strength(problem: Problem, text: str) -> float:
    if not text.startswith("max/"):
        return _number(text)
    largest = float(np.abs(problem.gradient(np.zeros(problem.n_features))).max())
    return largest / _number(text, "max/")


def _number(text: str, prefix: str = "") -> float:
    """A positive number from text."""
    try:
        return as_number(float(text.removeprefix(prefix)), "strength", low=0.0, strict=True)
    except ValueError:
        allowed = "a positive number, or for an ℓ1 penalty max/20 (say) for a part of λ_max"
        raise ValueError(f"strength must be {allowed}; got {text!r}") from None


def _signs(y: Any) -> Any:
    values = np.unique(y)
    if values.size != 2:
        raise ValueError(f"the target must have two classes for this problem; it has {values.size} values")
    return np.where(np.asarray(y) == values[1], 1.0, -1.0)
