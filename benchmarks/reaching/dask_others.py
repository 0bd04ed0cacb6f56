"""The same L1 problem by others: Spark's MLlib and dask-ml, at a gap that is computed from their coefficients.

Each is asked for more and more until its gap is at most 1e-6 of F at zero; what that took is its time, warm.  A short
trial tells how many iterations a time limit allows: who does not get there within it is listed with the gap that it was
at when its time was over, and who fails with its own words.

    pip install pyspark dask-ml              and Java (Debian: default-jre-headless)
"""

from __future__ import annotations

import importlib
import signal
import time
from contextlib import contextmanager

import numpy as np

import ascd

HEAD = ["by", "settings", "seconds", "gap / F(0)"]
GAP = 1e-6
#: Characters of an error that are kept; iterations of two trials; limits after which a fit is ended without an answer.
WORDS, TRIALS, PATIENCE = 160, (2, 8), 2.0
#: solver → iterations and tolerances
DASK_ML = {"proximal_grad": [(100, 1e-4), (10_000, 1e-10)], "admm": [(100, 1e-4), (10_000, 1e-8)]}
#: iterations, tolerance; its own defaults come first
SPARK = [(100, 1e-6), (1000, 1e-9), (1000, 1e-12)]


class OverTime(Exception):
    """A fit has taken far longer than its trial had told."""


@contextmanager
def ended_after(seconds):
    """Raise ``OverTime`` in what takes longer."""

    def end(*_):
        raise OverTime(f"ended without an answer after {seconds:.0f} seconds")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


class Race:
    """One problem, ½‖Ax − b‖² or the logistic loss plus strength·‖x‖₁; ``rows`` of a table are filled."""

    def __init__(self, A, target, loss, strength, repeats, limit):
        self.A, self.target, self.loss, self.strength = A, target, loss, strength
        self.repeats, self.limit = repeats, limit
        self.problem = ascd.Problem(A, target, loss=loss, penalty=ascd.L1(strength))
        self.zero = self.problem.objective(np.zeros(A.shape[1]))
        self.rows = []

    def attempt(self, name, settings, fit):
        """Fit once, to warm up, and again if that was good enough; was it?"""
        try:
            seconds, x = self._timed(fit)
            gap = self.problem.gap(np.asarray(x, dtype=np.float64)) / self.zero
            is_there, count = gap <= GAP, min(self.repeats, int(self.limit / seconds))
            if is_there:
                seconds = min((self._timed(fit)[0] for _ in range(count)), default=seconds)
        except Exception as error:
            self._failed(name, settings, error)
            return False
        self.rows.append([name, settings, f"{'' if is_there else 'not there after '}{seconds:.2f}", f"{gap:.1e}"])
        return is_there

    def in_time(self, name, solver, fit, tries):
        """``fit(iterations, tolerance)`` with more and more of both, as far as the limit allows; was one enough?"""
        try:
            short, longer = (self._timed(lambda: fit(count, 0.0))[0] for count in TRIALS)  # noqa: B023
        except Exception as error:
            self._failed(name, f"{solver}{TRIALS[0]} iterations", error)
            return False
        # what a fit takes beside its iterations is left out, unless the first trial was warming up
        an_iteration = max((longer - short) / (TRIALS[1] - TRIALS[0]), 0.2 * longer / TRIALS[1])
        allowed = max(TRIALS[1], int(self.limit / an_iteration))
        for most, tol in tries:
            count = min(most, allowed)
            why = "" if count == most else f", which {self.limit:g} s allow"
            if self.attempt(name, f"{solver}{count} iterations{why}, tol {tol:g}", lambda: fit(count, tol)):  # noqa: B023
                return True
            if count < most:
                break
        return False

    def _timed(self, fit):
        """Seconds and answer of a fit."""
        with ended_after(PATIENCE * self.limit):
            start = time.perf_counter()
            found = fit()
            return time.perf_counter() - start, found

    def _failed(self, name, settings, error):
        self.rows.append([name, settings, "fails", f"{type(error).__name__}: {error}".replace("\n", " ")[:WORDS]])

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
        how = {"penalty": "l1", "C": 1.0 / strength, "fit_intercept": False}
        for solver, tries in DASK_ML.items():
            fit = lambda most, tol: np.ravel(make(solver=solver, max_iter=most, tol=tol, **how).fit(X, y).coef_)  # noqa: B023, E731
            if self.in_time("dask-ml", f"{solver}, ", fit, tries):
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
            self._failed("Spark", "", error)
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

        def fit(most, tol):
            model = make(standardization=False, maxIter=most, tol=tol, **how)
            return model.fit(frame).coefficients.toArray()

        self.in_time("Spark", "", fit, SPARK)
