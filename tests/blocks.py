"""What the tests of blocks share: a naive transcription of the block problem, in long double where it says so."""

from __future__ import annotations

import numpy as np

LONG = np.longdouble


def lists_of(groups):
    """The columns of every block."""
    return [groups.order[groups.starts[b] : groups.starts[b + 1]] for b in range(groups.count)]


def loss_of(name, target, weight, image):
    """Σ_k s_k·loss(y_k, z_k) in the precision of the image."""
    if name == "squared":
        return (weight[:, None] * 0.5 * (image - target) ** 2).sum()
    if name == "logistic":
        return (weight[:, None] * np.logaddexp(0.0, -target * image)).sum()
    rows = np.arange(len(target))
    largest = image.max(axis=1)
    total = largest + np.log(np.exp(image - largest[:, None]).sum(axis=1))
    return (weight * (total - image[rows, target])).sum()


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
    image = np.asarray(A, dtype=LONG) @ x + np.asarray(constant, dtype=LONG)
    target = target if name == "softmax" else np.asarray(target, dtype=LONG).reshape(image.shape)
    return loss_of(name, target, problem.weight.astype(LONG), image) + penalty_of(problem, x)
