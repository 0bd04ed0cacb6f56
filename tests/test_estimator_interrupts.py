"""Ctrl-C in one of several problems of a fit ends it: the others are not begun, and their certificates say so."""

from __future__ import annotations

import ctypes
import signal
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import ascd
from ascd._core.jit import Kernel
from ascd.estimators import _solving
from ascd.solver.svm import BoxDescent

rng = np.random.default_rng(8)
X, LABELS = rng.standard_normal((80, 12)), np.repeat([0, 1, 2, 3], 20)
X[:, :4] += np.eye(4)[LABELS]
TARGETS = X @ rng.standard_normal((12, 4)) + rng.standard_normal((80, 4))
SEVERAL = {
    "primal": (ascd.LinearSVC(dual=False, C=0.1, tol=1e-10), LABELS),
    "Lasso": (ascd.Lasso(alpha=0.1, tol=1e-10), TARGETS),
    "engine": (ascd.Lasso(alpha=0.1, tol=1e-10, solver="uniform", random_state=0), TARGETS),
}


def fitted(model, y):
    """The model, and the message of its warning."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model.fit(X, y)
    return model, [str(one.message) for one in heard if one.category is ConvergenceWarning]


def check_only_the_first_is_done(model, messages, whole):
    assert model.certificate_.status is ascd.Status.INTERRUPTED
    assert any("interrupted" in message for message in messages)
    np.testing.assert_allclose(model.coef_[0], whole.coef_[0], rtol=1e-9)
    assert not model.coef_[2:].any()  # where they begin
    assert model.certificate_.gap >= model.certificate_.objective - whole.certificate_.objective


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
        return _solving.replace(found, status=ascd.Status.INTERRUPTED) if is_second else found

    monkeypatch.setattr(_solving, name, interrupted)
    check_only_the_first_is_done(*fitted(model, y), whole)
    first, second, *others = asked.values()
    assert first == second > 0
    assert others == [0, 0]


def test_ctrl_c_in_the_second_class_of_a_dual(monkeypatch):
    model, sweep, begun = ascd.LinearSVC(loss="hinge", C=0.1, tol=1e-10), BoxDescent._sweep, []
    whole = clone(model).fit(X, LABELS)

    def interrupted(self, *arguments):
        if not any(one is self for one in begun):
            begun.append(self)
        if len(begun) > 1:
            raise KeyboardInterrupt
        return sweep(self, *arguments)

    monkeypatch.setattr(BoxDescent, "_sweep", interrupted)
    check_only_the_first_is_done(*fitted(model, LABELS), whole)
    assert len(begun) == 2


def once(values):
    return values[0]


def twice(values):
    return 2.0 * values[0]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_while_machine_code_is_made_is_not_lost(monkeypatch):
    """LLVM hands its code to a function whose exceptions are lost; the next call compiles again."""
    library = pytest.importorskip("numba.core.codegen").JITCodeLibrary
    Kernel(once).fresh(X[0])  # the trial of our compilers comes first
    doubling, finalize = Kernel(twice), library._finalize_specific

    def interrupted(self):
        finalize(self)
        ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))()

    with monkeypatch.context() as patched:
        patched.setattr(library, "_finalize_specific", interrupted)
        with pytest.raises(KeyboardInterrupt):
            doubling.fresh(X[0])
    assert doubling.fresh(X[0]) == 2.0 * X[0, 0]
