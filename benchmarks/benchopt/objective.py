"""The Lasso, ½‖y − Xw‖² + reg·λmax·‖w‖₁, for benchopt: ``benchopt run benchmarks/benchopt``.

The duality gap is recomputed here from the coefficients alone, the same for every solver; the solver files fit
benchopt's own benchmark of the Lasso as well, whose objective has these names.
"""

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    name = "Lasso"
    min_benchopt_version = "1.6"
    parameters = {"reg": [0.1, 0.01], "fit_intercept": [False]}  # noqa: RUF012

    def set_data(self, X, y):
        self.X, self.y = X, y
        self.lmbd = self.reg * np.abs(X.T @ y).max()

    def evaluate_result(self, beta):
        residual = self.y - self.X @ beta
        primal = 0.5 * residual @ residual + self.lmbd * np.abs(beta).sum()
        steepest = np.abs(self.X.T @ residual).max()
        dual = residual * min(1.0, self.lmbd / steepest) if steepest > 0.0 else residual
        value = 0.5 * self.y @ self.y - 0.5 * (self.y - dual) @ (self.y - dual)
        return {"value": primal, "duality_gap": primal - value, "support_size": int(np.count_nonzero(beta))}

    def get_one_result(self):
        return {"beta": np.zeros(self.X.shape[1])}

    def get_objective(self):
        return {"X": self.X, "y": self.y, "lmbd": self.lmbd, "fit_intercept": self.fit_intercept}
