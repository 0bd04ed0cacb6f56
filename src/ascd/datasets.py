"""Data for experiments: the paper's synthetic generator, and documents that look like text."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_count, as_generator, as_number


class Synthetic(NamedTuple):
    """A sparse design, a target and the coefficients that made it."""

    A: Any
    b: Array
    x: Array


def make_synthetic(
    n_samples: int = 1000, n_features: int = 5000, n_nonzero: int = 50, noise: float = 1.0, rng: Any = None
) -> Synthetic:
    """The paper's generator (its appendix, after Nutini et al. 2015): sparse, dependent, badly scaled columns.

    Entries are normal; 1 is added to each (columns become dependent); each column is multiplied by ten times a
    normal number (its Lipschitz constant becomes its own); each entry is kept with probability 10·log(n)/n.
    The paper does not say how b is made: here b = A x + noise with ``n_nonzero`` normal coefficients.

    Examples
    --------
    >>> from ascd.datasets import make_synthetic
    >>> data = make_synthetic(n_samples=100, n_features=200, rng=0)
    >>> data.A.shape, data.b.shape
    ((100, 200), (100,))
    """
    d, n = as_count(n_samples, "n_samples"), as_count(n_features, "n_features", low=2)
    support = as_count(n_nonzero, "n_nonzero", low=0)
    if support > n:
        raise ValueError(f"n_nonzero must not exceed n_features = {n}; got {support}")
    noise = as_number(noise, "noise", low=0.0, high=1e300)
    generator = as_generator(rng)
    counts = generator.binomial(d, min(1.0, 10.0 * np.log(n) / n), size=n)
    A = _ones_at_random_rows(d, counts, generator)
    scale = np.repeat(10.0 * generator.standard_normal(n), counts)
    A.data *= (generator.standard_normal(A.nnz) + 1.0) * scale
    x = np.zeros(n)
    x[generator.choice(n, size=support, replace=False)] = generator.standard_normal(support)
    return Synthetic(A, A @ x + noise * generator.standard_normal(d), x)


def make_text_like(n_samples: int = 20_000, n_features: int = 40_000, n_words: int = 75, rng: Any = None) -> Synthetic:
    """Documents that look like text to a solver: few words each, word frequencies that fall off like Zipf's law.

    Column j has a frequency proportional to 1/(j + 10), on average ``n_words`` words a document, all values 1.  The
    labels ±1 are the signs of a sparse linear function of the words plus noise.  The features stand in random order.

    Examples
    --------
    >>> from ascd.datasets import make_text_like
    >>> data = make_text_like(n_samples=50, n_features=200, n_words=10, rng=0)
    >>> data.A.shape, sorted(set(data.b.tolist())), sorted(set(data.A.data.tolist()))
    ((50, 200), [-1.0, 1.0], [1.0])
    """
    d, n = as_count(n_samples, "n_samples"), as_count(n_features, "n_features", low=2)
    words = as_count(n_words, "n_words")
    generator = as_generator(rng)
    frequency = 1.0 / (10.0 + generator.permutation(n))
    chance = np.minimum(0.5, frequency * (words / frequency.sum()))
    counts = generator.binomial(d, chance)
    A = _ones_at_random_rows(d, counts, generator)
    x = np.zeros(n)
    chosen = generator.choice(n, size=max(1, n // 200), replace=False, p=chance / chance.sum())
    x[chosen] = generator.standard_normal(chosen.size)
    noisy = A @ x + 0.3 * generator.standard_normal(d)
    return Synthetic(A, np.where(noisy > np.median(noisy), 1.0, -1.0), x)


def _ones_at_random_rows(d: int, counts: Any, generator: np.random.Generator) -> Any:
    """A sparse matrix of d rows whose column j has ``counts_j`` ones, at random rows."""
    from scipy.sparse import csc_array

    rows = np.concatenate([np.sort(generator.choice(d, size=count, replace=False)) for count in counts])
    return csc_array((np.ones(rows.size), rows, np.concatenate([[0], np.cumsum(counts)])), shape=(d, counts.size))
