"""What the examples in docstrings share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def engine_examples_in_plain_python(request, monkeypatch):
    """Each example of the engine has parts of its own, and would compile a loop of its own to take ten steps."""
    if request.node.name.startswith("ascd.engine."):
        monkeypatch.setattr("ascd._base.jit.is_interpreted", True)
