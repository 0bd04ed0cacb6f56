"""The same L1 problem by others: Spark's MLlib and dask-ml, at a gap that is computed from their coefficients.

Each is asked for more and more until its gap is at most 1e-6 of F at zero; what that took is its time, warm.  Every fit
has a time limit.  Who is not there by then is listed with the gap where it was, if its coefficients can be seen on the
way (those of dask-ml are: its penalty is ours, and takes notes), and who fails with its own words.

    pip install pyspark dask-ml              and Java (Debian: default-jre-headless)
"""

from __future__ import annotations

import importlib
import signal
import time
from collections import deque
from contextlib import contextmanager

import numpy as np

import ascd

HEAD = ["by", "settings", "seconds", "gap / F(0)"]
GAP = 1e-6
#: Characters of an error that are kept; points of a run that are looked at when its time is over.
WORDS, LAST = 160, 3
#: solver → iterations and tolerances; what the tolerances are called, beside ``tol``, which ADMM does not read
DASK_ML = {"proximal_grad": [(100, 1e-4), (10_000, 1e-10)], "admm": [(250, 1e-4), (10_000, 1e-8)]}
TOLERANCES = {"proximal_grad": (), "admm": ("abstol", "reltol")}
#: iterations, tolerance; its own defaults come first
SPARK = [(100, 1e-6), (1000, 1e-9), (1000, 1e-12)]


class OverTime(Exception):
    """A fit has reached its time limit."""


@contextmanager
def ended_after(seconds):
    """Raise ``OverTime`` in what takes longer."""

    def end(*_):
        raise OverTime

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

    def attempt(self, name, settings, fit, seen=()):
        """Fit once, to warm up, and again if that was good enough; was it, or is there no time for more?

        ``seen`` holds the last points of a fit that had to be ended.
        """
        try:
            seconds, x = self._timed(fit)
            gap, ended = self._gap(x), ""
            if gap <= GAP:
                count = min(self.repeats, int(0.5 * self.limit / seconds))
                seconds = min((self._timed(fit)[0] for _ in range(count)), default=seconds)
        except OverTime as error:
            if not seen:
                self._failed(name, settings, error)
                return True
            seconds, gap, ended = self.limit, min(map(self._gap, seen)), ", its limit"
        except Exception as error:
            self._failed(name, settings, error)
            return False
        taken = f"{seconds:.2f}" if gap <= GAP else f"not there after {seconds:.0f}{ended}"
        self.rows.append([name, settings, taken, f"{gap:.1e}"])
        return gap <= GAP or seconds >= self.limit

    def _timed(self, fit):
        """Seconds and answer of a fit."""
        start = time.perf_counter()
        try:
            with ended_after(self.limit):
                found = fit()
        except Exception as error:
            if time.perf_counter() - start >= self.limit:  # others may have made an error of their own of it
                raise OverTime(f"no answer within the limit of {self.limit:g} seconds") from error
            raise
        return time.perf_counter() - start, found

    def _gap(self, x):
        x = x.compute() if hasattr(x, "compute") else x
        return self.problem.gap(np.asarray(x, dtype=np.float64)) / self.zero

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
        seen = deque(maxlen=LAST)
        how = {"penalty": noted_l1(seen), "C": 1.0 / strength, "fit_intercept": False}
        for solver, tries in DASK_ML.items():
            for most, tol in tries:
                seen.clear()
                own = {"solver_kwargs": dict.fromkeys(TOLERANCES[solver], tol)}
                model = make(solver=solver, max_iter=most, tol=tol, **how, **own)
                fit = lambda: np.ravel(model.fit(X, y).coef_)  # noqa: B023, E731
                if self.attempt("dask-ml", f"{solver}, {most} iterations, tol {tol:g}", fit, seen):
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
        for most, tol in SPARK:
            model = make(standardization=False, maxIter=most, tol=tol, **how)
            fit = lambda: model.fit(frame).coefficients.toArray()  # noqa: B023, E731
            if self.attempt("Spark", f"{most} iterations, tol {tol:g}", fit):
                break


def noted_l1(seen):
    """dask-glm's L1 penalty; the points that its proximal steps lead to are put down in ``seen``."""
    regularizers = importlib.import_module("dask_glm.regularizers")

    class Noted(regularizers.L1):
        def proximal_operator(self, beta, t):
            seen.append(super().proximal_operator(beta, t))
            return seen[-1]

    return Noted()
