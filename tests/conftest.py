"""What several test files share."""

from __future__ import annotations

import pytest


@pytest.fixture
def interpreted(monkeypatch):
    """Kernels run as plain Python: thousands of combinations of parts without compiling any."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")


@pytest.fixture
def compiled(monkeypatch):
    """Kernels are compiled, whatever the surroundings say."""
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)


@pytest.fixture(scope="module")
def lazy_everywhere():
    """Rules select lazily wherever they can, also on problems so small that they would rather scan."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ascd.rules.lazy.SMALLEST", 0)
        yield
