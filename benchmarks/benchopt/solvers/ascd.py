"""ascd's production solver and engine for benchopt's Lasso; ascd is to be installed where benchopt runs."""

import numpy as np
from benchopt import BaseSolver
from benchopt.stopping_criterion import SufficientProgressCriterion

import ascd


class Solver(BaseSolver):
    name = "ascd"
    references = [  # noqa: RUF012
        "S. U. Stich, A. Raj, M. Jaggi, Approximate Steepest Coordinate Descent, ICML 2017"
    ]
    parameters = {"method": ["solve", "minimize"]}  # noqa: RUF012
    sampling_strategy = "tolerance"
    # many tolerances give the same point: a jump to the next one must not count as the end
    stopping_criterion = SufficientProgressCriterion(patience=20, strategy="tolerance")

    def skip(self, X, y, lmbd, fit_intercept):
        if fit_intercept and self.method == "minimize":
            return True, "minimize fits no intercept"
        return False, None

    def set_objective(self, X, y, lmbd, fit_intercept):
        self.fit_intercept = fit_intercept
        self.problem = ascd.Problem(X, y, penalty=ascd.L1(lmbd))
        self.run(1e-2)  # compiling is not what is measured

    def run(self, tolerance):
        if self.method == "solve":
            self.solution = ascd.solve(self.problem, tol=tolerance, intercept=self.fit_intercept)
        else:
            self.solution = ascd.minimize(self.problem, tol=tolerance, record=None, rng=0)

    def get_result(self):
        x = self.solution.x
        return {"beta": np.append(x, self.solution.intercept) if self.fit_intercept else x}
