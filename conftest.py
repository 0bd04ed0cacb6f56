"""What all tests share, and what the examples in docstrings do."""

from __future__ import annotations

import gc

import pytest

#: Examples whose parts are their own: each would compile a loop of its own to take ten steps.
INTERPRETED = ("ascd.engine.", "ascd.solver.svm", "ascd.plotting", "ascd.reproduction.")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session):
    """Ten thousand tests are made, and live to the end: walking them for garbage took a third of it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)  # most of what tests make lives no longer than they do, and is in no circle
        gc.enable()


@pytest.fixture(autouse=True)
def examples_in_plain_python(request, monkeypatch):
    if request.node.name.startswith(INTERPRETED):
        monkeypatch.setattr("ascd._core.jit.is_interpreted", True)
