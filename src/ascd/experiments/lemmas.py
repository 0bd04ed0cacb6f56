"""The lemmas and remarks behind the theorems, on problems where everything can be computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ascd import theory
from ascd._core.checks import Array
from ascd.experiments.tuning import POINTS

Parameters = Mapping[str, Any]


def progress(parameters: Parameters) -> dict[str, Any]:
    """Δ = 1/E[f(x_{t+1}) − f*] − 1/(f(x_t) − f*) of SCD and UCD at every iterate of SCD, on quadratics with f* = 0.

    Both step with 1/L.  Kept: the smallest Δ·2L‖x‖₁² of SCD, the smallest Δ·2nL‖x‖₂² of UCD (the lemma: at least 1),
    and the extremes of Δ_UCD/Δ_SCD (the paper: between 1/n and 1).
    """
    n = parameters["n"]
    steepest, uniform, shares = [], [], []
    for Q, start in quadratics(n, parameters["seeds"]):
        L = float(np.diag(Q).max())
        x = _descend(Q, start, L, parameters["n_iter"])
        gradient = x @ Q
        error = 0.5 * np.einsum("ti,ti->t", x, gradient)
        gains = gradient**2 * (1.0 - 0.5 * np.diag(Q) / L) / L  # f(x) − f(x − g_i/L e_i)
        best = gains[np.arange(len(x)), np.abs(gradient).argmax(axis=1)]
        seen = (error > 1e-10 * error[0]) & (error - best > 1e-14 * error[0])
        one, all_mean = (1.0 / (error - gain)[seen] - 1.0 / error[seen] for gain in (best, gains.mean(axis=1)))
        steepest.append((one * 2.0 * L * np.abs(x).sum(axis=1)[seen] ** 2).min())
        uniform.append((all_mean * 2.0 * n * L * (x**2).sum(axis=1)[seen]).min())
        shares += [(all_mean / one).min(), (all_mean / one).max()]
    return {
        "quadratics": len(steepest),
        "steepest": float(min(steepest)),
        "uniform": float(min(uniform)),
        "least_share": float(min(shares)),
        "largest_share": float(max(shares)),
        "n": n,
    }


def quadratics(n: int, seeds: int) -> list[tuple[Array, Array]]:
    """The lower-bound family and random ones, with random starts."""
    matrices = [theory.lower_bound_matrix(n, alpha) for alpha in (0.01, 0.1, 0.5)]
    for seed in range(seeds):
        factor = np.random.default_rng(seed).standard_normal((2 * n, n))
        matrices.append(factor.T @ factor)
    return [(Q, np.random.default_rng(seed).standard_normal(n)) for seed, Q in enumerate(matrices)]


def _descend(Q: Array, start: Array, L: float, count: int) -> Array:
    """Iterates of SCD with step 1/L."""
    x = np.empty((count + 1, start.size))
    x[0] = start
    for t in range(count):
        gradient = Q @ x[t]
        j = int(np.abs(gradient).argmax())
        x[t + 1] = x[t]
        x[t + 1, j] -= gradient[j] / L
    return x


def gradient_update(parameters: Parameters) -> dict[str, Any]:
    """A step's change of every gradient entry, against the curvature along the step, for a logistic loss.

    The lemma: (∇_i F(x + γe_j) − ∇_i F(x))/γ = ⟨a_i, ∇²f(Ax̃) a_j⟩ for some x̃ on the segment.  So the quotient lies
    between the extremes of the right-hand side over the segment; kept is by how much it leaves them, relative to
    ‖a_i‖‖a_j‖/4, the largest curvature.
    """
    rng = np.random.default_rng(parameters["seed"])
    A = rng.standard_normal((parameters["samples"], parameters["features"]))
    norm, worst = np.linalg.norm(A, axis=0), 0.0
    for _ in range(parameters["steps"]):
        x, j, step = rng.standard_normal(A.shape[1]), int(rng.integers(A.shape[1])), 3.0 * rng.standard_normal()
        image = A @ x
        change = A.T @ (_slope(image + step * A[:, j]) - _slope(image)) / step
        share = np.linspace(0.0, 1.0, POINTS)[:, None]
        curvature = (_curvature(image + share * step * A[:, j]) * A[:, j]) @ A
        outside = np.maximum(curvature.min(axis=0) - change, change - curvature.max(axis=0))
        worst = max(worst, float((outside / (0.25 * norm * norm[j])).max()))
    return {"entries": parameters["steps"] * A.shape[1], "worst": worst}


def _slope(z: Array) -> Array:
    """Of Σ log(1 + exp(z)): labels do not matter to the lemma."""
    return 1.0 / (1.0 + np.exp(-z))


def _curvature(z: Array) -> Array:
    return _slope(z) * (1.0 - _slope(z))


def random_starts(parameters: Parameters) -> dict[str, Any]:
    """n·‖∇‖²_∞/‖∇‖² of SCD on the lower-bound function from random starts, largest from ``late``·n steps on."""
    n, alpha = parameters["n"], parameters["alpha"]
    Q, rng = theory.lower_bound_matrix(n, alpha), np.random.default_rng(parameters["seed"])
    late = []
    for _ in range(parameters["starts"]):
        gradient = theory.steepest_descent_on(Q, rng.standard_normal(n), 2 * parameters["late"] * n) @ Q
        ratio = n * (gradient**2).max(axis=1) / (gradient**2).sum(axis=1)
        late.append(float(ratio[parameters["late"] * n :].max()))
    return {"largest": max(late), "median": float(np.median(late)), "bound": n * theory.gradient_ratio_bound(n, alpha)}
