"""A plugin of pytest: scikit-learn's tests meet our estimators under scikit-learn's names.

The classes are replaced in ``sklearn.linear_model`` and ``sklearn.svm`` before the tests are imported.  Tests whose
text does not name one of them are left out beforehand; one that neither makes nor fits ours is not counted.

Names of scikit-learn's algorithms (``solver="svd"``) are replaced by our default when ``fit`` is called: the tests then
ask whether the answers are right.  Of tests that differ in nothing but that name the first by ``SOLVERS`` is run.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections import defaultdict
from typing import Any

import pytest

import ascd

SWAPPED = {
    "sklearn.linear_model": (
        "Lasso",
        "ElasticNet",
        "LassoCV",
        "ElasticNetCV",
        "lasso_path",
        "enet_path",
        "Ridge",
        "HuberRegressor",
        "PoissonRegressor",
        "LogisticRegression",
        "LogisticRegressionCV",
    ),
    "sklearn.svm": ("LinearSVC",),
}
_NAMES = re.compile(rf"\b({'|'.join(name for names in SWAPPED.values() for name in names)})\b")
#: Algorithms of scikit-learn that ``solver`` names; first those for which its tests skip the fewest cases.
SOLVERS = [
    "sparse_cg",
    "lbfgs",
    "saga",
    "sag",
    "newton-cg",
    "newton-cholesky",
    "cholesky",
    "lsqr",
    "liblinear",
    "svd",
    "auto",
]


class Swap:
    """Replaces the classes, notes which tests use them, and gathers the outcomes."""

    def __init__(self) -> None:
        self.is_used = False
        self.current = ""
        self.outcomes: dict[str, str] = {}
        self.messages: dict[str, str] = {}
        self._by_test: dict[str, str] = defaultdict(str)
        for module, names in SWAPPED.items():
            for name in names:
                self._replace(module, name)

    def _replace(self, module: str, name: str) -> None:
        ours: Any = getattr(ascd, name)
        if inspect.isclass(ours):
            ours.__init__ = self._noted(ours.__init__)
            ours.fit = self._noted(ours.fit)
        else:
            ours = self._noted(ours)
        setattr(__import__(module, fromlist=[name]), name, ours)

    def _noted(self, function: Any) -> Any:
        @functools.wraps(function)
        def noted(*args: Any, **kwargs: Any) -> Any:
            self.is_used = True
            if function.__name__ == "fit" and getattr(args[0], "solver", None) in SOLVERS:
                args[0].solver = "auto"
            return function(*args, **kwargs)

        return noted

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        chosen: dict[Any, Any] = {}
        for item in sorted(items, key=_rank):
            if _NAMES.search(inspect.getsource(item.function)):
                chosen.setdefault(_without_solver(item), item)
        kept = set(chosen.values())
        ours = [item for item in items if item in kept]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = ours

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        self.is_used = False
        self.current = f"{item.module.__name__.partition('.')[2].replace('.', '/')}.py::{item.name}"
        return (yield)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Of the three phases of a test the worst counts; one that skips or never touches ours does not."""
        test = self.current
        if report.failed and self._by_test[test] != "failed":
            self._by_test[test] = "failed"
            self.messages[test] = getattr(getattr(report.longrepr, "reprcrash", None), "message", "").partition("\n")[0]
        elif report.skipped:
            self._by_test[test] = "skipped"
        elif report.when == "call":
            self._by_test[test] = "passed"
        if report.when == "teardown" and self.is_used:
            self.outcomes[test] = self._by_test[test]


def _solver(item: Any) -> Any:
    """The algorithm among a test's parameters."""
    return item.callspec.params.get("solver") if hasattr(item, "callspec") else None


def _rank(item: Any) -> int:
    solver = _solver(item)
    return SOLVERS.index(solver) if solver in SOLVERS else 0


def _without_solver(item: Any) -> tuple[Any, ...]:
    """What tells a test from others, but for the algorithm among its parameters."""
    if _solver(item) not in SOLVERS:
        return (item.module.__name__, item.name)
    others = sorted((name, repr(value)) for name, value in item.callspec.params.items() if name != "solver")
    return (item.module.__name__, item.originalname, *others)
