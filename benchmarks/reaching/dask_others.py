"""The same L1 problem by others: Spark's MLlib and dask-ml, at a gap that is computed from their coefficients.

Each is asked for more and more until its gap is at most 1e-6 of F at zero; what that took is its time, warm.  Who does
not get there is listed with its best gap, and who fails with its own words.

    pip install pyspark dask-ml              and Java (Debian: default-jre-headless)
"""

from __future__ import annotations

import importlib
import time

import numpy as np

import ascd

HEAD = ["by", "settings", "seconds", "gap / F(0)"]
GAP = 1e-6
#: Characters of an error that are kept; seconds of a fit after which no longer one is tried.
WORDS, BUDGET = 160, 120.0
#: solver, iterations, tolerance
DASK_ML = [("proximal_grad", 100, 1e-4), ("proximal_grad", 1000, 1e-10), ("admm", 100, 1e-4), ("admm", 1000, 1e-8)]
#: iterations, tolerance; its own defaults come first
SPARK = [(100, 1e-6), (1000, 1e-9), (1000, 1e-12)]


class Race:
    """One problem, ½‖Ax − b‖² or the logistic loss plus strength·‖x‖₁; ``rows`` of a table are filled."""

    def __init__(self, A, target, loss, strength, repeats):
        self.A, self.target, self.loss, self.strength, self.repeats = A, target, loss, strength, repeats
        self.problem = ascd.Problem(A, target, loss=loss, penalty=ascd.L1(strength))
        self.zero = self.problem.objective(np.zeros(A.shape[1]))
        self.rows = []

    def attempt(self, name, settings, fit):
        """Fit once, to warm up, and again if that was good enough; is it, or would more take too long?"""
        start = time.perf_counter()
        try:
            gap = self.problem.gap(np.asarray(fit(), dtype=np.float64)) / self.zero
        except Exception as error:
            self.rows.append([name, settings, "fails", f"{type(error).__name__}: {error}".replace("\n", " ")[:WORDS]])
            return False
        seconds = self._seconds(fit) if gap <= GAP else None
        self.rows.append([name, settings, "–" if seconds is None else f"{seconds:.2f}", f"{gap:.1e}"])
        return seconds is not None or time.perf_counter() - start > BUDGET

    def _seconds(self, fit):
        best = np.inf
        for _ in range(self.repeats):
            start = time.perf_counter()
            fit()
            best = min(best, time.perf_counter() - start)
        return best

    def ascd(self, X):
        def fit():
            problem = ascd.Problem(X, self.target, loss=self.loss, penalty=ascd.L1(self.strength))
            return ascd.solve(problem, tol=GAP).x

        self.attempt("ascd", f"tol {GAP:g}", fit)

    def dask_ml(self, X, rows):
        import dask.array as da

        try:
            module = importlib.import_module("dask_ml.linear_model")
        except ImportError as error:
            self.rows.append(["dask-ml", "", "not installed", str(error)])
            return
        is_logistic = self.loss == "logistic"
        make = module.LogisticRegression if is_logistic else module.LinearRegression
        y = da.from_array(self.target > 0.0 if is_logistic else self.target, chunks=rows).persist()
        # dask-glm's squared loss has no factor ½
        strength = self.strength if is_logistic else 2.0 * self.strength
        for solver, most, tol in DASK_ML:
            how = {"penalty": "l1", "C": 1.0 / strength, "fit_intercept": False}
            model = make(solver=solver, max_iter=most, tol=tol, **how)
            fit = lambda: np.ravel(model.fit(X, y).coef_)  # noqa: B023, E731
            if self.attempt("dask-ml", f"{solver}, {most} iterations, tol {tol:g}", fit):
                break

    def spark(self, parts):
        try:
            sql = importlib.import_module("pyspark.sql")
        except ImportError as error:
            self.rows.append(["Spark", "", "not installed", str(error)])
            return
        builder = sql.SparkSession.builder.master("local[2]").config("spark.driver.memory", "8g")
        try:
            session = builder.config("spark.ui.enabled", "false").getOrCreate()
        except Exception as error:
            self.rows.append(["Spark", "", "fails", f"{type(error).__name__}: {error}".replace("\n", " ")[:WORDS]])
            return
        try:
            self._spark(session, parts)
        finally:
            session.stop()

    def _spark(self, session, parts):
        linalg, is_logistic = importlib.import_module("pyspark.ml.linalg"), self.loss == "logistic"
        labels = (self.target > 0.0).astype(float) if is_logistic else self.target
        lines = [(float(label), linalg.Vectors.dense(row)) for label, row in zip(labels, self.A, strict=True)]
        frame = session.createDataFrame(lines, ["label", "features"]).repartition(parts).cache()
        frame.count()
        module = importlib.import_module(f"pyspark.ml.{'classification' if is_logistic else 'regression'}")
        make = module.LogisticRegression if is_logistic else module.LinearRegression
        how = {"regParam": self.strength / len(labels), "elasticNetParam": 1.0, "fitIntercept": False}
        for most, tol in SPARK:
            model = make(standardization=False, maxIter=most, tol=tol, **how)
            fit = lambda: model.fit(frame).coefficients.toArray()  # noqa: B023, E731
            if self.attempt("Spark", f"{most} iterations, tol {tol:g}", fit):
                break
