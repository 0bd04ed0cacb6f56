"""What every matrix answers, held against NumPy: one check for all storages and places."""

from __future__ import annotations

import numpy as np

from ascd.matrix.base import as_block


def check_answers(design, A, columns=None, seed=0, close=1e-12, error=1e-13):
    """Every method of ``ascd.matrix.base.Matrix`` gives what NumPy gives for the dense array A, twice (caches)."""
    rng, (d, n) = np.random.default_rng(seed), A.shape
    weight, vectors, every = rng.random(d), rng.standard_normal((3, d)), np.arange(n)
    columns = rng.permutation(n)[: max(2, n // 2)] if columns is None else columns
    near = {"rtol": close, "atol": close * max(1.0, float(np.abs(A).max()) * d)}
    assert design.shape == A.shape
    check_survey(design, A, weight, vectors, near)
    for chosen in (columns, every, columns[:1], columns, every[:0]):
        B, factors = A[:, chosen], rng.standard_normal((chosen.size, 3))
        np.testing.assert_allclose(design.dots(chosen, vectors[0]), vectors[0] @ B, **near)
        np.testing.assert_allclose(design.squares(weight, chosen), weight @ B**2, **near)
        np.testing.assert_allclose(design.squares(2.0, chosen), 2.0 * (B**2).sum(axis=0), **near)
        product, bound = design.careful_dots(chosen, vectors[1])
        np.testing.assert_allclose(product, vectors[1] @ B, **near)
        assert np.all(bound <= error * (1.0 + np.abs(vectors[1]) @ np.abs(B)))
        out = vectors[2].copy()
        design.add(chosen, factors[:, 0], out)
        np.testing.assert_allclose(out, vectors[2] + B @ factors[:, 0], **near)
        np.testing.assert_allclose(design.means(chosen, weight), weight @ B / weight.sum(), **near)
        if chosen.size:
            np.testing.assert_allclose(design.dots(chosen, vectors.T), B.T @ vectors.T, **near)
            out = vectors.T.copy()
            design.add(chosen, factors, out)
            np.testing.assert_allclose(out, vectors.T + B @ factors, **near)
    np.testing.assert_array_equal(as_block(design.take(columns), d), A[:, columns])
    check_products(design, A, weight, near)
    check_costs(design, columns)


def check_survey(design, A, weight, vectors, near):
    """With any number of vectors, and with one weight for all samples or one for each."""
    for count, weights in ((2, weight), (1, 1.5), (3, 1.0), (0, weight)):
        column_stats = design.column_stats(weights, vectors[:count])
        np.testing.assert_allclose(column_stats.square, np.broadcast_to(weights, len(A)) @ A**2, **near)
        np.testing.assert_allclose(column_stats.plain, (A**2).sum(axis=0), **near)
        np.testing.assert_allclose(column_stats.total, A.sum(axis=0), **near)
        np.testing.assert_allclose(column_stats.products, vectors[:count] @ A, **near)


def check_products(design, A, weight, near):
    """Of columns with each other, with and without means, kept and not, the second time from what was kept."""
    chosen = np.array([6, 2, 0, 4]) if A.shape[1] > 6 else np.arange(A.shape[1])[::-1]
    every, means = np.arange(chosen.size), design.means(np.arange(A.shape[1]), weight)
    for used in (None, means):
        B = A[:, chosen] - (0.0 if used is None else used[chosen])
        expected = B.T @ (weight[:, None] * B)
        for keeps in (False, True):
            kept = {} if keeps else None
            for left, right in ((every, every), (every[:1], every[1:]), (every[1::2], every[::2])):
                for _ in range(2):
                    found = design.products(chosen[left], chosen[right], weight, used, kept)
                    np.testing.assert_allclose(found, expected[np.ix_(left, right)], **near)


def check_costs(design, columns):
    """Costs grow with what is read."""
    assert design.nbytes > 0
    assert design.entries(columns[:1]) <= design.entries(columns) <= design.entries() == design.counts.sum()
    assert design.sweep_cost(columns[:1]) <= design.sweep_cost(columns)
    assert design.products_cost(1, 5) <= design.products_cost(2, 10)
