"""Block ASCD, written down naively: the coordinate is a block X_b of X, of shape n x T.

    F(X) = sum_k s_k loss(y_k, (A X)_k) + sum_b l1 ||X_b||_1 + lam_b ||X_b|| + mu/2 ||X_b||^2

Blocks are lists of columns.  N_b = ||sqrt(diag(s)) A_b|| (spectral), M bounds the Hessian of the loss, L_b = M N_b^2.
"""

from __future__ import annotations

import numpy as np

from reference.rules import active_set, argmax_set, uniform_pick


class BlockProblem:
    """F, its gradient and its constants."""

    def __init__(self, A, y, groups, loss="squared", sample_weight=None, l1=0.0, lam=1.0, mu=0.0):
        self.A, self.groups, self.loss = np.asarray(A, dtype=float), [list(g) for g in groups], loss
        self.d, self.n = self.A.shape
        self.s = np.ones(self.d) if sample_weight is None else np.asarray(sample_weight, float)
        self.y = np.asarray(y) if loss == "softmax" else np.asarray(y, float).reshape(self.d, -1)
        self.T = int(self.y.max()) + 1 if loss == "softmax" else self.y.shape[1]
        self.l1, self.lam, self.mu = l1, np.broadcast_to(np.asarray(lam, float), len(groups)), mu
        self.M = {"squared": 1.0, "logistic": 0.25, "softmax": 0.5}[loss]
        self.quadratic = loss == "squared"
        self.gain, self.slack = (self.M, 0.0) if self.quadratic else (self.M / 2, self.M / 2)
        root = np.sqrt(self.s)[:, None]
        self.gram = (root * self.A).T @ (root * self.A)
        self.N = np.array([np.linalg.norm(root * self.A[:, g], 2) for g in self.groups])
        self.frobenius = np.array([np.linalg.norm(root * self.A[:, g]) for g in self.groups])
        L = self.M * self.N**2
        self.Lb = np.where(L > 0, L, min((v for v in L if v > 0), default=1.0))
        self.L = self.Lb.max()

    def losses(self, Z):
        if self.loss == "squared":
            return 0.5 * ((Z - self.y) ** 2).sum(axis=1)
        if self.loss == "logistic":
            return np.logaddexp(0.0, -self.y * Z).sum(axis=1)
        return np.log(np.exp(Z - Z.max(axis=1, keepdims=True)).sum(axis=1)) + Z.max(axis=1) - Z[range(self.d), self.y]

    def slopes(self, Z):
        """V, of shape d x T, weighted by the samples."""
        if self.loss == "squared":
            V = Z - self.y
        elif self.loss == "logistic":
            V = -self.y / (1.0 + np.exp(self.y * Z))
        else:
            V = np.exp(Z - Z.max(axis=1, keepdims=True))
            V /= V.sum(axis=1, keepdims=True)
            V[range(self.d), self.y] -= 1.0
        return self.s[:, None] * V

    def value(self, X):
        total = float(self.s @ self.losses(self.A @ X))
        return total + sum(self.cost(X[g], b) for b, g in enumerate(self.groups))

    def gradient(self, X):
        """A^T V, of shape n x T."""
        return self.A.T @ self.slopes(self.A @ X)

    def cost(self, x, b):
        return self.l1 * np.abs(x).sum() + self.lam[b] * np.linalg.norm(x) + 0.5 * self.mu * (x**2).sum()

    def prox(self, v, step, b):
        soft = np.sign(v) * np.maximum(np.abs(v) - step * self.l1, 0.0)
        length = np.linalg.norm(soft)
        share = max(0.0, 1.0 - step * self.lam[b] / length) if length > 0 else 0.0
        return share * soft / (1.0 + step * self.mu)

    def slack_of(self, x, g, b):
        """dist(-g, subgradients at x); at x = 0, inside, minus a distance from the boundary."""
        if not x.any():
            soft = np.maximum(np.abs(g) - self.l1, 0.0)
            over = np.linalg.norm(soft) if soft.any() else np.abs(g).max() - self.l1
            return over - self.lam[b]
        centre = g + (self.lam[b] / np.linalg.norm(x) + self.mu) * x
        at_zero = np.maximum(np.abs(g) - self.l1, 0.0)
        return np.linalg.norm(np.where(x != 0.0, centre + self.l1 * np.sign(x), at_zero))


def rate(problem, steepness, b):
    """The Lipschitz constant of a score."""
    return 1.0 / np.sqrt(problem.Lb[b]) if steepness.startswith("gsl") else 1.0


def block_score(problem, steepness, x, g, b):
    """The score of a block at gradient g, with its sign: rate * slack where it is 0."""
    kappa, factor = problem.Lb[b] if steepness.startswith("gsl") else problem.L, rate(problem, steepness, b)
    family = steepness.partition("-")[2] or "s"
    if family == "s":
        return factor * problem.slack_of(x, g, b)
    z = problem.prox(x - g / kappa, 1.0 / kappa, b)
    y = z - x
    score = factor * kappa * np.linalg.norm(y)
    if family == "q":
        progress = -((g * y).sum() + 0.5 * kappa * (y**2).sum() + problem.cost(z, b) - problem.cost(x, b))
        score = factor * np.sqrt(2.0 * kappa * max(progress, 0.0))
    return score if y.any() else min(0.0, factor * problem.slack_of(x, g, b))


def block_bounds(problem, steepness, X, estimate, radius):
    """(lower, upper), one a block, for gradients within the radius of the estimates."""
    signed = np.array(
        [block_score(problem, steepness, X[g], estimate[g], b) for b, g in enumerate(problem.groups)]
    )  # fmt: skip
    rates = np.array([rate(problem, steepness, b) for b in range(len(problem.groups))])
    return np.maximum(0.0, signed - rates * radius), np.maximum(0.0, signed + rates * radius)


# An oracle is a function (problem, i, D, rng) -> (P, e) with ||P_b - A_b^T S A_i D|| <= e_b for all blocks b.


def exact_change(problem, i, D):
    return problem.gram[:, problem.groups[i]] @ D


def oracle_exact():
    return lambda problem, i, D, rng: (exact_change(problem, i, D), np.zeros(len(problem.groups)))


def oracle_norm():
    def change(problem, i, D, rng):
        return np.zeros((problem.n, problem.T)), problem.N[i] * problem.N * np.linalg.norm(D)

    return change


def unit_noise(problem, g, rng):
    """A random vector no longer than 1."""
    count = len(g) * problem.T
    return (2.0 * rng.random(count) - 1.0).reshape(len(g), problem.T) / np.sqrt(count)


def oracle_simulated(eps):
    def change(problem, i, D, rng):
        P, e = exact_change(problem, i, D), eps * problem.N[i] * problem.N * np.linalg.norm(D)
        for b, g in enumerate(problem.groups):
            P[g] += e[b] * unit_noise(problem, g, rng)
        return P, e

    return change


def oracle_random(printed=False):
    def change(problem, i, D, rng):
        P, e = np.zeros((problem.n, problem.T)), problem.N[i] * problem.N * np.linalg.norm(D)
        for b, g in enumerate(problem.groups):
            P[g] = e[b] * unit_noise(problem, g, rng)
        return P, e if printed else e + np.array([np.linalg.norm(P[g]) for g in problem.groups])

    return change


def oracle_sketch(E, eps):
    """Products of embedded columns; each block's change no longer than it can be."""

    def change(problem, i, D, rng):
        P, length = E.T @ (E[:, problem.groups[i]] @ D), np.linalg.norm(D)
        for b, g in enumerate(problem.groups):
            limit, size = problem.N[i] * problem.N[b] * length, np.linalg.norm(P[g])
            P[g] *= min(1.0, limit / size) if size > 0.0 else 1.0
        return P, eps * problem.frobenius[i] * problem.frobenius * length

    return change


def oracle_blind(inner, blocks):
    def change(problem, i, D, rng):
        P, e = inner(problem, i, D, rng)
        e = np.array(e, dtype=float)
        e[list(blocks)] = np.inf
        return P, e

    return change


def move_balls(problem, estimate, radius, i, D, P, e):
    """Estimates and radii of all blocks after a step D of block i, for a loss with Hessians between 0 and M."""
    growth = problem.gain * e + problem.slack * problem.N[i] * problem.N * np.linalg.norm(D)
    return estimate + problem.gain * P, radius + growth


def take_block_step(problem, step, X, i):
    """(new X_i, estimate of its gradient there, error)."""
    g = problem.groups[i]
    if step == "line-search":
        X = X.copy()
        for _ in range(3000):
            before = X[g].copy()
            X[g] = problem.prox(X[g] - problem.gradient(X)[g] / problem.Lb[i], 1.0 / problem.Lb[i], i)
            if np.array_equal(X[g], before):  # so would all other steps
                break
        return X[g], problem.gradient(X)[g], 0.0
    kappa, gradient = problem.L if step == "fixed" else problem.Lb[i], problem.gradient(X)[g]
    new = problem.prox(X[g] - gradient / kappa, 1.0 / kappa, i)
    D = new - X[g]
    moved = gradient + problem.gain * problem.gram[np.ix_(g, g)] @ D
    return new, moved, problem.slack * problem.N[i] ** 2 * np.linalg.norm(D)


def select_block(problem, rule, t, X, bounds, steepness, rng):
    """The pick, for these bounds (lower, upper)."""
    count = len(problem.groups)
    if rule == "cyclic":
        return t % count
    if rule == "uniform":
        return uniform_pick(list(range(count)), rng)
    if rule == "importance":
        total = np.cumsum(problem.Lb)
        return min(int(np.searchsorted(total, rng.random() * total[-1], side="right")), count - 1)
    if rule == "steepest":
        gradient = problem.gradient(X)
        scores = [block_score(problem, steepness, X[g], gradient[g], b) for b, g in enumerate(problem.groups)]
        return argmax_set(np.maximum(scores, 0.0))[0]
    lower, upper = bounds
    return uniform_pick(active_set(rule, upper, lower), rng)


def descend_blocks(problem, rule="ascd", oracle=None, steepness="gs-s", step="coordinate", n_iter=100, rng=None):
    """The method: bounds, pick, exact block gradient, step, oracle, pin; returns picks, X and all objectives."""
    rng = np.random.default_rng(0) if rng is None else rng
    oracle = oracle_exact() if oracle is None else oracle
    X, picks, values = np.zeros((problem.n, problem.T)), [], []
    estimate, radius = problem.gradient(X), np.zeros(len(problem.groups))
    for t in range(n_iter):
        i = select_block(
            problem, rule, t, X, block_bounds(problem, steepness, X, estimate, radius), steepness, rng
        )  # fmt: skip
        g = problem.groups[i]
        new, gradient, error = take_block_step(problem, step, X, i)
        D = new - X[g]
        if D.any():
            estimate, radius = move_balls(problem, estimate, radius, i, D, *oracle(problem, i, D, rng))
        X[g], estimate[g], radius[i] = new, gradient, error
        picks.append(i)
        values.append(problem.value(X))
    return picks, X, values
