"""What classifiers share: labels as ±1, one problem for two classes and one for each of more (one against the rest)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from ascd._checks import Array
from ascd.estimators._base import LinearEstimator


class LinearClassifier(LinearClassifierMixin, SparseCoefMixin, LinearEstimator):
    """A linear estimator of classes."""

    def _encode(self, y: Array, weight: Array | None) -> tuple[Array, Array | None]:
        """Class numbers and the weights of the samples, those of their classes included."""
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        present = self.classes_ if weight is None else np.unique(y[weight > 0.0])
        if len(present) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but the data contains only "
                f"one class with a positive weight: {present[0]!r}"
            )
        if len(present) < len(self.classes_):
            missing = sorted(set(self.classes_.tolist()) - set(present.tolist()))
            raise ValueError(f"sample_weight is zero for all samples of the classes {missing}: remove these samples")
        return codes, class_weighted(self.class_weight, self.classes_, codes, weight)


def class_weighted(class_weight: Any, classes: Array, codes: Array, weight: Array | None) -> Array | None:
    """The weights of the samples times those of their classes; ``codes`` are numbers of classes."""
    if class_weight is None:
        return weight
    each = weights_of_classes(class_weight, classes, codes, weight)
    return each if weight is None else each * weight


def weights_of_classes(class_weight: Any, classes: Array, codes: Array, weight: Array | None) -> Array:
    """The weight of each sample's class."""
    if isinstance(class_weight, str) and class_weight == "balanced":  # scikit-learn 1.6 leaves the weights out
        sums = np.bincount(codes, weights=weight, minlength=len(classes))
        return (sums.sum() / (len(classes) * sums))[codes]
    each: Array = compute_class_weight(class_weight, classes=classes, y=classes[codes])[codes]
    return each


def signs(codes: Array, n_classes: int) -> Iterator[Array]:
    """Targets ±1 of each problem: the second of two classes, or each of more, against the rest."""
    for k in range(1 if n_classes == 2 else 0, n_classes):
        yield np.where(codes == k, 1.0, -1.0)
