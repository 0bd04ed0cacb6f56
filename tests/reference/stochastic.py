"""The oracle "stochastic" by whole arrays: rows drawn by their shares, Bernstein's radius, intersections."""

from __future__ import annotations

import math

import numpy as np


def draw(A, e, m, rng):
    """m rows, each with a chance of |e_k| max_j |a_kj|/|a_j|: S, y of all draws and columns in [-1, 1], the rows."""
    length = np.linalg.norm(A, axis=0)
    scaled = np.divide(A, length, out=np.zeros_like(A), where=length > 0)
    rho = np.abs(scaled).max(axis=1)
    shares = np.abs(e) * rho
    gaps = -np.log(1.0 - np.array([rng.random() for _ in range(m + 1)]))
    places = np.cumsum(gaps)[:-1] / gaps.sum() * shares.sum()
    rows = np.searchsorted(np.cumsum(shares), places)
    return shares.sum(), np.sign(e[rows])[:, None] * scaled[rows] / rho[rows][:, None], rows


def radius(y, second_moment, eta):
    """The smaller of Bernstein's radius and that of Maurer and Pontil, each at eta/2."""
    m, known, seen = len(y), math.log(4.0 / eta), math.log(8.0 / eta)
    bernstein = math.sqrt(2.0 * second_moment * known / m) + 2.0 * known / (3.0 * m)
    empirical = np.sqrt(2.0 * y.var(axis=0, ddof=1) * seen / m) + 2.0 * 7.0 * seen / (3.0 * (m - 1))
    return np.minimum(bernstein, empirical)


class Stochastic:
    """Intervals of all entries along a run; ``stored`` marks the entries, ``reads`` are counted as columns."""

    def __init__(self, problem, rows, failure, anchored, patience, stored):
        self.problem, self.rows, self.failure, self.anchored, self.patience = problem, rows, failure, anchored, patience
        self.length, self.size = np.linalg.norm(problem.A, axis=0), problem.n / max(1, stored.sum())
        self.counts = stored.sum(axis=1)
        self.anchor, self.product = np.zeros(len(problem.b)), np.zeros(problem.n)
        self.estimate, self.radius = np.zeros(problem.n), np.full(problem.n, np.inf)
        self.samples = self.moves = self.anchors = 0
        self.reads = self.wasted = self.grown = self.left = self.since = 0.0

    def slope(self, x):
        return self.problem.s * self.problem.loss.derivative(self.problem.b, self.problem.A @ x)

    def sample(self, x, rng):
        A, e = self.problem.A, self.slope(x) - self.anchor
        self.samples += 1
        eta = 6.0 * self.failure / (math.pi**2 * self.samples**2 * self.problem.n)
        mass, y, rows = draw(A, e, self.rows, rng)
        found = self.product + mass * self.length * y.mean(axis=0)
        width = mass * self.length * radius(y, min(1.0, np.linalg.norm(e) / mass), eta)
        low = np.maximum(self.estimate - self.radius, found - width)
        high = np.minimum(self.estimate + self.radius, found + width)
        assert np.all(low <= high)
        self.estimate, self.radius = 0.5 * (low + high), 0.5 * (high - low)
        self.reads += self.counts[rows].sum() * self.size + 2 * len(e) * self.size
        self.left, self.grown, self.since = width.sum(), 0.0, self.reads

    def follow(self, x, i, change, rng):
        """After a step to x."""
        self.reads += 1
        self.wasted += change == 0.0
        if change == 0.0:
            return
        travelled = abs(change) * self.problem.M * self.problem.norms[i]
        self.radius = self.radius + travelled * self.problem.norms
        self.grown += travelled * self.problem.norms.sum()
        price = self.rows * self.problem.n / len(self.problem.b) + 2 * len(self.problem.b) * self.size
        if self.anchored and self.wasted > 0.25 * self.problem.n:
            self.anchors += 1
            self.anchor, self.wasted, self.left, self.grown = self.slope(x), 0, 0.0, 0.0
            self.estimate, self.radius = self.problem.A.T @ self.anchor, np.zeros(self.problem.n)
            self.product = self.estimate.copy()
            self.reads += self.problem.n
            self.since = self.reads
        elif self.samples == 0 or (self.reads - self.since >= price and self.grown >= self.patience * self.left):
            self.sample(x, rng)
