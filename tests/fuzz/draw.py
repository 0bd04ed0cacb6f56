"""A case from a seed: what is compiled comes from a bounded list, everything else is free.

Every combination of loss, penalty with numbers or arrays, dense or sparse matrix and weights is compiled once, which
takes seconds: ``combinations`` lists those that are drawn from, ``engines`` those of ``minimize``.
"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Any

import numpy as np

from .block_draw import FAMILIES as BLOCKS
from .block_draw import draw_blocks
from .block_estimators import BLOCK_ESTIMATORS, draw_block_estimator
from .cases import Array, Case
from .chance import chance, choose, pick
from .data import draw_matrix, draw_shape, draw_storage, draw_target, draw_weights
from .estimator_draw import ESTIMATORS, draw_estimator
from .likely import draw_likely
from .penalty_draw import KINDS, SHAPES, draw_parameters, scales_of
from .placed_draw import STORED, draw_placed
from .twists import TWISTS
from .user_parts import USERS

LOSSES = ("squared", "logistic", "huber", "squared_hinge", "poisson")
#: The few that the slice in the tests compiles: (loss, shape, sparse, weighted).
FEW = (
    ("squared", 1, False, False), ("squared", 1, True, False), ("logistic", 1, False, False),
    ("squared", 4, False, False), ("squared", 0, False, False),
)  # fmt: skip
RULES = (
    "cyclic", "uniform", "importance", "steepest", "ascd", "u-ascd", "l-ascd", "a-ascd", "look-ahead", "adaptive",
    "block", "awake",
)  # fmt: skip
#: Oracles whose intervals are proved come first; those of the sketch are only likely.
ORACLES = ("exact", "norm", "simulated", "cached", "reference", "measured", "random", "sketch")
SAFE = ORACLES[:-1]
STEEPNESSES = ("gs-s", "gsl-s", "gs-r", "gs-q", "gsl-r", "gsl-q", "gs", "gsl")
STEPS = ("coordinate", "fixed", "line-search", "local")
#: What ``minimize`` uses where nothing is asked for.
DEFAULT = ("awake", "measured", "gs-s", "coordinate")
FAMILIES = {
    "solve": 0.63, "path": 0.07, "minimize": 0.1, "DualSVM": 0.05, "steps": 0.008, "user": 0.007, "estimator": 0.135
}  # fmt: skip
#: Families that came later, as shares of all seeds; "" for the ones above.
NEWER = {"": 0.65, "blocks": 0.25, "placed": 0.1}
#: The share of the others that is "stochastic".
LIKELY = 0.01
SALT = 22
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


@cache
def engines(few: bool = False) -> tuple[tuple[str, str, str, str, str, int, bool], ...]:
    """Rule, oracle, steepness, step, loss, shape, sparse: every value with many of every other."""
    if few:
        return ((*DEFAULT, "squared", 1, False),)
    found = [(*DEFAULT, loss, (3 * i + 1) % KINDS, i % 2 == 1) for i, loss in enumerate(LOSSES[:4])]
    for i in range(4 * len(RULES)):
        lap = i // len(RULES)
        rule, oracle = RULES[i % len(RULES)], ORACLES[(i + lap) % len(ORACLES)]
        steepness, step = STEEPNESSES[(i + 3 * lap) % len(STEEPNESSES)], STEPS[(i + lap) % len(STEPS)]
        loss, shape = LOSSES[(i + lap) % 4], (i + 5 * lap) % KINDS
        if steepness in ("gs", "gsl"):  # for smooth penalties
            shape = 2 * (i % 2)
        found.append((rule, oracle, steepness, step, loss, shape, i % 4 == 3))
    return tuple(found)


def draw(seed: int, few: bool = False, family: str | None = None) -> Case:
    """The case of a seed; "single" draws single coordinates in memory for every seed."""
    if family == "single":
        family = None
    elif family is None:
        family = _newer(seed)
    rng = np.random.default_rng(seed)
    drawn = choose(rng, FAMILIES)
    if family in ("placed", *STORED):
        return draw_placed(rng, few, family, partial(_plain, few=few, family="solve"))
    if family in ("blocks", *BLOCKS, *BLOCK_ESTIMATORS):
        return _blocks(rng, few, family)
    family = drawn if family is None else family
    if family == "estimator" or family in ESTIMATORS:
        return draw_estimator(rng, few, None if family == "estimator" else family)
    special = {"minimize": _minimize, "steps": _steps, "user": _user, "DualSVM": _dual_svm, "stochastic": _stochastic}
    if family in special:
        return special[family](rng, few)
    return _plain(rng, None, few, family)


def _plain(rng: Any, chosen: tuple[str, int, bool, bool] | None, few: bool, family: str) -> Case:
    """A case of single coordinates with this combination of parts, or any."""
    loss, shape, is_sparse, weighted = pick(rng, combinations(few)) if chosen is None else chosen
    case = _problem(rng, family, loss, SHAPES[shape], is_sparse, weighted, 80 if few else 200)
    return _path_options(rng, case) if family == "path" else _solve_options(rng, case)


def _newer(seed: int) -> str | None:
    """A family that came later, in a share of the seeds; the others draw what they drew before there were any."""
    rng = np.random.default_rng([seed, SALT])
    return choose(rng, NEWER) or ("stochastic" if chance(rng, LIKELY) else None)


def _blocks(rng: Any, few: bool, family: str) -> Case:
    name = choose(rng, BLOCKS) if family == "blocks" else family
    if name == "block_estimator" or name in BLOCK_ESTIMATORS:
        return draw_block_estimator(rng, few, None if name == "block_estimator" else name)
    return draw_blocks(rng, few, name)


def _problem(
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


# ------------------------------------------------------------------------------------------- options


def _tolerance(rng: Any) -> dict[str, float]:
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


def _limits(rng: Any) -> dict[str, Any]:
    kind = choose(rng, LIMITS)
    if kind == "few":
        return {"max_iter": pick(rng, (0, 1, 2, 5))}
    if kind == "time":
        return {"max_time": 0.0}
    if kind == "callback":
        return {"stop_after": int(rng.integers(1, 4))}
    # a run that rounding keeps from its end takes all its rounds: without limits such cases would take nearly all time
    return {} if chance(rng, 0.005) else {"max_iter": pick(rng, MOST_ROUNDS)}


def _solve_options(rng: Any, case: Case) -> Case:
    options: dict[str, Any] = {**_tolerance(rng), **_limits(rng)}
    if chance(rng, 0.4):
        options["intercept"] = True
    if (x0 := _start(rng, case)) is not None:
        options["x0"] = x0
        if "intercept" in options and chance(rng, 0.3):
            options["intercept0"] = float(rng.standard_normal() * pick(rng, (1.0, 1e6)))
    if chance(rng, 0.03):
        options["n_jobs"] = 2
    return case.changed(options=options, twist=pick(rng, TWISTS) if chance(rng, 0.06) else "")


def _path_options(rng: Any, case: Case) -> Case:
    options: dict[str, Any] = _tolerance(rng)
    if case.penalty in ("None", "Zero") or chance(rng, 0.4):
        options["alphas"] = np.sort(10.0 ** rng.uniform(-3.0, 1.0, int(rng.integers(1, 5))))[::-1].copy()
        options["alphas"][-1] *= not chance(rng, 0.2)
    else:
        options.update(n_alphas=int(rng.integers(1, 6)), eps=pick(rng, (0.5, 0.1, 1e-2)))
    if chance(rng, 0.4):
        options["intercept"] = True
    return case.changed(options={**options, "max_iter": pick(rng, (1, *MOST_ROUNDS))})


def _minimize(rng: Any, few: bool) -> Case:
    rule, oracle, steepness, step, loss, shape, is_sparse = pick(rng, engines(few))
    case = _problem(rng, "minimize", loss, SHAPES[shape], is_sparse, False, 30)
    parts = {"rule": rule, "oracle": oracle, "steepness": steepness, "step": step, "rng": int(rng.integers(100))}
    limits = {"tol": pick(rng, (1e-6, 1e-3, 1e-10, 0.0)), "max_iter": pick(rng, (0, 1, 30, 100, 300))}
    return case.changed(options={**parts, **limits})


def _stochastic(rng: Any, few: bool) -> Case:
    """Tall data, and any parts go together; most runs are interpreted."""
    return draw_likely(rng, few, {"rule": RULES, "steepness": STEEPNESSES, "step": STEPS}, partial(_problem, rng))


def _dual_svm(rng: Any, few: bool) -> Case:
    d, n = draw_shape(rng, 80)
    A, storage = draw_storage(rng, draw_matrix(rng, d, n), not few and chance(rng, 0.3))
    options = {**_tolerance(rng), **_limits(rng), "C": float(10.0 ** rng.uniform(-6.0, 6.0))}
    options["loss"] = pick(rng, ("hinge", "squared_hinge"))
    labels = draw_target(rng, A, "squared_hinge")
    return Case("DualSVM", A, labels, "squared_hinge", storage=storage, options=options)


# ------------------------------------------------------------------------------------------- interpreted runs


def _steps(rng: Any, few: bool) -> Case:
    """Any parts go together, but the problem is small."""
    parts = {"rule": RULES, "oracle": SAFE, "steepness": STEEPNESSES, "step": STEPS}
    options: dict[str, Any] = {name: pick(rng, values) for name, values in parts.items()}
    shape = int(rng.integers(len(SHAPES)))
    if options["steepness"] in ("gs", "gsl"):
        shape = pick(rng, (0, 2, KINDS, KINDS + 2))
    loss, A = pick(rng, LOSSES[:4]), _small_matrix(rng)
    weight = rng.random(len(A)) + 0.1 if chance(rng, 0.3) else None
    b = draw_target(rng, A, loss)
    parameters = draw_parameters(rng, SHAPES[shape], *scales_of(A, b, weight, loss))
    options.update(rng=int(rng.integers(100)), max_iter=int(rng.integers(1, 40)), tol=0.0)
    return Case("steps", A, b, loss, 1.35, SHAPES[shape][0], parameters, weight, pick(rng, ("csc", "F", "F")), options)


def _small_matrix(rng: Any) -> Array:
    A = rng.standard_normal((int(rng.integers(1, 7)), int(rng.integers(1, 7))))
    return A * (rng.random(A.shape) < pick(rng, (0.4, 1.0))) * 10.0 ** rng.uniform(-2.0, 2.0, A.shape[1])


def _user(rng: Any, few: bool) -> Case:
    """A penalty of a user's own, on a small problem."""
    loss, name, A = pick(rng, LOSSES[:4]), pick(rng, tuple(USERS)), _small_matrix(rng)
    b = draw_target(rng, A, loss)
    gradient, size = scales_of(A, b, None, loss)
    strength = float(gradient.max() * 10.0 ** rng.uniform(-3.0, 0.3)) or 1.0
    options: dict[str, Any] = {**_tolerance(rng), **_limits(rng)}
    if chance(rng, 0.3):
        options["intercept"] = True
    if name == "Between":
        low, high = sorted(float(end) for end in size * rng.standard_normal(2))
        parameters = {"a": low, "b": high}
        if chance(rng, 0.5):
            options["x0"] = np.full(A.shape[1], 0.5 * (low + high))
    else:
        parameters = {"lower": strength} if name == "Absolute" else {"linear": strength / size}
    return Case("user", A, b, loss, 1.35, name, parameters, None, "F", options)
