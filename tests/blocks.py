"""What the tests of blocks share: a naive transcription of the block problem, in long double where it says so."""

from __future__ import annotations

import numpy as np

import ascd

LONG = np.longdouble


def lists_of(groups):
    """The columns of every block."""
    return [groups.order[groups.starts[b] : groups.starts[b + 1]] for b in range(groups.count)]


def loss_of(name, target, weight, predictor):
    """Σ_k s_k·loss(y_k, z_k) in the precision of the predictor."""
    if name == "squared":
        return (weight[:, None] * 0.5 * (predictor - target) ** 2).sum()
    if name == "logistic":
        return (weight[:, None] * np.logaddexp(0.0, -target * predictor)).sum()
    rows = np.arange(len(target))
    largest = predictor.max(axis=1)
    total = largest + np.log(np.exp(predictor - largest[:, None]).sum(axis=1))
    return (weight * (total - predictor[rows, target])).sum()


def penalty_of(problem, x):
    """Σ_b l1·‖x_b‖₁ + group·‖x_b‖ + ½·ridge·‖x_b‖²."""
    penalty, total = problem.penalty, LONG(0.0)
    for b, columns in enumerate(lists_of(problem.groups)):
        part = x[columns]
        square = (part**2).sum()
        total += (
            penalty.l1[b] * np.abs(part).sum() + penalty.group[b] * np.sqrt(square) + 0.5 * penalty.ridge[b] * square
        )
    return total


def objective(problem, A, target, x, constant, name="squared"):
    """F(x, c) in long double."""
    x = np.asarray(x, dtype=LONG).reshape(problem.n_features, -1)
    predictor = np.asarray(A, dtype=LONG) @ x + np.asarray(constant, dtype=LONG)
    target = target if name == "softmax" else np.asarray(target, dtype=LONG).reshape(predictor.shape)
    return loss_of(name, target, problem.weight.astype(LONG), predictor) + penalty_of(problem, x)


RNG = np.random.default_rng(0)
A = RNG.standard_normal((60, 40))
A[RNG.random(A.shape) < 0.3] = 0.0
SIGNAL = A[:, :6] @ RNG.standard_normal((6, 3))
Y = SIGNAL + 0.3 * RNG.standard_normal(SIGNAL.shape) + [1.0, -2.0, 3.0]
WEIGHT = RNG.integers(0, 4, 60) * 0.5
CLASSES = np.digitize(SIGNAL[:, 0] + RNG.standard_normal(60), [-1.0, 0.5])
GROUPS = [list(range(first, 40, 8)) for first in range(8)]

PROBLEMS = {
    "group": lambda **how: ascd.Problem(A, Y[:, 0], penalty=ascd.GroupL2(8.0, GROUPS), **how),
    "group sqrt": lambda **how: ascd.Problem(A, Y[:, 0], penalty=ascd.GroupL2(4.0, 5, "sqrt"), **how),
    "group ridge": lambda **how: ascd.Problem(A, Y[:, 0], penalty=ascd.GroupL2(4.0, GROUPS, ridge=2.0), **how),
    "positive": lambda **how: ascd.Problem(A, Y[:, 0], penalty=ascd.GroupL2(2.0, GROUPS, positive=True), **how),
    "unpenalised": lambda **how: ascd.Problem(
        A, Y[:, 0], penalty=ascd.GroupL2(6.0, GROUPS, [0, 1, 1, 1, 2, 1, 1, 1]), **how
    ),
    "sparse group": lambda **how: ascd.Problem(A, Y[:, 0], penalty=ascd.SparseGroup(2.0, 4.0, GROUPS), **how),
    "rows": lambda **how: ascd.Problem(A, Y, penalty=ascd.L21(6.0), **how),
    "rows sparse": lambda **how: ascd.Problem(A, Y, penalty=ascd.SparseGroup(0.5, 0.5, GROUPS), **how),
    "rows ridge": lambda **how: ascd.Problem(A, Y, penalty=ascd.L21(6.0, ridge=3.0), **how),
    "rows of groups": lambda **how: ascd.Problem(A, Y, penalty=ascd.GroupL2(6.0, GROUPS), **how),
    "logistic": lambda **how: ascd.Problem(A, np.sign(Y[:, 0]), "logistic", penalty=ascd.GroupL2(1.5, GROUPS), **how),
    "softmax rows": lambda **how: ascd.Problem(A, CLASSES, "softmax", penalty=ascd.L21(2.0), **how),
    "softmax l1": lambda **how: ascd.Problem(A, CLASSES, "softmax", penalty=ascd.SparseGroup(1.0, 0.0), **how),
    "softmax l2": lambda **how: ascd.Problem(A, CLASSES, "softmax", penalty=ascd.L21(0.0, ridge=1.0), **how),
}


def target_of(name):
    if name.startswith("softmax"):
        return CLASSES, "softmax"
    if name == "logistic":
        return np.sign(Y[:, 0]), "logistic"
    return (Y, "squared") if name.startswith("rows") else (Y[:, 0], "squared")
