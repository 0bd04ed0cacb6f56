"""A case from a seed: what is compiled comes from a bounded list, everything else is free.

Every combination of loss, penalty with numbers or arrays, dense or sparse matrix and weights is compiled once, which
takes seconds: ``combinations`` lists those of ``solve`` and ``path`` that are drawn from, ``engines`` those of
``minimize``.  One compiled penalty serves all blocks.

==================  ===================================================================================
family              what is drawn
==================  ===================================================================================
solve, path         single coordinates: every loss, every penalty of the library, every storage
blocks, block_path  groups, several targets, several classes
minimize            the paper's rules, oracles, steepnesses and steps
steps               every step of small interpreted runs of ``minimize``
stochastic          the oracle that samples rows
DualSVM             support vector machines
user                penalties of users
offset              an offset, in ``solve``, ``path`` and ``minimize``
weighed             weights and penalties in units of 10^-8 to 10^8
placed…             data in chunks, in tables, in other types of numbers, on a disk; of all kinds
stored_path         paths over files with little memory
hostile             small block fits that must end within seconds
estimator, …        an estimator, by its name or any; ``block_estimator`` one of blocks
==================  ===================================================================================
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from .cases import Array, Case
from .data import (
    chance,
    choose,
    draw_classes,
    draw_groups,
    draw_matrix,
    draw_shape,
    draw_storage,
    draw_target,
    draw_targets,
    draw_weights,
    pick,
)  # fmt: skip
from .estimators import BLOCK_ESTIMATORS, ESTIMATORS, draw_estimator
from .forms import TWISTS
from .penalties import KINDS, SHAPES, draw_block_penalty, draw_parameters, draw_strength, scales_of
from .placed import PLACES, moved
from .steps import RULES, SAFE, STEEPNESSES, STEPS, draw_stochastic, engines

#: Families and their shares of all seeds.
FAMILIES = {
    "solve": 0.38, "path": 0.04, "minimize": 0.06, "DualSVM": 0.03, "steps": 0.005, "user": 0.005, "stochastic": 0.006,
    "estimator": 0.08, "blocks": 0.15, "block_path": 0.02, "block_estimator": 0.06, "placed": 0.05,
    "placed_blocks": 0.02, "placed_estimator": 0.024, "offset": 0.025, "stored_path": 0.005, "weighed": 0.02,
    "hostile": 0.02,
}  # fmt: skip
#: Those of single coordinates in memory, which ``single`` draws from.
SINGLE = ("solve", "path", "minimize", "DualSVM", "steps", "user", "estimator")
LOSSES = ("squared", "logistic", "huber", "squared_hinge", "poisson")
#: (loss, several outputs) of blocks: what is drawn, and how often.
BLOCK_LOSSES = {
    "squared": 0.3, "squared several": 0.3, "softmax": 0.25, "logistic": 0.05, "logistic several": 0.02,
    "huber several": 0.03, "squared_hinge": 0.02, "poisson": 0.03,
}  # fmt: skip
#: The few that the slice in the tests compiles: (loss, shape, sparse, weighted).
FEW = (
    ("squared", 1, False, False), ("squared", 3, True, False), ("logistic", 3, False, False),
    ("squared", 5, False, False),
)  # fmt: skip
THRESHOLDS = (1.35, 1e-3, 10.0, 0.5, 1e6)
TOLERANCES = (0.0, 1e-17, 1e-15, 1e-12, 1e-10, 1e-8, 1e-4, 1e-2)
STARTS = {"none": 0.75, "zero": 0.05, "near": 0.1, "far": 0.07, "very far": 0.03}
LIMITS = {"none": 0.75, "few": 0.15, "time": 0.05, "callback": 0.05}
OFFSETS = {"normal": 0.5, "target": 0.15, "large": 0.2, "small": 0.1, "zero": 0.05}
MOST_ROUNDS = (3,) * 18 + (6,) * 5 + (25,)
PLACED_ESTIMATORS = (
    "Lasso", "ElasticNet", "Ridge", "LogisticRegression", "LinearSVC", "PoissonRegressor", "MultiTaskLasso",
    "GroupLasso", "Multinomial",
)  # fmt: skip
#: Processor seconds that a small block fit may take.
SECONDS = 5.0


def draw(seed: int, few: bool = False, family: str | None = None) -> Case:
    """The case of a seed; ``few`` draws from the combinations of parts that the tests compile."""
    rng = np.random.default_rng(seed)
    shares = {name: FAMILIES[name] for name in SINGLE} if family == "single" else FAMILIES
    drawn = choose(rng, shares)
    name = drawn if family in (None, "single") else family
    if name in ("estimator", "block_estimator"):
        name = choose(rng, ESTIMATORS if name == "estimator" else BLOCK_ESTIMATORS)
    return _DRAWS[name](rng, few) if name in _DRAWS else draw_estimator(rng, few, name)


# ------------------------------------------------------------------------------------------- problems


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


def _problem(
    rng: Any, call: str, parts: tuple[str, int, bool, bool], largest: int = 200, size: tuple[int, int] | None = None
) -> Case:
    """A problem of single coordinates with these parts."""
    loss, shape, is_sparse, weighted = parts
    d, n = draw_shape(rng, largest) if size is None else size
    A, storage = draw_storage(rng, draw_matrix(rng, d, n), is_sparse)
    b = draw_target(rng, A, loss)
    weight = draw_weights(rng, d) if weighted else None
    threshold = pick(rng, THRESHOLDS) if loss == "huber" else 1.35
    name = SHAPES[shape][0]
    parameters = draw_parameters(rng, SHAPES[shape], *scales_of(A, b, weight, loss))
    name = "None" if name == "Zero" and not parameters else name
    return Case(call, A, b, loss, threshold, name, parameters, weight, storage)


def _blocks(rng: Any, few: bool, call: str = "solve") -> Case:
    """A problem of groups, several targets or several classes."""
    d, n = draw_shape(rng, 30 if few else 80)
    A, storage = draw_storage(rng, draw_matrix(rng, d, n), not few and chance(rng, 0.3))
    drawn = pick(rng, ("squared", "squared several", "softmax")) if few else choose(rng, BLOCK_LOSSES)
    b, loss = draw_targets(rng, A, drawn)
    weight = draw_weights(rng, d) if chance(rng, 0.35) else None
    name, parameters = draw_block_penalty(rng, *scales_of(A, b, weight, loss))
    threshold = pick(rng, THRESHOLDS) if loss == "huber" else 1.35
    return _optioned(rng, Case(call, A, b, loss, threshold, name, parameters, weight, storage))


def _single(rng: Any, few: bool, call: str = "solve", parts: Any = None) -> Case:
    return _optioned(rng, _problem(rng, call, parts or pick(rng, combinations(few)), 80 if few else 200))


def _optioned(rng: Any, case: Case) -> Case:
    """The case with options of ``solve`` or ``path``."""
    options: dict[str, Any] = {**_limits(rng), **({"intercept": True} if chance(rng, 0.4) else {})}
    if case.family != "solve":
        if case.penalty in ("None", "Zero") or chance(rng, 0.4):
            options["alphas"] = np.sort(10.0 ** rng.uniform(-3.0, 1.0, int(rng.integers(1, 5))))[::-1].copy()
            options["alphas"][-1] *= not chance(rng, 0.2)
        else:
            options.update(n_alphas=int(rng.integers(1, 6)), eps=pick(rng, (0.5, 0.1, 1e-2)))
        return case.changed(options=options)
    case = case.changed(options=options)
    options = {**options, **_start(rng, case), **({"n_jobs": 2} if chance(rng, 0.03) else {})}
    return case.changed(options=options, twist=pick(rng, TWISTS) if chance(rng, 0.07) else "")


def _limits(rng: Any) -> dict[str, Any]:
    """Tolerance and early stops."""
    found: dict[str, Any] = {} if chance(rng, 0.45) else {"tol": pick(rng, TOLERANCES)}
    kind = choose(rng, LIMITS)
    if kind == "few":
        return {**found, "max_iter": pick(rng, (0, 1, 2, 5))}
    if kind == "time":
        return {**found, "max_time": 0.0}
    if kind == "callback":
        return {**found, "stop_after": int(rng.integers(1, 4))}
    # a run that rounding keeps from its end takes all its rounds: without limits such cases would take nearly all time
    return found if chance(rng, 0.005) else {**found, "max_iter": pick(rng, MOST_ROUNDS)}


def _start(rng: Any, case: Case) -> dict[str, Any]:
    """No start, one near, or one far away; inside the bounds."""
    kind = choose(rng, STARTS)
    if kind == "none":
        return {}
    shape = (case.shape[1], case.outputs) if case.has_rows else case.shape[1:]
    size = scales_of(case.A, case.b, None, case.loss)[1]
    x = rng.standard_normal(shape) * size * {"zero": 0.0, "near": 1.0, "far": 1e4, "very far": 1e17}[kind]
    lowest = 0.0 if case.penalty == "Box" or case.parameters.get("positive") else -math.inf
    start = {"x0": np.clip(x, case.parameters.get("lower", lowest), case.parameters.get("upper", math.inf))}
    if case.options.get("intercept") and chance(rng, 0.3):
        constants = rng.standard_normal(case.outputs) * pick(rng, (1.0, 1e6))
        start["intercept0"] = constants if case.outputs > 1 else float(constants[0])
    return start


# ------------------------------------------------------------------------------------------- the paper


def _minimize(rng: Any, few: bool) -> Case:
    rule, oracle, steepness, step, loss, shape, is_sparse = pick(rng, engines(few))
    case = _problem(rng, "minimize", (loss, shape, is_sparse, False), 30)
    parts = {"rule": rule, "oracle": oracle, "steepness": steepness, "step": step, "rng": int(rng.integers(100))}
    limits = {"tol": pick(rng, (1e-6, 1e-3, 1e-10, 0.0)), "max_iter": pick(rng, (0, 1, 30, 100, 300))}
    return case.changed(options={**parts, **limits})


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


def _stochastic(rng: Any, few: bool) -> Case:
    return draw_stochastic(rng, few, lambda parts, size: _problem(rng, "stochastic", parts, 8, size))


def _small_matrix(rng: Any) -> Array:
    A = rng.standard_normal((int(rng.integers(1, 7)), int(rng.integers(1, 7))))
    return A * (rng.random(A.shape) < pick(rng, (0.4, 1.0))) * 10.0 ** rng.uniform(-2.0, 2.0, A.shape[1])


# ------------------------------------------------------------------------------------------- other kinds


def _dual_svm(rng: Any, few: bool) -> Case:
    d, n = draw_shape(rng, 80)
    A, storage = draw_storage(rng, draw_matrix(rng, d, n), not few and chance(rng, 0.3))
    options = {**_limits(rng), "C": float(10.0 ** rng.uniform(-6.0, 6.0))}
    options["loss"] = pick(rng, ("hinge", "squared_hinge"))
    labels = draw_target(rng, A, "squared_hinge")
    return Case("DualSVM", A, labels, "squared_hinge", storage=storage, options=options)


def _user(rng: Any, few: bool) -> Case:
    """A penalty of a user's own, on a small problem."""
    loss, kind, A = pick(rng, LOSSES[:4]), pick(rng, ("between", "lower", "linear")), _small_matrix(rng)
    b = draw_target(rng, A, loss)
    gradient, size = scales_of(A, b, None, loss)
    strength = float(gradient.max() * 10.0 ** rng.uniform(-3.0, 0.3)) or 1.0
    options: dict[str, Any] = {**_limits(rng), **({"intercept": True} if chance(rng, 0.3) else {})}
    parameters = {kind: strength if kind == "lower" else strength / size}
    if kind == "between":
        low, high = sorted(float(end) for end in size * rng.standard_normal(2))
        parameters = {"a": low, "b": high}
        options.update({"x0": np.full(A.shape[1], 0.5 * (low + high))} if chance(rng, 0.5) else {})
    return Case("user", A, b, loss, 1.35, "Odd", parameters, None, "F", options)


def _offset(rng: Any, few: bool) -> Case:
    """A small problem with an offset; losses with an offset are parts of their own, so the runs are interpreted."""
    called = choose(rng, {"solve": 0.6, "path": 0.2, "minimize": 0.2})
    parts = pick(rng, combinations())
    case = _minimize(rng, few) if called == "minimize" else _optioned(rng, _problem(rng, called, parts, 8))
    kind, size, offset = choose(rng, OFFSETS), float(np.abs(case.b).max()) or 1.0, rng.standard_normal(len(case.b))
    if kind == "zero":
        offset = np.zeros(offset.size)
    elif case.loss == "poisson":  # its exponential is to be a number
        offset = np.clip(offset * pick(rng, (1.0, 10.0)), -30.0, 30.0)
    elif kind == "target":  # all or nearly all of it
        offset = np.array(case.b, dtype=float) + (1e-3 * size * offset if chance(rng, 0.5) else 0.0)
    else:
        offset = offset * size * {"normal": 1.0, "large": 10.0 ** rng.uniform(0.0, 9.0), "small": 1e-9}[kind]
    return case.changed(family="offset", twist="").with_option(offset=offset, call=called)


def _weighed(rng: Any, few: bool) -> Case:
    """Weights, and with them the penalty, in other units."""
    case = _single(rng, False, pick(rng, ("solve", "path")), pick(rng, [each for each in combinations() if each[3]]))
    factor = float(10.0 ** rng.uniform(-8.0, 8.0))
    parameters = {
        name: value * factor if name in ("strength", "l1", "l2", "linear") else value
        for name, value in case.parameters.items()
    }
    return case.changed(weight=case.weight * factor, parameters=parameters)


# ------------------------------------------------------------------------------------------- other places


def _place(rng: Any, few: bool) -> str:
    return pick(rng, ("parted", "table")) if few else choose(rng, PLACES)


def _placed(rng: Any, few: bool) -> Case:
    """Kernels are compiled for every type and layout: those read in place meet two losses and one penalty only."""
    kind = _place(rng, few)
    held = (pick(rng, ("squared", "logistic")), 1, False, False)
    return moved(rng, _single(rng, few, parts=held if few or kind in ("held", "npy") else None), kind)


def _placed_blocks(rng: Any, few: bool) -> Case:
    return moved(rng, _blocks(rng, True), _place(rng, few))


def _placed_estimator(rng: Any, few: bool) -> Case:
    name = pick(rng, PLACED_ESTIMATORS[:1] if few else PLACED_ESTIMATORS)
    return moved(rng, draw_estimator(rng, True, name), _place(rng, few))


def _stored_path(rng: Any, few: bool) -> Case:
    """A path over a file, of which the memory allowed holds a part."""
    size = (int(rng.integers(20, 60)), int(rng.integers(60, 200))) if chance(rng, 0.8) else None
    case = _optioned(rng, _problem(rng, "stored_path", (pick(rng, LOSSES[:2]), 1, False, False), size=size))
    if "n_alphas" in case.options:  # enough for guesses
        case = case.with_option(n_alphas=int(rng.integers(4, 16)), early_stop=False, max_iter=25)
    case = moved(rng, case, "npy")
    return case.changed(storage=f"{case.storage}:{int(10.0 ** rng.uniform(3.5, 6.0))}")


# ------------------------------------------------------------------------------------------- hostile block fits


def _hostile(rng: Any, few: bool) -> Case:
    """A small fit of blocks as a user makes it, without any limit of its own: it must end soon, and be proved."""
    d, n = int(rng.integers(3, 61)), int(rng.integers(1, 121))
    A = rng.standard_normal((d, n))
    for j in np.flatnonzero(rng.random(n) < pick(rng, (0.0, 0.1, 0.4))):
        A[:, j] = pick(rng, (A[:, int(rng.integers(n))], A[:, int(rng.integers(n))], 1.0, 0.0, 1e3))
    if chance(rng, 0.2):
        A = A + pick(rng, (1.0, 1e3, 1e6))
    if chance(rng, 0.3):
        A = A * 10.0 ** rng.uniform(-8.0, 8.0, n)
    if chance(rng, 0.3):
        A = A * 10.0 ** rng.uniform(-20.0, 20.0)
    kind = choose(rng, {"softmax": 0.45, "several": 0.35, "groups": 0.2})
    weight = None
    if chance(rng, 0.5):
        weight = np.array([pick(rng, (0.0, 1.0, 1e8, 1e-8)) for _ in range(d)])
        weight[:3] = np.maximum(weight[:3], 1e-8)
    return _hostile_fit(rng, kind, A, weight)


def _hostile_fit(rng: Any, kind: str, A: Array, weight: Array | None) -> Case:
    (d, n), options = A.shape, {"intercept": chance(rng, 0.6)}
    if chance(rng, 0.3):
        options["tol"] = pick(rng, (1e-3, 1e-8, 1e-10))
    if kind == "softmax":
        b, loss = np.minimum(draw_classes(rng, A, 7), 5), "softmax"
        b[:3] = (0, 1, 2)
    else:
        T, loss = (1 if kind == "groups" else int(rng.integers(2, 7))), "squared"
        model = rng.standard_normal((n, T)) * (rng.random((n, 1)) < 0.3)
        b = (A / (np.abs(A).max() or 1.0)) @ model + pick(rng, (0.0, 0.1, 1.0)) * rng.standard_normal((d, T))
        b = b * (10.0 ** rng.uniform(-20.0, 20.0) if chance(rng, 0.3) else 1.0)
        b = b[:, 0] if T == 1 else b
    gradient, size = scales_of(A, b, weight, loss)
    strength = draw_strength(rng, float(gradient.max()))
    ridge = {"ridge": strength / size} if chance(rng, 0.3) else {}
    penalty, parameters = "L21", {"strength": strength, **ridge}
    if kind == "groups" or chance(rng, 0.2):
        penalty, parameters = "GroupL2", {"strength": strength, "groups": draw_groups(rng, n), **ridge}
    if chance(rng, 0.3):  # l1 alone on every coefficient, as in a multinomial lasso, or with groups
        groups = [[j] for j in range(n)] if penalty == "L21" else parameters["groups"]
        l2 = 0.0 if penalty == "L21" else 0.5 * strength
        penalty, parameters = "SparseGroup", {"l1": strength, "l2": l2, "groups": groups}
    return Case("solve", A, b, loss, 1.35, penalty, parameters, weight, "F", options, seconds=SECONDS)


_DRAWS: dict[str, Any] = {
    "solve": _single,
    "path": lambda rng, few: _single(rng, few, "path"),
    "blocks": _blocks,
    "block_path": lambda rng, few: _blocks(rng, few, "path"),
    "minimize": _minimize, "steps": _steps, "stochastic": _stochastic, "DualSVM": _dual_svm, "user": _user,
    "offset": _offset, "weighed": _weighed, "placed": _placed, "placed_blocks": _placed_blocks,
    "placed_estimator": _placed_estimator, "stored_path": _stored_path, "hostile": _hostile,
}  # fmt: skip
