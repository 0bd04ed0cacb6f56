"""scikit-learn's coordinate descent, to compare with."""

import warnings

import numpy as np
from benchopt import BaseSolver
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso


class Solver(BaseSolver):
    name = "scikit-learn"
    sampling_strategy = "iteration"

    def set_objective(self, X, y, lmbd, fit_intercept):
        self.X, self.y = X, y
        self.model = Lasso(alpha=lmbd / X.shape[0], fit_intercept=fit_intercept, tol=0.0)

    def run(self, n_iter):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.model.set_params(max_iter=n_iter + 1).fit(self.X, self.y)

    def get_result(self):
        beta = self.model.coef_
        return {"beta": np.append(beta, self.model.intercept_) if self.model.fit_intercept else beta}
