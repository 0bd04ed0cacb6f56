"""Cases of blocks from a seed: groups, several targets, several classes; singular groups, weights of 0 and 10^±12.

One compiled penalty serves all of the library's: only losses and storages are bounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .cases import Array, Case
from .chance import chance, choose, pick
from .data import draw_matrix, draw_shape, draw_storage, draw_target, draw_weights
from .penalty_draw import LARGEST, draw_strength, scales_of
from .twists import TWISTS

#: (loss, several outputs): what is drawn, and how often.
LOSSES = {
    "squared": 0.3, "squared several": 0.3, "softmax": 0.25, "logistic": 0.05, "logistic several": 0.02,
    "huber several": 0.03, "squared_hinge": 0.02, "poisson": 0.03,
}  # fmt: skip
PENALTIES = {"GroupL2": 0.4, "SparseGroup": 0.3, "L21": 0.25, "None": 0.05}
GROUPS = {"single": 0.15, "all": 0.1, "neighbours": 0.25, "random": 0.5}
CLASSES = {"model": 0.6, "random": 0.15, "rare": 0.1, "one": 0.05, "own": 0.1}
STARTS = {"none": 0.75, "zero": 0.03, "near": 0.1, "far": 0.08, "very far": 0.04}
LIMITS = {"none": 0.75, "few": 0.15, "time": 0.05, "callback": 0.05}
TOLERANCES = (0.0, 1e-17, 1e-15, 1e-12, 1e-10, 1e-8, 1e-4, 1e-2)
FAMILIES = {
    "solve_blocks": 0.66, "path_blocks": 0.09, "block_estimator": 0.25
}  # fmt: skip


def draw_groups(rng: Any, n: int) -> list[list[int]]:
    """A partition of the columns."""
    kind = choose(rng, GROUPS)
    if kind == "single":
        return [[j] for j in range(n)]
    if kind == "all":
        return [list(range(n))]
    order = np.arange(n) if kind == "neighbours" else rng.permutation(n)
    cuts = np.flatnonzero(rng.random(n - 1) < pick(rng, (0.2, 0.5))) + 1 if n > 1 else np.arange(0)
    return [part.tolist() for part in np.split(order, cuts)]


def draw_classes(rng: Any, A: Array) -> Array:
    """Two and more classes; one with a single sample, one class alone, or every sample a class of its own."""
    (d, n), kind = A.shape, choose(rng, CLASSES)
    count = int(rng.integers(2, 7 if chance(rng, 0.9) else 20))
    if kind == "one":
        return np.full(d, int(rng.integers(count)))
    if kind == "own":
        return np.arange(d) % 40
    scores = (A / (np.abs(A).max() or 1.0)) @ rng.standard_normal((n, count)) + 0.5 * rng.standard_normal((d, count))
    labels = rng.integers(count, size=d) if kind == "random" else np.argmax(scores, axis=1)
    if kind == "rare":
        labels[int(rng.integers(d))] = count
    return labels.astype(np.int64)


def draw_targets(rng: Any, A: Array, loss: str) -> tuple[Array, str]:
    """The target, and the loss without the word for several outputs."""
    name, _, several = loss.partition(" ")
    if name == "softmax":
        return draw_classes(rng, A), name
    if not several:
        return draw_target(rng, A, name), name
    T = int(pick(rng, (1, 2, 2, 3, 3, 5, 12)))
    b = np.stack([draw_target(rng, A, name) for _ in range(T)], axis=1)
    if name == "squared" and T > 1 and chance(rng, 0.15):
        b[:, 0] = pick(rng, (0.0, 1.0, b[:, 1]))
    return b, name


def slopes_at_zero(A: Array, b: Array, loss: str, weight: Array | None) -> tuple[float, float]:
    """The largest block gradient at zero, roughly, and the size of a typical coefficient."""
    if loss == "softmax":
        columns = [np.where(b == t, 1.0, 0.0) - np.mean(b == t) for t in range(min(int(b.max()) + 1, 20))]
    else:
        columns = list(b.reshape(len(b), -1).T)
    found = [scales_of(A, column, weight, "logistic" if loss == "softmax" else loss) for column in columns]
    return float(max(gradient.max() for gradient, _ in found)), max(size for _, size in found)


def draw_block_penalty(rng: Any, A: Array, scale: float, size: float, name: str) -> dict[str, Any]:
    if name == "None":
        return {}
    n, parameters = A.shape[1], {}
    keys = ("l1", "l2") if name == "SparseGroup" else ("strength",)
    for key in keys:
        parameters[key] = draw_strength(rng, scale)
    count = n
    if name != "L21":
        parameters["groups"] = draw_groups(rng, n)
        count = len(parameters["groups"])
    if chance(rng, 0.4):
        parameters["weights"] = draw_weights(rng, count)
        if name != "L21" and chance(rng, 0.2):
            parameters["weights"] = "sqrt"
    if chance(rng, 0.25):
        parameters["ridge"] = draw_strength(rng, min(scale / size, LARGEST))
    if name != "L21" and chance(rng, 0.2):
        parameters["positive"] = True
    return parameters


def _problem(rng: Any, family: str, loss: str, is_sparse: bool, largest: int, weighted: bool, smooth: bool) -> Case:
    d, n = draw_shape(rng, largest)
    A, storage = draw_storage(rng, draw_matrix(rng, d, n), is_sparse)
    b, loss = draw_targets(rng, A, loss)
    weight = draw_weights(rng, d) if weighted else None
    name = choose(rng, PENALTIES)
    scale, size = slopes_at_zero(A, b, loss, weight)
    parameters = draw_block_penalty(rng, A, scale, size, name)
    if smooth:
        name, parameters = pick(rng, (("None", {}), ("L21", {"strength": 0.0, "ridge": scale or 1.0})))
    threshold = pick(rng, (1.35, 1e-3, 10.0, 1e6)) if loss == "huber" else 1.35
    return Case(family, A, b, loss, threshold, name, parameters, weight, storage)


def _start(rng: Any, case: Case) -> dict[str, Any]:
    kind = choose(rng, STARTS)
    if kind == "none":
        return {}
    outputs = max(2, int(case.b.max()) + 1) if case.loss == "softmax" else case.b.size // len(case.b)
    shape = (case.shape[1],) if case.b.ndim == 1 and case.loss != "softmax" else (case.shape[1], outputs)
    size = slopes_at_zero(case.A, case.b, case.loss, None)[1]
    x = rng.standard_normal(shape) * size * {"zero": 0.0, "near": 1.0, "far": 1e4, "very far": 1e17}[kind]
    start: dict[str, Any] = {"x0": np.abs(x) if case.parameters.get("positive") else x}
    if case.options.get("intercept") and chance(rng, 0.3):
        start["intercept0"] = rng.standard_normal(outputs) * pick(rng, (1.0, 1e6))
        if outputs == 1:
            start["intercept0"] = float(start["intercept0"][0])
    return start


def limits(rng: Any) -> dict[str, Any]:
    """Tolerance and early stops."""
    found: dict[str, Any] = {} if chance(rng, 0.45) else {"tol": pick(rng, TOLERANCES)}
    kind = choose(rng, LIMITS)
    if kind == "few":
        return {**found, "max_iter": pick(rng, (0, 1, 2, 5))}
    if kind == "time":
        return {**found, "max_time": 0.0}
    if kind == "callback":
        return {**found, "stop_after": int(rng.integers(1, 4))}
    return found if chance(rng, 0.005) else {**found, "max_iter": pick(rng, (3, 3, 3, 6, 6, 25))}


def draw_blocks(rng: Any, few: bool, family: str | None) -> Case:
    """A case of one of the families of blocks."""
    drawn = choose(rng, FAMILIES)
    family = drawn if family is None else family
    loss = pick(rng, ("squared", "squared several", "softmax")) if few else choose(rng, LOSSES)
    is_sparse, weighted = not few and chance(rng, 0.3), chance(rng, 0.35)
    case = _problem(rng, family, loss, is_sparse, 30 if few else 80, weighted, False)
    options = limits(rng)
    if chance(rng, 0.4):
        options["intercept"] = True
    if family == "path_blocks":
        return case.changed(options={**options, **_path(rng, case)})
    case = case.changed(options=options, twist=pick(rng, TWISTS) if chance(rng, 0.08) else "")
    options = {**options, **_start(rng, case)}
    if chance(rng, 0.03):
        options["n_jobs"] = 2
    return case.changed(options=options)


def _path(rng: Any, case: Case) -> dict[str, Any]:
    if case.penalty == "None" or chance(rng, 0.4):
        alphas = np.sort(10.0 ** rng.uniform(-3.0, 1.0, int(rng.integers(1, 5))))[::-1].copy()
        alphas[-1] *= not chance(rng, 0.2)
        return {"alphas": alphas}
    return {"n_alphas": int(rng.integers(1, 6)), "eps": pick(rng, (0.5, 0.1, 1e-2))}
