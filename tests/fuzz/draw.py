"""A case from a seed: what is compiled comes from a bounded list, everything else is free.

Every combination of parts is compiled once, which takes seconds: ``combinations`` (``single_draw``) lists those of
``solve`` and ``path`` that are drawn from, ``engines`` those of ``minimize``.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from .block_draw import FAMILIES as BLOCKS
from .block_draw import draw_blocks
from .block_estimators import BLOCK_ESTIMATORS, draw_block_estimator
from .cases import Array, Case
from .chance import chance, choose, pick
from .data import draw_matrix, draw_shape, draw_storage, draw_target
from .estimator_draw import ESTIMATORS, draw_estimator
from .later_draw import LAST, draw_last
from .likely import draw_likely
from .penalty_draw import KINDS, SHAPES, draw_parameters, scales_of
from .placed_draw import STORED, draw_placed
from .single_draw import LOSSES, draw_limits, draw_plain, draw_problem, draw_tolerance
from .user_parts import USERS

RULES = (
    "cyclic", "uniform", "importance", "steepest", "ascd", "u-ascd", "l-ascd", "a-ascd", "look-ahead", "adaptive",
    "block", "working-set",
)  # fmt: skip
#: Oracles whose intervals are proved come first; those of the sketch are only likely.
ORACLES = ("exact", "norm", "simulated", "cached", "reference", "random", "sketch")
SAFE = ORACLES[:-1]
STEEPNESSES = ("gs-s", "gsl-s", "gs-r", "gs-q", "gsl-r", "gsl-q", "gs", "gsl")
STEPS = ("coordinate", "fixed", "line-search", "local")
#: What ``minimize`` uses where nothing is asked for.
DEFAULT = ("working-set", "reference", "gs-s", "coordinate")
FAMILIES = {
    "solve": 0.63, "path": 0.07, "minimize": 0.1, "DualSVM": 0.05, "steps": 0.008, "user": 0.007, "estimator": 0.135
}  # fmt: skip
#: Families that came later, as shares of all seeds; "" for the ones above.
NEWER = {"": 0.65, "blocks": 0.25, "placed": 0.1}
#: The share of the others that is "stochastic".
LIKELY = 0.01
SALT = 22


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
        return draw_placed(rng, few, family, partial(draw_plain, few=few, family="solve"))
    if family in ("blocks", *BLOCKS, *BLOCK_ESTIMATORS):
        return _blocks(rng, few, family)
    family = drawn if family is None else family
    if family == "estimator" or family in ESTIMATORS:
        return draw_estimator(rng, few, None if family == "estimator" else family)
    special = {
        "minimize": _minimize, "steps": _steps, "user": _user, "DualSVM": _dual_svm, "stochastic": _stochastic,
    }  # fmt: skip
    if family in LAST:
        return draw_last(rng, family, partial(_minimize, rng, few))
    if family in special:
        return special[family](rng, few)
    return draw_plain(rng, None, few, family)


def _newer(seed: int) -> str | None:
    """A family that came later, in a share of the seeds; the others draw what they drew before there were any."""
    if last := choose(np.random.default_rng([seed, SALT + 1]), LAST):
        return last
    rng = np.random.default_rng([seed, SALT])
    return choose(rng, NEWER) or ("stochastic" if chance(rng, LIKELY) else None)


def _blocks(rng: Any, few: bool, family: str) -> Case:
    name = choose(rng, BLOCKS) if family == "blocks" else family
    if name == "block_estimator" or name in BLOCK_ESTIMATORS:
        return draw_block_estimator(rng, few, None if name == "block_estimator" else name)
    return draw_blocks(rng, few, name)


def _minimize(rng: Any, few: bool) -> Case:
    rule, oracle, steepness, step, loss, shape, is_sparse = pick(rng, engines(few))
    case = draw_problem(rng, "minimize", loss, SHAPES[shape], is_sparse, False, 30)
    parts = {"rule": rule, "oracle": oracle, "steepness": steepness, "step": step, "rng": int(rng.integers(100))}
    limits = {"tol": pick(rng, (1e-6, 1e-3, 1e-10, 0.0)), "max_iter": pick(rng, (0, 1, 30, 100, 300))}
    return case.changed(options={**parts, **limits})


def _stochastic(rng: Any, few: bool) -> Case:
    """Tall data, and any parts go together; most runs are interpreted."""
    return draw_likely(rng, few, {"rule": RULES, "steepness": STEEPNESSES, "step": STEPS}, partial(draw_problem, rng))


def _dual_svm(rng: Any, few: bool) -> Case:
    d, n = draw_shape(rng, 80)
    A, storage = draw_storage(rng, draw_matrix(rng, d, n), not few and chance(rng, 0.3))
    options = {**draw_tolerance(rng), **draw_limits(rng), "C": float(10.0 ** rng.uniform(-6.0, 6.0))}
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
    options: dict[str, Any] = {**draw_tolerance(rng), **draw_limits(rng)}
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
