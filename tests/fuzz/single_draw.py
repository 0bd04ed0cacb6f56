"""Problems of single coordinates, and the options of ``solve`` and ``path``.

Every combination of loss, penalty with numbers or arrays, dense or sparse matrix and weights is compiled once, which
takes seconds: ``combinations`` lists those that are drawn from.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from .cases import Array, Case
from .chance import chance, choose, pick
from .data import draw_matrix, draw_shape, draw_storage, draw_target, draw_weights
from .penalty_draw import KINDS, SHAPES, draw_parameters, scales_of
from .twists import TWISTS

LOSSES = ("squared", "logistic", "huber", "squared_hinge", "poisson")
#: The few that the slice in the tests compiles: (loss, shape, sparse, weighted).
FEW = (
    ("squared", 1, False, False), ("squared", 1, True, False), ("logistic", 1, False, False),
    ("squared", 4, False, False), ("squared", 0, False, False),
)  # fmt: skip
TOLERANCES = (0.0, 1e-17, 1e-15, 1e-12, 1e-10, 1e-8, 1e-4, 1e-2)
STARTS = {"none": 0.75, "zero": 0.05, "near": 0.1, "far": 0.07, "very far": 0.03}
MOST_ROUNDS = (3,) * 18 + (6,) * 5 + (25,)
LIMITS = {"none": 0.75, "few": 0.15, "time": 0.05, "callback": 0.05}


@cache
def combinations(few: bool = False) -> tuple[tuple[str, int, bool, bool], ...]:
    """Every loss with every penalty, once with numbers and once with arrays; storages and weights take turns."""
    if few:
        return FEW
    found = []
    for i, loss in enumerate(LOSSES):
        for kind in range(KINDS):
            turn = (i + kind) % 2 == 1
            found += [(loss, kind, turn, False), (loss, kind + KINDS, not turn, True)]
    return tuple(found)


def draw_plain(rng: Any, chosen: tuple[str, int, bool, bool] | None, few: bool, family: str) -> Case:
    """A case of single coordinates with this combination of parts, or any."""
    loss, shape, is_sparse, weighted = pick(rng, combinations(few)) if chosen is None else chosen
    case = draw_problem(rng, family, loss, SHAPES[shape], is_sparse, weighted, 80 if few else 200)
    return with_path_options(rng, case) if family == "path" else with_solve_options(rng, case)


def draw_problem(
    rng: Any, family: str, loss: str, shape: tuple[str, tuple[str, ...]], is_sparse: bool, weighted: bool,
    largest: int = 200, size: tuple[int, int] | None = None,
) -> Case:  # fmt: skip
    d, n = draw_shape(rng, largest) if size is None else size
    A, storage = draw_storage(rng, draw_matrix(rng, d, n), is_sparse)
    b = draw_target(rng, A, loss)
    weight = draw_weights(rng, d) if weighted else None
    threshold = pick(rng, (1.35, 1e-3, 10.0, 0.5, 1e6)) if loss == "huber" else 1.35
    parameters = draw_parameters(rng, shape, *scales_of(A, b, weight, loss))
    name = "None" if shape[0] == "Zero" and not parameters else shape[0]
    return Case(family, A, b, loss, threshold, name, parameters, weight, storage)


def draw_tolerance(rng: Any) -> dict[str, float]:
    return {} if chance(rng, 0.45) else {"tol": pick(rng, TOLERANCES)}


def _start(rng: Any, case: Case) -> Array | None:
    """No start, one near, or one far away; inside the bounds."""
    kind = choose(rng, STARTS)
    if kind == "none":
        return None
    size = scales_of(case.A, case.b, None, case.loss)[1]
    x = rng.standard_normal(case.shape[1]) * size * {"zero": 0.0, "near": 1.0, "far": 1e4, "very far": 1e17}[kind]
    lowest = 0.0 if case.penalty == "Box" else -math.inf
    return np.clip(x, case.parameters.get("lower", lowest), case.parameters.get("upper", math.inf))


def draw_limits(rng: Any) -> dict[str, Any]:
    kind = choose(rng, LIMITS)
    if kind == "few":
        return {"max_iter": pick(rng, (0, 1, 2, 5))}
    if kind == "time":
        return {"max_time": 0.0}
    if kind == "callback":
        return {"stop_after": int(rng.integers(1, 4))}
    # a run that rounding keeps from its end takes all its rounds: without limits such cases would take nearly all time
    return {} if chance(rng, 0.005) else {"max_iter": pick(rng, MOST_ROUNDS)}


def with_solve_options(rng: Any, case: Case) -> Case:
    options: dict[str, Any] = {**draw_tolerance(rng), **draw_limits(rng)}
    if chance(rng, 0.4):
        options["intercept"] = True
    if (x0 := _start(rng, case)) is not None:
        options["x0"] = x0
        if "intercept" in options and chance(rng, 0.3):
            options["intercept0"] = float(rng.standard_normal() * pick(rng, (1.0, 1e6)))
    if chance(rng, 0.03):
        options["n_jobs"] = 2
    return case.changed(options=options, twist=pick(rng, TWISTS) if chance(rng, 0.06) else "")


def with_path_options(rng: Any, case: Case) -> Case:
    options: dict[str, Any] = draw_tolerance(rng)
    if case.penalty in ("None", "Zero") or chance(rng, 0.4):
        options["alphas"] = np.sort(10.0 ** rng.uniform(-3.0, 1.0, int(rng.integers(1, 5))))[::-1].copy()
        options["alphas"][-1] *= not chance(rng, 0.2)
    else:
        options.update(n_alphas=int(rng.integers(1, 6)), eps=pick(rng, (0.5, 0.1, 1e-2)))
    if chance(rng, 0.4):
        options["intercept"] = True
    return case.changed(options={**options, "max_iter": pick(rng, (1, *MOST_ROUNDS))})
