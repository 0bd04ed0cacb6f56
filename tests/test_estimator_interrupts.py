"""Ctrl-C ends a fit: its best point stays in the attributes, and KeyboardInterrupt is raised."""

from __future__ import annotations

import ctypes
import signal
from dataclasses import replace

import numpy as np
import pytest
from estimators import CROSS_VALIDATED, EVERY, make_data, target_of
from sklearn.base import clone

import ascd
from ascd._core.jit import Kernel
from ascd.estimators import _solving

rng = np.random.default_rng(8)
X, LABELS = rng.standard_normal((80, 12)), np.repeat([0, 1, 2, 3], 20)
X[:, :4] += np.eye(4)[LABELS]
TARGETS = X @ rng.standard_normal((12, 4)) + rng.standard_normal((80, 4))
SEVERAL = {
    "primal": (ascd.LinearSVC(dual=False, C=0.1, tol=1e-10), LABELS),
    "Lasso": (ascd.Lasso(alpha=0.1, tol=1e-10), TARGETS),
    "engine": (ascd.Lasso(alpha=0.1, tol=1e-10, solver="uniform", random_state=0), TARGETS),
}


def interrupted_fit(model, X, y):
    """The model whose fit was interrupted."""
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not any(name.startswith("_is") for name in vars(model))
    return model


def check_only_the_first_is_done(model, whole):
    assert model.certificate_.status is ascd.Status.INTERRUPTED
    np.testing.assert_allclose(model.coef_[0], whole.coef_[0], rtol=1e-9)
    assert not model.coef_[2:].any()  # where they begin
    assert model.certificate_.gap >= model.certificate_.objective - whole.certificate_.objective


@pytest.mark.parametrize("name", [*EVERY, "GroupLasso", "MultiTaskLasso"])
def test_every_estimator_keeps_its_point_and_raises(name, monkeypatch):
    """The last run of the solver is interrupted: that of the cross-validation's fit to all samples, say."""
    data = make_data(30, 4)
    y = data.y[:, None] if name == "MultiTaskLasso" else target_of(name, data)
    make = EVERY.get(name) or getattr(ascd, name)
    how = {"positive": True} if name == "Ridge" else {}  # not by linear algebra
    plain = _solving.solve

    def run(*arguments, **options):
        return replace(plain(*arguments, **options), status=ascd.Status.INTERRUPTED)

    monkeypatch.setattr(_solving, "solve", run)
    model = interrupted_fit(make(**how), data.X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(np.ravel(model.predict(data.X) == model.predict(data.X))).all()
    assert np.isfinite(model.certificate_.gap)
    assert (name in CROSS_VALIDATED) == hasattr(model, "cv")


def test_ctrl_c_in_a_refinement_is_not_lost(monkeypatch):
    """The fit has converged already, and its coefficients are being made more precise."""
    data, calls, plain = make_data(30, 4), [], _solving.solve

    def run(*arguments, **options):
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return plain(*arguments, **options)

    monkeypatch.setattr(_solving, "solve", run)
    model = interrupted_fit(ascd.LogisticRegression(C=1e-5, tol=1e-4), data.X, data.labels)
    assert model.certificate_.converged


@pytest.mark.parametrize("which", SEVERAL)
def test_ctrl_c_in_the_second_of_several_problems(which, monkeypatch):
    model, y = SEVERAL[which]
    whole = clone(model).fit(X, y)
    name, asked = "minimize_problem" if which == "engine" else "solve", {}
    solver = getattr(_solving, name)

    def interrupted(problem, *arguments, max_iter, **options):
        asked.setdefault(id(problem), max_iter)
        is_second = list(asked).index(id(problem)) == 1
        found = solver(problem, *arguments, max_iter=min(max_iter, 1) if is_second else max_iter, **options)
        return replace(found, status=ascd.Status.INTERRUPTED) if is_second else found

    monkeypatch.setattr(_solving, name, interrupted)
    check_only_the_first_is_done(interrupted_fit(model, X, y), whole)
    first, second, *others = asked.values()
    assert first == second > 0
    assert others == [0, 0]


def twice(values):
    return 2.0 * values[0]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_while_machine_code_is_made_is_not_lost(monkeypatch):
    """LLVM hands its code to a function whose exceptions are lost; the next call compiles again."""
    library = pytest.importorskip("numba.core.codegen").JITCodeLibrary
    doubling, finalize = Kernel(twice), library._finalize_specific

    def interrupted(self):
        finalize(self)
        ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))()

    with monkeypatch.context() as patched:
        patched.setattr(library, "_finalize_specific", interrupted)
        with pytest.raises(KeyboardInterrupt):
            doubling.compiled(X[0])
    assert doubling.compiled(X[0]) == 2.0 * X[0, 0]
