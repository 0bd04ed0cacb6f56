"""Data for the benchmarks of reach, drawn from a seed: dense with correlated columns, and sparse like text."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def dense(d: int, n: int, seed: int = 0, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    """Blocks of 20 columns with a common part, 100 true coefficients, noise of a tenth; column-major."""
    rng = np.random.default_rng(seed)
    A = np.empty((d, n), order="F", dtype=dtype)
    for start in range(0, n, 20):
        common = rng.standard_normal((d, 1))
        width = min(20, n - start)
        A[:, start : start + width] = 0.5 * common + rng.standard_normal((d, width))
    chosen = rng.choice(n, 100, replace=False)
    b = A[:, chosen] @ rng.standard_normal(100)
    return A, _noisy(b, rng)


def sparse(d: int, n: int, entries: int, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Columns whose lengths fall as a power of their rank, in random order; 200 true coefficients."""
    rng = np.random.default_rng(seed)
    share = np.arange(1, n + 1) ** -0.8
    lengths = np.clip((entries * share / share.sum()).astype(np.int64), 1, d // 2)
    rng.shuffle(lengths)
    columns = np.repeat(np.arange(n, dtype=np.int32), lengths)
    rows = rng.integers(0, d, columns.size, dtype=np.int32)
    A = sp.csc_matrix((rng.random(columns.size) + 0.5, (rows, columns)), shape=(d, n))
    chosen = rng.choice(n, 200, replace=False)
    return A, _noisy(A[:, chosen] @ rng.standard_normal(200), rng)


def _noisy(b: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    b = b + 0.1 * b.std() * rng.standard_normal(b.size)
    return b - b.mean()


def largest(A: Any, b: np.ndarray) -> float:
    """λ_max of a Lasso."""
    return float(np.abs(A.T @ b).max())
