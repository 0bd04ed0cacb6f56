"""The objective of a case, in long double, with a bound on the rounding error of its own evaluation.

    F(X, c) = Σ_k s_k·loss(y_k, (AX + 1cᵀ)_k) + Σ_j Σ_t (l1_j·|x_jt| + ½·l2_j·x_jt² + linear_j·x_jt) + Σ_b group_b·‖X_b‖

over lower ≤ X ≤ upper.  X has a row a column of A and a column an output.  A point is one flat vector: X row by row,
and behind it the intercepts c where there are some.

Nothing here comes from the library.  Data are float64 numbers; sums, products and functions are of 64 bits or more
(u = 2⁻⁶³ or better) and of an exponent range in which nothing overflows.  With z computed to e = (n + 3)·u·Σ|terms|,
the error of F is at most Σ s·(derivative·e + 8u·|value|) plus (d + 3n + 8)·u times the sum of the absolute terms.  The
softmax loss log(1 + Σ_{t≠y} exp(z_t − z_y)) is off by (1 − p_y)·(exp(2e) − 1) or 2e at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray
Long = np.longdouble
UNIT = np.finfo(Long).eps
#: The rounding errors of float64 in units of those here, with some room for another order of the sums.
FLOAT64 = 4.0 * float(np.finfo(float).eps / UNIT)
LOSSES = ("squared", "logistic", "huber", "squared_hinge", "poisson", "hinge", "softmax")
BLOCK_PENALTIES = ("GroupL2", "SparseGroup", "L21")
#: The largest argument whose exponential is a finite long double.
LARGEST_EXPONENT = Long(11000.0)


@dataclass(frozen=True)
class Truth:
    """A problem in the judge's own terms: five numbers a column and one a block state every penalty.

    ``b`` has shape (n_samples, n_outputs), or holds the classes of a softmax.
    """

    A: Array
    b: Array
    s: Array
    loss: str
    threshold: float
    l1: Array
    l2: Array
    linear: Array
    lower: Array
    upper: Array
    blocks: tuple[tuple[int, ...], ...]
    group: Array
    intercept: bool
    outputs: int

    @property
    def coefficients(self) -> int:
        return self.A.shape[1] * self.outputs

    @property
    def size(self) -> int:
        """Numbers of a point."""
        return self.coefficients + self.outputs * self.intercept

    def bounds(self) -> tuple[Array, Array]:
        """The ends of the box, for every number of a point."""
        free = np.full(self.size - self.coefficients, np.inf)
        lower, upper = (np.repeat(ends, self.outputs) for ends in (self.lower, self.upper))
        return np.append(lower, -free), np.append(upper, free)

    def point(self, x: Any, intercepts: Any = 0.0) -> Array:
        """Coefficients of shape (n, outputs) or (n,) and intercepts as a flat point."""
        rows = np.asarray(x, dtype=float).ravel()
        if not self.intercept:
            return rows
        return np.append(rows, np.broadcast_to(np.asarray(intercepts, dtype=float).ravel(), self.outputs))

    def is_allowed(self, point: Array) -> bool:
        lower, upper = self.bounds()
        return bool(np.all((point >= lower) & (point <= upper)) and np.isfinite(point).all())

    def nearest(self) -> Array:
        """The allowed point nearest to zero."""
        return np.clip(np.zeros(self.size), *self.bounds())

    def values(self, points: Array, unit: Any = UNIT) -> tuple[Array, Array, Array]:
        """F, its error bound and the sum of its absolute terms, for the columns of ``points``.

        The bound is for arithmetic with this unit.
        """
        flat = np.asarray(points, dtype=float).reshape(self.size, -1)
        (d, n), T, m = self.A.shape, self.outputs, flat.shape[1]
        A, x = self.A.astype(Long), flat[: n * T].astype(Long).reshape(n, T, m)
        c = flat[n * T :].astype(Long) if self.intercept else np.zeros((T, m), dtype=Long)
        with np.errstate(all="ignore"):
            z = (A @ x.reshape(n, T * m)).reshape(d, T, m) + c
            size = (np.abs(A) @ np.abs(x).reshape(n, T * m)).reshape(d, T, m) + np.abs(c)
            live = np.asarray(self.s > 0.0)
            value, uncertain = self._losses(live, z[live], (n + 3) * unit * size[live], unit)
            terms = np.concatenate([value, self._penalty(x)])
            total, absolute = terms.sum(axis=0), np.abs(terms).sum(axis=0)
            bound = uncertain.sum(axis=0) + (d * T + 3 * n * T + 8) * unit * absolute
        outside = np.array([not self.is_allowed(flat[:, i]) for i in range(m)], dtype=bool)
        total = np.where(outside | np.isnan(total), Long(np.inf), total)
        return total, np.where(np.isfinite(total), bound, Long(0)), absolute

    def value(self, point: Array) -> tuple[Any, Any, Any]:
        total, bound, absolute = self.values(np.asarray(point)[:, None])
        return total[0], bound[0], absolute[0]

    def _losses(self, live: Array, z: Array, error: Array, unit: Any) -> tuple[Array, Array]:
        """The weighted losses of the samples that count, a row each, and how far they can be off."""
        s, m = self.s.astype(Long)[live], z.shape[2]
        if self.loss == "softmax":
            value, uncertain = softmax_terms(self.b[live], z, error, unit)
            return s[:, None] * value, s[:, None] * uncertain
        y = self.b.astype(Long)[live, :, None]
        value, derivative, size = loss_terms(self.loss, y, z, Long(self.threshold))
        if self.loss == "poisson":  # exp grows by as much as the error of its argument says
            growth = np.expm1(np.minimum(error, LARGEST_EXPONENT)) / np.maximum(error, UNIT)
            derivative = derivative * np.maximum(1, growth)
        uncertain = (derivative + error) * (error + unit * argument_size(self.loss, y)) + 8 * unit * size
        return tuple((s[:, None, None] * part).reshape(-1, m) for part in (value, uncertain))

    def _penalty(self, x: Array) -> Array:
        l1, l2, linear = (part.astype(Long)[:, None, None] for part in (self.l1, self.l2, self.linear))
        rows = [piece.reshape(-1, x.shape[2]) for piece in (l1 * np.abs(x), l2 * x * x / 2, linear * x)]
        for columns, strength in zip(self.blocks, self.group, strict=True):
            if strength != 0.0:
                block = x[list(columns)].reshape(-1, x.shape[2])
                rows.append(strength * np.sqrt((block * block).sum(axis=0))[None, :])
        return np.concatenate(rows)


def argument_size(loss: str, y: Array) -> Array:
    """What the rounding of a loss's argument is relative to: y for differences, 1 for margins and exponents."""
    return np.abs(y) if loss in ("squared", "huber") else np.maximum(np.abs(y), 1)


def loss_terms(loss: str, y: Array, z: Array, threshold: Any) -> tuple[Array, Array, Array]:
    """loss(y, z), a bound on |∂loss/∂z|, and the size of the terms that the value is a sum of."""
    if loss == "squared":
        r = z - y
        return r * r / 2, np.abs(r), r * r / 2
    if loss == "huber":
        size = np.abs(z - y)
        value = np.where(size <= threshold, size * size / 2, threshold * (size - threshold / 2))
        return value, np.minimum(size, threshold), threshold * size
    if loss == "logistic":
        m = y * z
        value = np.log1p(np.exp(-np.abs(m))) + np.maximum(-m, 0)
        return value, 1 / (1 + np.exp(np.minimum(m, LARGEST_EXPONENT))), value
    if loss in ("hinge", "squared_hinge"):
        missing = np.maximum(1 - y * z, 0)
        if loss == "hinge":
            return missing, np.ones_like(missing), missing
        return missing * missing, 2 * missing + UNIT, missing * missing
    if loss == "poisson":
        mean = np.where(z > LARGEST_EXPONENT, Long(np.inf), np.exp(np.minimum(z, LARGEST_EXPONENT)))
        entropy = np.where(y > 0, y * np.log(np.where(y > 0, y, Long(1))), Long(0))
        return mean - y * z + entropy - y, mean + y, mean + y * np.abs(z) + np.abs(entropy) + y
    raise ValueError(loss)


def softmax_terms(labels: Array, z: Array, error: Array, unit: Any) -> tuple[Array, Array]:
    """log Σ_t exp(z_t) − z_y for every row and point, and how far it can be off."""
    if not len(labels):
        return np.zeros((0, z.shape[2]), dtype=Long), np.zeros((0, z.shape[2]), dtype=Long)
    rows = np.arange(len(labels))
    beyond = z - z[rows, labels][:, None, :]
    beyond[rows, labels] = -np.inf
    top = beyond.max(axis=1)
    shift = np.maximum(top, 0)
    others = np.exp(beyond - shift[:, None, :]).sum(axis=1)
    whole = np.exp(-shift) + others
    value = np.where(shift > 0, shift + np.log(whole), np.log1p(others))
    off = 2 * error.max(axis=1) + (np.abs(top) + 4 + 2 * z.shape[1]) * unit
    growth = others / whole * np.expm1(np.minimum(off, LARGEST_EXPONENT))
    return value, np.minimum(growth, off) + 8 * unit * value


def penalty_arrays(name: str, parameters: dict[str, Any], n: int, factor: float = 1.0) -> dict[str, Any]:
    """The five numbers a column, the blocks and the number of each, its strength times ``factor``.

    Products with the factor are float64 numbers, as in paths.
    """
    if name in BLOCK_PENALTIES:
        return _of_blocks(name, parameters, n, factor)

    def read(key: str, default: float) -> Array:
        return np.broadcast_to(np.asarray(parameters.get(key, default), dtype=Long), n).copy()

    def strength(key: str) -> Array:
        with np.errstate(over="ignore"):
            return np.broadcast_to(factor * np.asarray(parameters.get(key, 0.0), dtype=float), n).astype(Long)

    weights = read("weights", 1.0)
    found: dict[str, Any] = {"linear": read("linear", 0.0)}
    if name == "L1":
        found["l1"] = strength("strength") * weights
    elif name == "L2":
        found["l2"] = strength("strength") * weights
    elif name in ("L1L2", "BoundedL1L2"):
        found.update(l1=strength("l1") * weights, l2=strength("l2") * weights)
    elif name == "Box":
        found["l2"] = strength("l2")
    if name in ("Box", "BoundedL1L2"):
        free = 0.0 if name == "Box" else -np.inf
        found.update(lower=read("lower", free).astype(float), upper=read("upper", np.inf).astype(float))
    return found


def _of_blocks(name: str, parameters: dict[str, Any], n: int, factor: float) -> dict[str, Any]:
    groups = parameters.get("groups")
    blocks = tuple(
        tuple(int(j) for j in columns) for columns in ([[j] for j in range(n)] if groups is None else groups)
    )
    given = parameters.get("weights")
    weights = np.ones(len(blocks)) if given is None else given
    if isinstance(given, str):
        weights = np.sqrt([len(columns) for columns in blocks])
    with np.errstate(all="ignore"):
        group = factor * (parameters["l2" if name == "SparseGroup" else "strength"] * np.asarray(weights))
        l1, l2 = (np.full(n, factor * parameters.get(key, 0.0), dtype=Long) for key in ("l1", "ridge"))
    lower = np.full(n, 0.0 if parameters.get("positive") else -np.inf)
    return {"blocks": blocks, "group": group.astype(Long), "l1": l1, "l2": l2, "lower": lower}


def make_truth(
    A: Array, b: Array, weight: Array | None, loss: str, threshold: float, arrays: dict[str, Any], intercept: bool
) -> Truth:
    """The problem that these arrays state; what they leave out is zero or free."""
    n, b = A.shape[1], np.asarray(b)
    zero = np.zeros(n, dtype=Long)
    defaults = {
        "l1": zero, "l2": zero, "linear": zero, "lower": np.full(n, -np.inf), "upper": np.full(n, np.inf),
        "blocks": tuple((j,) for j in range(n)), "group": zero,
    }  # fmt: skip
    s = np.ones(len(b)) if weight is None else np.asarray(weight, dtype=Long)
    if loss == "softmax":
        b, outputs = b.astype(np.int64), max(2, int(b.max()) + 1)
    else:
        b = b.reshape(len(b), -1)
        outputs = b.shape[1]
    return Truth(
        np.asarray(A, dtype=float), b, s, loss, float(threshold), **{**defaults, **arrays}, intercept=bool(intercept),
        outputs=outputs,
    )  # fmt: skip
