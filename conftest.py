"""What all tests share, and what the examples in docstrings do.

Kernels run as plain Python: a specialisation takes seconds to compile and there are thousands of combinations of parts.
What is to be compiled asks for the fixture ``compiled``.
"""

from __future__ import annotations

import gc
import os

import pytest

from ascd._core import jit

jit.is_interpreted = True


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session):
    """Thousands of tests are made, and live to the end: walking them for garbage took a third of it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)  # most of what tests make lives no longer than they do, and is in no circle
        gc.enable()


@pytest.fixture(autouse=True)
def huber_is_compiled(request, monkeypatch):
    """Each fit of ``HuberRegressor`` is hundreds of runs of the solver."""
    if "Huber" in request.node.name and os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0"):
        monkeypatch.setattr(jit, "is_interpreted", False)
