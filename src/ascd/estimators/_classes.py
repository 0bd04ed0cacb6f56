"""What classifiers share: labels as ±1, one problem for two classes and one for each of more (one against the rest)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from ascd._core.checks import Array, check_places
from ascd.estimators._base import LinearEstimator
from ascd.estimators._elsewhere import is_elsewhere
from ascd.estimators._given import is_fitted_elsewhere, to_numpy
from ascd.estimators._lazily import classes_lazily
from ascd.estimators._on_device import back
from ascd.estimators._speaking import speaking_of_x
from ascd.matrix.device.sparse import is_there
from ascd.matrix.on_dask import is_collection


class LinearClassifier(LinearClassifierMixin, SparseCoefMixin, LinearEstimator):
    """A linear estimator of classes."""

    def decision_function(self, X: Any) -> Array:
        """X·coef + intercept: positive for the second of two classes; of more, one column a class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        if not is_elsewhere(X) and not is_fitted_elsewhere(self):
            with speaking_of_x():
                check_places(X)
            found: Array = super().decision_function(X)
            return found
        z = self._linear_predictor(X)
        return z[:, 0] if z.ndim == 2 and z.shape[1] == 1 else z

    def predict(self, X: Any) -> Any:
        """The class of each sample.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        if is_collection(X):
            return classes_lazily(self.decision_function(X), self.classes_)
        if not is_there(X) and not is_fitted_elsewhere(self):
            return super().predict(X)
        scores = to_numpy(self.decision_function(X))
        chosen = (scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return back(self.classes_[chosen], X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of samples whose class is predicted.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : labels of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
        """
        if is_collection(X) or is_there(X):
            found = to_numpy(self.predict(X))
            return float(accuracy_score(to_numpy(y), found, sample_weight=to_numpy(sample_weight)))
        return float(super().score(X, y, sample_weight))

    def _encode(self, y: Array, weight: Array | None) -> Array:
        """The samples' class numbers; ``weight`` must leave samples of each class."""
        self.classes_, codes = classes_of(y)
        present = self.classes_ if weight is None else np.unique(y[weight > 0.0])
        if len(present) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but the data contains only "
                f"one class with a positive weight: {present[0]!r}"
            )
        if len(present) < len(self.classes_):
            missing = sorted(set(self.classes_.tolist()) - set(present.tolist()))
            raise ValueError(f"sample_weight is zero for all samples of the classes {missing}: remove these samples")
        return codes


def classes_of(y: Array) -> tuple[Array, Array]:
    """The labels, and the number of each sample's.

    scikit-learn's check of labels takes longer than a small fit.  It is asked where it may object or warn: labels that
    are neither numbers nor strings, fractions, and more classes than half of the samples.
    """
    if y.dtype.kind not in "biufU":
        check_classification_targets(y)
    classes, codes = two_numbers(y) or np.unique(y, return_inverse=True)
    if 2 * classes.size >= y.size or (y.dtype.kind == "f" and not np.all(classes % 1.0 == 0.0)):
        check_classification_targets(y)
    return classes, codes


def two_numbers(y: Array) -> tuple[Array, Array] | None:
    """What NumPy's ``unique`` tells of labels that are two numbers, without sorting them; None for others.

    Examples
    --------
    >>> import numpy as np
    >>> from ascd.estimators._classes import two_numbers
    >>> two_numbers(np.array([2, 1, 2]))
    (array([1, 2]), array([1, 0, 1]))
    >>> two_numbers(np.array([2, 1, 3])) is None
    True
    """
    if y.dtype.kind not in "biuf" or y.size == 0:
        return None
    low, high = y.min(), y.max()
    is_high = y == high
    if not low < high or not np.array_equal(is_high, y != low):
        return None
    return np.array([low, high]), is_high.astype(np.int64)


def positives(n_classes: int) -> range:
    """The class that each problem sets against the rest: the second of two, or each of more."""
    return range(1 if n_classes == 2 else 0, n_classes)


def signs(codes: Array, n_classes: int) -> Iterator[Array]:
    """Targets ±1 of each problem."""
    for k in positives(n_classes):
        yield np.where(codes == k, 1.0, -1.0)


def side_factors(class_weight: Any, classes: Array, positive: int, codes: Array, weight: Array | None) -> Array:
    """A factor for each sample where one class is set against the rest, as in scikit-learn's OneVsRestClassifier.

    "balanced" makes both sides weigh the same.  A dict gives each sample the factor of its own class: ``fit`` with
    these numbers as sample weights is the same.
    """
    if isinstance(class_weight, str):
        return class_factors(class_weight, np.arange(2), (codes == positive).astype(int), weight)
    return class_factors(class_weight, classes, codes, weight)


def liblinear_class_weights(class_weight: Any, classes: Array, codes: Array, weight: Array | None) -> list[Array]:
    """A factor for each sample in each problem, as in liblinear: of more than two classes, the rest has factor 1."""
    each = class_factors(class_weight, classes, codes, weight)
    problems = positives(len(classes))
    return [each] if len(problems) == 1 else [np.where(codes == k, each, 1.0) for k in problems]


def times(factors: Array, weight: Array | None) -> Array:
    """Weights of the samples and factors of their classes together."""
    return factors if weight is None else factors * weight


def class_factors(class_weight: Any, classes: Array, codes: Array, weight: Array | None) -> Array:
    """The factor of each sample's class; "balanced" makes all classes weigh the same."""
    if isinstance(class_weight, str) and class_weight == "balanced":  # scikit-learn 1.6 leaves the weights out
        sums = np.bincount(codes, weights=weight, minlength=len(classes))
        return np.asarray((sums.sum() / (len(classes) * sums))[codes])
    if class_weight is not None:
        _check_factors(class_weight)
    factors: Array = compute_class_weight(class_weight, classes=classes, y=classes[codes])
    if not factors.any():
        raise ValueError(f"class_weight must be positive for one class at least; got {class_weight!r}")
    return factors[codes]


def _check_factors(class_weight: Any) -> None:
    """Numbers from 0 on; a class of factor 0 is never predicted, as in scikit-learn."""
    if not isinstance(class_weight, dict):
        raise ValueError(f"class_weight must be a dict, 'balanced' or None; got {class_weight!r}")
    for label, factor in class_weight.items():
        if not isinstance(factor, Real) or not 0.0 <= float(factor) < math.inf:
            raise ValueError(
                f"class_weight must hold finite numbers, 0 or more; the one of class {label!r} is {factor!r}"
            )
