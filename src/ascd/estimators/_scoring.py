"""Scores of classifiers by a scorer of the user's choice, with scikit-learn's metadata routing."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import get_scorer
from sklearn.utils import check_array
from sklearn.utils._metadata_requests import _raise_for_params, _routing_enabled
from sklearn.utils.metadata_routing import MethodMapping, process_routing

from ascd._core.checks import Array, check_places
from ascd.estimators._base import as_offset
from ascd.estimators._elsewhere import is_elsewhere
from ascd.estimators._folds import Fold, SplitterRouting
from ascd.estimators._given import to_numpy
from ascd.estimators._odds import with_known
from ascd.estimators._speaking import speaking_of_x
from ascd.estimators.logistic import LogisticRegression
from ascd.matrix.device.sparse import is_there
from ascd.matrix.on_dask import is_collection


def as_score(score: Any) -> float:
    """What a scorer gave, as a number."""
    number = score.item() if np.size(score) == 1 and hasattr(score, "item") else score
    if not isinstance(number, Real):
        raise ValueError(f"scoring must give a number for the samples of a fold; got {score!r}")
    return float(number)


class Scoring(SplitterRouting):
    """``scoring`` for the samples that a fold leaves out, and for ``score``."""

    scoring: Any
    fit_intercept: bool
    classes_: Array
    coef_: Array
    intercept_: Array

    def _scores(
        self, X: Any, y: Array, coefs: Array, fold: Fold, score_params: dict[str, Array], offset: Array | None
    ) -> Array:
        rows = self._rows(X, fold.test)
        known, scorer = None if offset is None else offset[fold.test], self._get_scorer()
        chosen = {name: np.asarray(values)[fold.test] for name, values in score_params.items()}
        scores = []
        for one in coefs:
            coef = one[:, :-1] if self.fit_intercept else one
            constants = one[:, -1] if self.fit_intercept else np.zeros(len(one))
            if is_elsewhere(X):  # the predictors are the features then
                rows, coef = X.times(coef.T)[fold.test], np.eye(len(coef))
            model, wider = self._standing_for(coef, constants, rows, known)
            scores.append(as_score(scorer(model, wider, y[fold.test], **chosen)))
        return np.array(scores)

    @staticmethod
    def _rows(X: Any, chosen: Array) -> Any:
        if is_elsewhere(X):
            return None
        return X.tocsr()[chosen] if sparse.issparse(X) else np.ascontiguousarray(X[chosen])

    def _standing_for(self, coef: Array, constants: Array, X: Any, offset: Array | None) -> tuple[Any, Any]:
        """A fitted model with these coefficients, and X as a scorer may pass it on: with the offset as a feature."""
        model = LogisticRegression()
        X, model.coef_ = with_known(X, offset, coef)
        model.intercept_, model.classes_, model.n_features_in_ = constants, self.classes_, X.shape[1]
        return model, X

    def _get_scorer(self) -> Any:
        return get_scorer(self.scoring or "accuracy")

    def _score_params(self, weight: Array | None, params: dict[str, Any]) -> dict[str, Array]:
        known = {} if weight is None else {"sample_weight": weight}
        if _routing_enabled():
            return dict(process_routing(self, "fit", **known, **params).scorer.score)
        return known

    def get_metadata_routing(self) -> Any:
        """Where metadata go, for scikit-learn's metadata routing.

        Returns
        -------
        MetadataRouter
        """
        mapping = MethodMapping().add(caller="score", callee="score").add(caller="fit", callee="score")
        return super().get_metadata_routing().add(scorer=self._get_scorer(), method_mapping=mapping)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, **score_params: Any) -> float:
        """The score by ``scoring`` (accuracy by default).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : labels of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        offset : array of shape (n_samples,), optional
            Added to the log-odds, as in ``fit``.
        **score_params
            For the scorer, with scikit-learn's metadata routing.

        Returns
        -------
        float
        """
        _raise_for_params(score_params, self, "score")
        known = {} if sample_weight is None else {"sample_weight": sample_weight}
        if _routing_enabled():
            known = dict(process_routing(self, "score", **known, **score_params).scorer.score)
        model: Any = self
        if is_collection(X) or is_there(X):  # the predictors are the features then
            z = to_numpy(model.decision_function(X))
            z = z.reshape(len(z), -1)
            y, known = to_numpy(y), {name: to_numpy(given) for name, given in known.items()}
            model, X = self._standing_for(np.eye(z.shape[1]), np.zeros(z.shape[1]), z, as_offset(offset, z))
        elif offset is not None:
            with speaking_of_x():
                check_places(X)
            X = check_array(X, accept_sparse="csr")
            model, X = self._standing_for(to_numpy(self.coef_), to_numpy(self.intercept_), X, as_offset(offset, X))
        return float(self._get_scorer()(model, X, y, **known))
