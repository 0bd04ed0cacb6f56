"""What the examples in docstrings share."""

from __future__ import annotations

import pytest

#: Examples whose parts are their own: each would compile a loop of its own to take ten steps.
INTERPRETED = ("ascd.engine.", "ascd.svm", "ascd.plotting", "ascd.racing")


@pytest.fixture(autouse=True)
def examples_in_plain_python(request, monkeypatch):
    if request.node.name.startswith(INTERPRETED):
        monkeypatch.setattr("ascd._base.jit.is_interpreted", True)
