"""A case from a seed: what is compiled comes from a bounded list, everything else is free.

Every combination of loss, penalty with numbers or arrays, dense or sparse matrix and weights is compiled once, which
takes seconds: ``combinations`` lists those that are drawn from.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from .cases import SPARSE, STORAGES, Array, Case
from .estimator_draw import ESTIMATORS, draw_estimator
from .twists import TWISTS
from .user_parts import USERS

LOSSES = ("squared", "logistic", "huber", "squared_hinge", "poisson")
#: Penalties, and which of their parameters are arrays: none or all.
SHAPES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Zero", ()), ("L1", ()), ("L2", ()), ("L1L2", ()), ("Box", ()), ("BoundedL1L2", ()),
    ("Zero", ("linear",)), ("L1", ("strength", "weights", "linear")), ("L2", ("strength", "weights", "linear")),
    ("L1L2", ("l1", "l2", "weights", "linear")), ("Box", ("lower", "upper", "l2", "linear")),
    ("BoundedL1L2", ("l1", "l2", "lower", "upper", "weights", "linear")),
)  # fmt: skip
KINDS = len(SHAPES) // 2
#: The few that the slice in the tests compiles: (loss, shape, sparse, weighted).
FEW = (
    ("squared", 1, False, False), ("squared", 1, True, False), ("logistic", 1, False, False),
    ("squared", 4, False, False), ("squared", 0, False, False),
)  # fmt: skip
RULES = (
    "cyclic", "uniform", "importance", "steepest", "ascd", "u-ascd", "l-ascd", "a-ascd", "look-ahead", "adaptive",
    "block",
)  # fmt: skip
ORACLES = ("exact", "norm", "simulated", "cached", "reference", "sketch", "random")
#: Those whose intervals are proved, not only likely.
SAFE = ("exact", "norm", "simulated", "cached", "reference", "random")
STEEPNESSES = ("gs-s", "gsl-s", "gs-r", "gs-q", "gsl-r", "gsl-q", "gs", "gsl")
STEPS = ("coordinate", "fixed", "line-search")
FAMILIES = {
    "solve": 0.62,
    "path": 0.08,
    "minimize": 0.1,
    "DualSVM": 0.05,
    "steps": 0.008,
    "user": 0.007,
    "estimator": 0.135,
}
TOLERANCES = (0.0, 1e-17, 1e-15, 1e-12, 1e-10, 1e-8, 1e-4, 1e-2)


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
        return (("a-ascd", "norm", "gs-s", "coordinate", "squared", 1, False),)
    found = []
    for i in range(4 * len(RULES)):
        lap = i // len(RULES)
        rule, oracle = RULES[i % len(RULES)], ORACLES[(i + lap) % len(ORACLES)]
        steepness, step = STEEPNESSES[(i + 3 * lap) % len(STEEPNESSES)], STEPS[(i + lap) % len(STEPS)]
        loss, shape = LOSSES[(i + lap) % 4], (i + 5 * lap) % KINDS
        if steepness in ("gs", "gsl"):
            shape = 2 if i % 2 else 0
        found.append((rule, oracle, steepness, step, loss, shape, i % 4 == 3))
    return tuple(found)


def draw(seed: int, few: bool = False, family: str | None = None) -> Case:
    """The case of a seed."""
    rng = np.random.default_rng(seed)
    drawn = str(rng.choice(list(FAMILIES), p=list(FAMILIES.values())))
    family = drawn if family is None else family
    if family == "estimator" or family in ESTIMATORS:
        return draw_estimator(rng, few, None if family == "estimator" else family)
    if family == "minimize":
        return _minimize(rng, few)
    if family == "user":
        return _user(rng)
    if family == "steps":
        return _steps(rng)
    if family == "DualSVM":
        return _dual_svm(rng)
    loss, shape, is_sparse, weighted = _pick(rng, combinations(few))
    case = _problem(rng, family, loss, SHAPES[shape], is_sparse, weighted, few)
    return _path_options(rng, case) if family == "path" else _solve_options(rng, case)


def _pick(rng: Any, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def chance(rng: Any, share: float) -> bool:
    return bool(rng.random() < share)


# ------------------------------------------------------------------------------------------- data


def draw_shape(rng: Any, large: float = 0.01) -> tuple[int, int]:
    """Mostly small."""
    most = rng.choice([1, 3, 8, 30, 80, 200], p=[0.05, 0.25, 0.45, 0.2, 0.05 - large, large])
    return int(rng.integers(1, most + 1)), int(rng.integers(1, most * (2 if most > 30 else 1) + 1))


def draw_matrix(rng: Any, d: int, n: int) -> Array:
    """Normal, sparse, binary, integer or nearly dependent columns; some equal, constant or zero; scales."""
    kind = rng.choice(
        ["normal", "sparse", "binary", "integer", "powers", "low-rank"], p=[0.45, 0.2, 0.1, 0.1, 0.05, 0.1]
    )
    A = rng.standard_normal((d, n))
    if kind == "sparse":
        A *= rng.random((d, n)) < rng.choice([0.1, 0.3, 0.6])
    elif kind == "binary":
        A = (rng.random((d, n)) < 0.4).astype(float)
    elif kind == "integer":
        A = rng.integers(-3, 4, (d, n)).astype(float)
    elif kind == "powers":
        A = np.linspace(-1.0, 1.0, d)[:, None] ** np.arange(n)[None, :]
    elif kind == "low-rank":
        A = rng.standard_normal((d, 1)) @ rng.standard_normal((1, n)) + 10.0 ** rng.integers(-12, 0) * A
    for j in range(n):
        if chance(rng, 0.08):
            A[:, j] = _pick(rng, (np.zeros(d), np.ones(d), A[:, int(rng.integers(n))], np.full(d, -2.5)))
    if chance(rng, 0.15):
        A = A * 10.0 ** rng.uniform(-6.0, 6.0, n)
    if chance(rng, 0.15):
        A = A + rng.choice([1.0, 1e3, 1e8])
    if chance(rng, 0.12):
        A = A * 10.0 ** rng.uniform(-150.0, 150.0)
    if chance(rng, 0.02):
        A = A * 5e-324 * rng.choice([1.0, 1e3, 1e15])
    if chance(rng, 0.01):
        A = np.where(rng.random(A.shape) < 0.3, 2e-310, A)
    return A


def draw_target(rng: Any, A: Array, loss: str) -> Array:
    d, n = A.shape
    with np.errstate(all="ignore"):
        x = rng.standard_normal(n) * (rng.random(n) < 0.5)
        size = np.abs(A).max() or 1.0
        clean = np.nan_to_num((A / size) @ x)
    noise = rng.standard_normal(d) * rng.choice([0.0, 0.1, 1.0])
    if loss in ("logistic", "squared_hinge"):
        kind = rng.choice(["model", "random", "separable", "one class"], p=[0.5, 0.3, 0.15, 0.05])
        if kind == "random":
            return rng.choice([-1.0, 1.0], d)
        if kind == "one class":
            return np.full(d, rng.choice([-1.0, 1.0]))
        return np.where(clean + noise * (kind == "model") >= 0.0, 1.0, -1.0)
    if loss == "poisson":
        mean = np.exp(np.clip(clean, -3.0, 3.0))
        kind = rng.choice(["counts", "zeros", "real", "large"], p=[0.6, 0.1, 0.2, 0.1])
        if kind == "zeros":
            return np.zeros(d)
        if kind == "real":
            return mean * rng.random(d)
        return rng.poisson(mean).astype(float) * (1.0 if kind == "counts" else 10.0 ** rng.uniform(0.0, 12.0))
    kind = rng.choice(["model", "noise", "zero", "constant", "column", "outlier"], p=[0.55, 0.2, 0.04, 0.06, 0.05, 0.1])
    b = clean + noise
    if kind == "noise":
        b = rng.standard_normal(d)
    elif kind == "zero":
        b = np.zeros(d)
    elif kind == "constant":
        b = np.full(d, float(rng.choice([1.0, -3.0, 1e8, 0.1])))
    elif kind == "column":
        b = A[:, int(rng.integers(n))].copy()
    elif kind == "outlier":
        b[int(rng.integers(d))] += 10.0 ** rng.uniform(1.0, 10.0)
    if chance(rng, 0.3):
        b = b * 10.0 ** rng.uniform(-6.0, 8.0)
    if chance(rng, 0.06):
        b = b * 10.0 ** rng.uniform(-150.0, 150.0) if np.abs(b).max() < 1e10 else b
    return b


def draw_weights(rng: Any, d: int) -> Array:
    kind = rng.choice(["uniform", "zeros", "spread", "ones", "one", "none"], p=[0.35, 0.3, 0.2, 0.08, 0.05, 0.02])
    weight = rng.random(d) + 1e-3
    if kind == "zeros":
        weight[rng.random(d) < 0.4] = 0.0
    elif kind == "spread":
        weight = 10.0 ** rng.uniform(-12.0, 12.0, d)
    elif kind == "ones":
        weight = np.ones(d)
    elif kind == "one":
        weight = np.zeros(d)
        weight[int(rng.integers(d))] = 2.0
    elif kind == "none":
        weight = np.zeros(d)
    return weight


def draw_storage(rng: Any, A: Array, is_sparse: bool) -> tuple[Array, str]:
    """A storage, and A with the numbers that it can hold."""
    plain = [storage for storage in STORAGES if storage not in SPARSE]
    storage = str(rng.choice(SPARSE if is_sparse else plain))
    if storage == "float32":
        with np.errstate(all="ignore"):
            rounded = A.astype(np.float32).astype(float)
        return (rounded, storage) if np.isfinite(rounded).all() else (A, "F")
    if storage == "int":
        return (np.round(A * 3.0), storage) if np.abs(A).max() < 1e15 else (A, "F")
    if storage == "list":
        return A, storage
    return A, storage


# ------------------------------------------------------------------------------------------- problems


def _problem(
    rng: Any, family: str, loss: str, shape: tuple[str, tuple[str, ...]], is_sparse: bool, weighted: bool, few: bool
) -> Case:
    d, n = draw_shape(rng, 0.0 if few else 0.01)
    A, storage = draw_storage(rng, draw_matrix(rng, d, n), is_sparse)
    b = draw_target(rng, A, loss)
    weight = draw_weights(rng, d) if weighted else None
    threshold = float(rng.choice([1.35, 1e-3, 10.0, 0.5, 1e6])) if loss == "huber" else 1.35
    parameters = _parameters(rng, shape, *_scales(A, b, weight, loss))
    name = "None" if shape[0] == "Zero" and not parameters else shape[0]
    return Case(family, A, b, loss, threshold, name, parameters, weight, storage)


def _scales(A: Array, b: Array, weight: Array | None, loss: str) -> tuple[Array, float]:
    """Sizes of the gradient at zero, a coordinate each, and of a typical x."""
    s = np.ones(len(b)) if weight is None else weight
    slope = s * {"squared": b, "huber": np.clip(b, -10.0, 10.0), "poisson": b - 1.0}.get(loss, b)
    with np.errstate(all="ignore"):
        gradient = np.nan_to_num(np.abs(A.T @ slope), posinf=1e300)
        square = np.nan_to_num((A * A).max(), posinf=1e300)
        size = np.abs(b).max() / np.sqrt(square) if square > 0.0 else 1.0
    return gradient, float(np.clip(np.nan_to_num(size, posinf=1e150), 1e-150, 1e150)) or 1.0


def _strength(rng: Any, scale: float) -> float:
    """Nothing, a share of the largest useful one, just that one, or more."""
    kind = rng.choice(
        ["zero", "share", "exact", "above", "tiny", "one", "huge"], p=[0.06, 0.55, 0.1, 0.1, 0.1, 0.07, 0.02]
    )
    scale = min(scale, 1e290)
    return {
        "zero": 0.0, "share": scale * 10.0 ** rng.uniform(-4.0, 0.0), "exact": scale, "above": 1.5 * scale,
        "tiny": scale * 10.0 ** rng.uniform(-16.0, -6.0), "one": 1.0, "huge": 1e8 * scale,
    }[kind]  # fmt: skip


def _parameters(rng: Any, shape: tuple[str, tuple[str, ...]], gradient: Array, size: float) -> dict[str, Any]:
    """Values of a penalty's parameters, of the scale of the problem."""
    name, arrays = shape
    n, top = gradient.size, float(gradient.max())
    curvature = top / size if top > 0.0 and np.isfinite(top / size) else 1.0
    scale = {"strength": top if name == "L1" else curvature, "l1": top, "l2": curvature}
    found: dict[str, Any] = {}
    names = {"Zero": ("linear",), "L1": ("strength",), "L2": ("strength",), "L1L2": ("l1", "l2"),
             "Box": ("lower", "upper"), "BoundedL1L2": ("l1", "lower", "upper")}[name]  # fmt: skip
    optional = {"Box": ("l2", "linear"), "BoundedL1L2": ("l2", "weights", "linear"), "Zero": ()}.get(
        name, ("weights", "linear")
    )
    if name == "Zero" and not arrays and chance(rng, 0.6):
        return {}
    for key in dict.fromkeys((*names, *arrays, *(key for key in optional if chance(rng, 0.25) and not arrays))):
        if key in scale:
            value: Any = _strength(rng, scale[key])
            if key in arrays:
                value = np.array([_strength(rng, scale[key]) if chance(rng, 0.3) else value for _ in range(n)])
        elif key == "weights":
            value = draw_weights(rng, n) if key in arrays else float(rng.choice([1.0, 0.0, 0.5, 1e-12, 1e12]))
        elif key == "linear":
            value = _linear(rng, gradient if key in arrays else gradient[:1])
            value = value if key in arrays else float(value[0])
        else:
            continue
        found[key] = value
    if name in ("Box", "BoundedL1L2"):
        found.update(_bounds(rng, n, size, "lower" in arrays))
    with np.errstate(all="ignore"):
        return {key: np.nan_to_num(value, posinf=1e300, neginf=-1e300) if key not in ("lower", "upper") else value
                for key, value in found.items()} if not all_finite(found) else found  # fmt: skip


def all_finite(found: dict[str, Any]) -> bool:
    return all(np.isfinite(value).all() for key, value in found.items() if key not in ("lower", "upper"))


def _linear(rng: Any, gradient: Array) -> Array:
    kind = rng.choice(["zero", "share", "sign", "one"], p=[0.3, 0.4, 0.2, 0.1])
    signs = rng.choice([-1.0, 1.0], gradient.size)
    if kind == "zero":
        return np.zeros(gradient.size)
    if kind == "one":
        return signs
    return signs * gradient * rng.choice([1e-3, 0.1, 1.0]) * (1.0 if kind == "share" else rng.random(gradient.size))


def _bounds(rng: Any, n: int, size: float, arrays: bool) -> dict[str, Any]:
    pairs = [_interval(rng, size) for _ in range(n if arrays else 1)]
    lower, upper = np.array(pairs).T
    return {"lower": lower, "upper": upper} if arrays else {"lower": float(lower[0]), "upper": float(upper[0])}


def _interval(rng: Any, size: float) -> tuple[float, float]:
    kind = rng.choice(
        ["non-negative", "free", "box", "point", "away", "upper", "wide"], p=[0.3, 0.1, 0.3, 0.08, 0.1, 0.1, 0.02]
    )
    size = float(np.clip(size, 1e-100, 1e100))
    a, b = sorted(float(v) for v in size * rng.standard_normal(2))
    return {
        "non-negative": (0.0, math.inf), "free": (-math.inf, math.inf), "box": (min(a, 0.0), max(b, 0.0)),
        "point": (a, a), "away": (abs(b), 2.0 * abs(b) + abs(a)), "upper": (-math.inf, b), "wide": (-1e150, 1e150),
    }[kind]  # fmt: skip


# ------------------------------------------------------------------------------------------- options


def _tolerance(rng: Any) -> dict[str, float]:
    return {} if chance(rng, 0.45) else {"tol": float(rng.choice(TOLERANCES))}


def _start(rng: Any, case: Case) -> Array | None:
    """No start, one near, or one far away; inside the bounds."""
    n = case.shape[1]
    kind = rng.choice(["none", "zero", "near", "far", "very far"], p=[0.75, 0.05, 0.1, 0.07, 0.03])
    if kind == "none":
        return None
    with np.errstate(all="ignore"):
        size = np.abs(case.b).max() / (np.abs(case.A).max() or 1.0)
    size = float(np.clip(np.nan_to_num(size, posinf=1e100), 1e-100, 1e100)) or 1.0
    x = rng.standard_normal(n) * size * {"zero": 0.0, "near": 1.0, "far": 1e4, "very far": 1e17}[kind]
    return np.clip(x, case.parameters.get("lower", -math.inf if case.penalty != "Box" else 0.0),
                   case.parameters.get("upper", math.inf))  # fmt: skip


def _limits(rng: Any) -> dict[str, Any]:
    kind = rng.choice(["none", "few", "time", "callback"], p=[0.75, 0.15, 0.05, 0.05])
    if kind == "few":
        return {"max_iter": int(rng.choice([0, 1, 2, 5]))}
    if kind == "time":
        return {"max_time": 0.0}
    if kind == "callback":
        return {"stop_after": int(rng.integers(1, 4))}
    # a run that rounding keeps from its end may take all its rounds, and most of the time of all cases
    return {} if chance(rng, 0.05) else {"max_iter": 40}


def _solve_options(rng: Any, case: Case) -> Case:
    options: dict[str, Any] = {**_tolerance(rng), **_limits(rng)}
    if chance(rng, 0.4):
        options["intercept"] = True
    if (x0 := _start(rng, case)) is not None:
        options["x0"] = x0
        if "intercept" in options and chance(rng, 0.3):
            options["intercept0"] = float(rng.standard_normal() * rng.choice([1.0, 1e6]))
    if chance(rng, 0.03):
        options["n_jobs"] = 2
    twist = str(rng.choice(TWISTS)) if chance(rng, 0.06) else ""
    return case.changed(options=options, twist=twist)


def _path_options(rng: Any, case: Case) -> Case:
    options: dict[str, Any] = _tolerance(rng)
    if case.penalty == "Zero" or chance(rng, 0.4):
        options["alphas"] = np.sort(10.0 ** rng.uniform(-3.0, 1.0, int(rng.integers(1, 5))))[::-1].copy()
        if chance(rng, 0.2):
            options["alphas"][-1] = 0.0
    else:
        options["n_alphas"], options["eps"] = int(rng.integers(1, 6)), float(rng.choice([0.5, 0.1, 1e-2]))
    if chance(rng, 0.4):
        options["intercept"] = True
    return case.changed(options={**options, **{k: v for k, v in _limits(rng).items() if k == "max_iter"}})


def _minimize(rng: Any, few: bool) -> Case:
    rule, oracle, steepness, step, loss, shape, is_sparse = _pick(rng, engines(few))
    case = _problem(rng, "minimize", loss, SHAPES[shape], is_sparse, False, True)
    parts = {"rule": rule, "oracle": oracle, "steepness": steepness, "step": step, "rng": int(rng.integers(100))}
    tol = float(rng.choice([1e-6, 1e-3, 1e-10, 0.0]))
    return case.changed(options={**parts, "tol": tol, "max_iter": int(rng.choice([0, 1, 30, 300, 2000]))})


def _steps(rng: Any) -> Case:
    """Interpreted: any parts go together, but the problem is small."""
    parts = {"rule": RULES, "oracle": SAFE, "steepness": STEEPNESSES, "step": STEPS}
    options = {name: str(rng.choice(values)) for name, values in parts.items()}
    smooth = options["steepness"] in ("gs", "gsl")
    shape = SHAPES[int(rng.choice([0, 2, 6, 8]) if smooth else rng.integers(len(SHAPES)))]
    loss = str(rng.choice(LOSSES[:4]))
    d, n = int(rng.integers(1, 7)), int(rng.integers(1, 7))
    A = rng.standard_normal((d, n)) * (rng.random((d, n)) < rng.choice([0.4, 1.0]))
    A *= 10.0 ** rng.uniform(-2.0, 2.0, n)
    weight = rng.random(d) + 0.1 if chance(rng, 0.3) else None
    b = draw_target(rng, A, loss)
    parameters = _parameters(rng, shape, *_scales(A, b, weight, loss))
    options.update(rng=int(rng.integers(100)), max_iter=int(rng.integers(1, 40)), tol=0.0)
    storage = "csc" if chance(rng, 0.3) else "F"
    return Case("steps", A, b, loss, 1.35, shape[0], parameters, weight, storage, options)


def _user(rng: Any) -> Case:
    """A penalty of a user's own, on a small problem."""
    d, n = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    A = rng.standard_normal((d, n)) * 10.0 ** rng.uniform(-1.0, 1.0, n)
    loss, name = str(rng.choice(LOSSES[:4])), str(rng.choice(list(USERS)))
    b = draw_target(rng, A, loss)
    gradient, size = _scales(A, b, None, loss)
    strength = float(gradient.max() * 10.0 ** rng.uniform(-3.0, 0.3)) or 1.0
    options: dict[str, Any] = {**_tolerance(rng), **_limits(rng), **({"intercept": True} if chance(rng, 0.3) else {})}
    if name == "Between":
        a, b_end = sorted(size * rng.standard_normal(2))
        parameters = {"a": float(a), "b": float(b_end)}
        if chance(rng, 0.5):
            options["x0"] = np.full(n, 0.5 * (a + b_end))
    else:
        parameters = {"lower": strength} if name == "Absolute" else {"linear": strength / size}
    return Case("user", A, b, loss, 1.35, name, parameters, None, "F", options)


def _dual_svm(rng: Any) -> Case:
    d, n = draw_shape(rng, 0.0)
    A, storage = draw_storage(rng, draw_matrix(rng, d, n), chance(rng, 0.3))
    options = {**_tolerance(rng), **_limits(rng), "C": float(10.0 ** rng.uniform(-6.0, 6.0))}
    options["loss"] = str(rng.choice(["hinge", "squared_hinge"]))
    return Case("DualSVM", A, draw_target(rng, A, "squared_hinge"), storage=storage, options=options)
