"""Standardised features without a copy: the deviations of the columns go into the penalty.

With the deviations d_j = √(Σ_k s_k (x_kj − m_j)²/Σs) of the columns and v_j = d_j·w_j, the features x_j/d_j with
coefficients v predict the same, and a penalty on v is one on w with other weights:

    l1·|v_j| + ½·l2·v_j²  =  (d_j·l1)·|w_j| + ½·(d_j²·l2)·w_j².

What the means would change goes into the intercept, which has no penalty.  So a sparse matrix stays sparse, and
coefficients come back in the units of the data: R's glmnet does the same for standardize=TRUE.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from ascd._core.checks import Array
from ascd.estimators._elsewhere import Elsewhere, is_elsewhere
from ascd.estimators._tuning import EPS, SQUARES_AT_A_TIME


def deviations(X: Any, weight: Array | None) -> Array:
    """d_j, and 1 for columns that are constant up to rounding, as in scikit-learn's StandardScaler.

    Examples
    --------
    >>> import numpy as np
    >>> deviations(np.array([[0.0, 5.0], [2.0, 5.0]]), None)
    array([1., 1.])
    >>> deviations(np.array([[0.0], [2.0], [9.0]]), np.array([1.0, 3.0, 0.0])).round(4)
    array([0.866])
    """
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is told of where the problem is built
        means, variances = moments(X, weight)
        n = X.shape[0]
        is_constant = variances <= n * EPS * variances + (n * means * EPS) ** 2
        found = np.sqrt(variances)
    return np.where(is_constant | ~np.isfinite(found), 1.0, found)


def moments(X: Any, weight: Array | None) -> tuple[Array, Array]:
    """m_j and d_j² of the columns."""
    if is_elsewhere(X):
        return (X if isinstance(X, Elsewhere) else Elsewhere(X)).moments(weight)
    if sparse.issparse(X):
        if not X.has_canonical_format:  # parts of an entry that is stored more than once have no squares of their own
            X = X.copy()
            X.sum_duplicates()
        found = mean_variance_axis(X, axis=0, weights=weight)
        return np.asarray(found[0]), np.asarray(found[1])
    share = np.full(X.shape[0], 1.0 / X.shape[0]) if weight is None else weight / weight.sum()
    means, variances = share @ X, np.empty(X.shape[1])
    block = max(1, SQUARES_AT_A_TIME // X.shape[0])
    for start in range(0, X.shape[1], block):
        columns = slice(start, start + block)
        variances[columns] = share @ (X[:, columns] - means[columns]) ** 2
    return means, variances
