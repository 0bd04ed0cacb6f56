"""Parameters of penalties, of the scale of the problem: from none to more than enough, and just at the edge."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .cases import Array
from .data import chance, choose, draw_groups, draw_weights, pick

#: Penalties, and which of their parameters are arrays: none or all.  Each is compiled for itself.
SHAPES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Zero", ()), ("L1", ()), ("L2", ()), ("L1L2", ()), ("Box", ()), ("BoundedL1L2", ()),
    ("Zero", ("linear",)), ("L1", ("strength", "weights", "linear")), ("L2", ("strength", "weights", "linear")),
    ("L1L2", ("l1", "l2", "weights", "linear")), ("Box", ("lower", "upper", "l2", "linear")),
    ("BoundedL1L2", ("l1", "l2", "lower", "upper", "weights", "linear")),
)  # fmt: skip
KINDS = len(SHAPES) // 2
NEEDED = {"Zero": (), "L1": ("strength",), "L2": ("strength",), "L1L2": ("l1", "l2"), "Box": (), "BoundedL1L2": ("l1",)}
OPTIONAL = {"Zero": ("linear",), "Box": ("l2", "linear"), "BoundedL1L2": ("l2", "weights", "linear")}
BLOCKS = {"GroupL2": 0.4, "SparseGroup": 0.3, "L21": 0.25, "None": 0.05}
STRENGTHS = {"zero": 0.06, "share": 0.55, "exact": 0.1, "above": 0.1, "tiny": 0.1, "one": 0.07, "huge": 0.02}
LINEARS = {"zero": 0.3, "share": 0.4, "part": 0.2, "one": 0.1}
INTERVALS = {
    "non-negative": 0.3, "free": 0.1, "box": 0.3, "point": 0.08, "away": 0.1, "upper": 0.1, "wide": 0.02
}  # fmt: skip
LARGEST = 1e140


def scales_of(A: Array, b: Array, weight: Array | None, loss: str) -> tuple[Array, float]:
    """Sizes of the gradient at zero, the largest of all outputs for each column, and of a typical x."""
    if loss == "softmax":
        b = np.equal.outer(b, np.arange(min(int(b.max()) + 1, 20))).astype(float)
        b = b - b.mean(axis=0)
    b = b.reshape(len(b), -1)
    s = 1.0 if weight is None else weight[:, None]
    residual = s * {"huber": np.clip(b, -10.0, 10.0), "poisson": b - 1.0}.get(loss, b)
    with np.errstate(all="ignore"):
        gradient = np.fmin(np.abs(A.T @ residual).max(axis=1), LARGEST)
        size = float(np.abs(b).max() / (np.abs(A).max() or 1.0))
    return gradient, size or 1.0


def draw_parameters(rng: Any, shape: tuple[str, tuple[str, ...]], gradient: Array, size: float) -> dict[str, Any]:
    """Values of a penalty's parameters."""
    name, arrays = shape
    top = float(gradient.max())
    curvature = min(top / size, LARGEST) if top > 0.0 else 1.0
    scale = {"strength": top if name == "L1" else curvature, "l1": top, "l2": curvature}
    optional = () if arrays else [key for key in OPTIONAL.get(name, ("weights", "linear")) if chance(rng, 0.25)]
    found: dict[str, Any] = {}
    for key in dict.fromkeys((*NEEDED[name], *arrays, *optional)):
        if key in scale:
            found[key] = _strengths(rng, scale[key], gradient.size if arrays else 0)
        elif key == "weights":
            found[key] = draw_weights(rng, gradient.size) if arrays else pick(rng, (1.0, 0.0, 0.5, 1e-12, 1e12))
        elif key == "linear":
            found[key] = _linear(rng, gradient) if arrays else float(_linear(rng, gradient[:1])[0])
    return {**found, **_bounds(rng, gradient.size, size, bool(arrays))} if "Bo" in name else found


def draw_block_penalty(rng: Any, gradient: Array, size: float) -> tuple[str, dict[str, Any]]:
    """A penalty of blocks and its parameters."""
    name, n, scale = choose(rng, BLOCKS), gradient.size, float(gradient.max())
    if name == "None":
        return name, {}
    found: dict[str, Any] = {
        key: draw_strength(rng, scale) for key in (("l1", "l2") if name == "SparseGroup" else ("strength",))
    }
    if name != "L21":
        found["groups"] = draw_groups(rng, n)
        found.update({"positive": True} if chance(rng, 0.2) else {})
    if chance(rng, 0.4):
        found["weights"] = draw_weights(rng, len(found.get("groups", range(n))))
        if name != "L21" and chance(rng, 0.2):
            found["weights"] = "sqrt"
    if chance(rng, 0.25):
        found["ridge"] = draw_strength(rng, min(scale / size, LARGEST))
    return name, found


def draw_strength(rng: Any, scale: float) -> float:
    """Nothing, a share of the largest useful strength, just that, or more."""
    kind = choose(rng, STRENGTHS)
    if kind in ("zero", "one"):
        return 0.0 if kind == "zero" else 1.0
    exponent = {"share": rng.uniform(-4.0, 0.0), "exact": 0.0, "above": 0.2, "tiny": rng.uniform(-16.0, -6.0)}
    return scale * 10.0 ** exponent.get(kind, 8.0)


def _strengths(rng: Any, scale: float, n: int) -> Any:
    """One strength, or for n > 0 an array of them that mostly agree."""
    value = draw_strength(rng, scale)
    if n == 0:
        return value
    values = np.full(n, value)
    for j in np.flatnonzero(rng.random(n) < 0.3)[:20]:
        values[j] = draw_strength(rng, scale)
    return values


def _linear(rng: Any, gradient: Array) -> Array:
    kind = choose(rng, LINEARS)
    signs = np.where(rng.random(gradient.size) < 0.5, -1.0, 1.0)
    if kind in ("zero", "one"):
        return signs * (kind == "one")
    return signs * gradient * pick(rng, (1e-3, 0.1, 1.0)) * (1.0 if kind == "share" else rng.random(gradient.size))


def _bounds(rng: Any, n: int, size: float, arrays: bool) -> dict[str, Any]:
    pairs = [_interval(rng, size) for _ in range(min(n, 20) if arrays else 1)]
    if not arrays:
        return {"lower": pairs[0][0], "upper": pairs[0][1]}
    lower, upper = np.array([pairs[j % len(pairs)] for j in range(n)]).T
    return {"lower": lower.copy(), "upper": upper.copy()}


def _interval(rng: Any, size: float) -> tuple[float, float]:
    kind = choose(rng, INTERVALS)
    a, b = sorted(float(v) for v in min(size, 1e59) * rng.standard_normal(2))
    return {
        "non-negative": (0.0, math.inf), "free": (-math.inf, math.inf), "box": (min(a, 0.0), max(b, 0.0)),
        "point": (a, a), "away": (abs(b), 2.0 * abs(b) + abs(a)), "upper": (-math.inf, b), "wide": (-1e59, 1e59),
    }[kind]  # fmt: skip
