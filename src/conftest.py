"""Examples in docstrings run as plain Python, but for those of estimators, whose data are larger.

What they compile is compiled by tests, once for each part.
"""

import pytest


@pytest.fixture(autouse=True)
def plain_python(request, monkeypatch):
    monkeypatch.setattr("ascd._core.jit.is_interpreted", ".estimators." not in request.node.name)
