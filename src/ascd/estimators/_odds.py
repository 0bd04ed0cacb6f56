"""Predictions of logistic regression: log-odds, with an offset where there is one, and what follows from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.metrics import accuracy_score
from sklearn.utils.extmath import softmax
from sklearn.utils.validation import check_is_fitted

from ascd._core.checks import Array
from ascd._core.devices import is_on_device, to_host
from ascd.estimators._base import as_offset, with_offset
from ascd.estimators._classes import LinearClassifier
from ascd.estimators._given import check_namespace, namespace_of, to_numpy
from ascd.estimators._lazily import classes_lazily, probabilities_lazily
from ascd.estimators._on_device import back
from ascd.matrix.device.sparse import is_there
from ascd.matrix.on_dask import is_collection


class LogOdds(LinearClassifier):
    """A classifier whose linear predictor is the logarithm of the odds."""

    def _as_offset(self, offset: Any, X: Any) -> Array | None:
        if offset is not None and len(self.classes_) > 2:
            raise ValueError(f"offset must be None unless there are two classes; there are {len(self.classes_)}")
        return as_offset(offset, X)

    def decision_function(self, X: Any, *, offset: Any = None) -> Array:
        """The log-odds X·coef + intercept + offset of the second class; of more than two, one column a class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        offset : array of shape (n_samples,), optional
            Added to the log-odds, as in ``fit``.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        return with_offset(super().decision_function(X), offset)

    def predict(self, X: Any, *, offset: Any = None) -> Array:
        """The most probable class of each sample.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        offset : array of shape (n_samples,), optional
            Added to the log-odds, as in ``fit``.

        Returns
        -------
        array of shape (n_samples,)
        """
        if is_collection(X):
            return classes_lazily(self.decision_function(X, offset=offset), self.classes_)
        if offset is None:
            return super().predict(X)
        above = to_numpy(self.decision_function(X, offset=offset) > 0.0)
        return self.classes_[above.astype(int)]

    def predict_proba(self, X: Any, *, offset: Any = None) -> Array:
        """The probability of each class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        offset : array of shape (n_samples,), optional
            Added to the log-odds, as in ``fit``.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        if is_collection(X):
            return probabilities_lazily(self.decision_function(X, offset=offset))
        check_namespace(X, self, "predict_proba")
        if len(self.classes_) > 2:
            odds = self.decision_function(X, offset=offset)
            probabilities: Array = back(softmax(to_host(odds), copy=False), odds)
            return probabilities
        if offset is None and not is_there(X):
            return self._predict_proba_lr(X)
        odds = self.decision_function(X, offset=offset)
        return namespace_of(odds).stack([_expit(-odds), _expit(odds)], axis=1)

    def predict_log_proba(self, X: Any, *, offset: Any = None) -> Array:
        """Logarithms of ``predict_proba``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        offset : array of shape (n_samples,), optional
            Added to the log-odds, as in ``fit``.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        if not is_collection(X):
            check_namespace(X, self, "predict_log_proba")
        with np.errstate(divide="ignore"):
            return namespace_of(X).log(self.predict_proba(X, offset=offset))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """The share of samples whose class is predicted.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : labels of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        offset : array of shape (n_samples,), optional
            Added to the log-odds, as in ``fit``.

        Returns
        -------
        float
        """
        found = to_numpy(self.predict(X, offset=offset))
        return float(accuracy_score(to_numpy(y), found, sample_weight=to_numpy(sample_weight)))


def _expit(odds: Any) -> Any:
    """1/(1 + exp(−odds)), in the namespace of the array."""
    known = expit(to_numpy(odds))
    return back(known, odds) if is_on_device(odds) else namespace_of(odds).asarray(known)


def with_known(X: Any, offset: Array | None, coef: Array) -> tuple[Any, Array]:
    """The offset as one more feature with coefficient 1: what takes no offset, a scorer say, then predicts with it."""
    if offset is None:
        return X, coef
    last = offset[:, None]
    wider = sparse.hstack([X, last], format="csr") if sparse.issparse(X) else np.hstack([X, last])
    return wider, np.hstack([coef, np.ones((len(coef), 1))])
