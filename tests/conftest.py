"""What several test files share."""

from __future__ import annotations

import os

import numpy as np
import pytest
from compilations import skip_uncompiled
from hypothesis import settings

#: The same examples every time; HYPOTHESIS_PROFILE=random looks for new ones.
settings.register_profile("fixed", derandomize=True)
settings.register_profile("random", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    """Tests have no examples in docstrings: looking for some took a tenth of the time to collect them."""
    return [each for each in (yield) if type(each) is pytest.Module]


@pytest.fixture
def compiled(monkeypatch):
    """Kernels are compiled: all else runs them as plain Python (see the conftest.py above this folder)."""
    skip_uncompiled()
    monkeypatch.setattr("ascd._core.jit.is_interpreted", False)


@pytest.fixture(scope="module")
def lazy_everywhere():
    """Rules select lazily wherever they can, also on problems so small that they would rather scan."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ascd.engine.tuning.SMALLEST_LAZY", 0)
        yield


@pytest.fixture
def long_way(monkeypatch):
    """No problem is so small that it is solved in one compiled call: the loop solves all."""
    monkeypatch.setattr("ascd.solver.tuning.SMALL_ENTRIES", 0)


@pytest.fixture
def without_gpu(monkeypatch):
    """NumPy in the place of CuPy, whose arrays stay on their device, however small they are."""
    import cupy_stand_in

    from ascd.matrix.device.cuda import compiled

    cupy_stand_in.install(monkeypatch)
    monkeypatch.setattr("ascd.matrix.costs.DEVICE_SMALL", 0)
    compiled.cache_clear()
    yield
    compiled.cache_clear()


@pytest.fixture
def write(tmp_path):
    """Write a small file, of text or bytes; its path."""

    def put(content, name="t.csv"):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / name

    return put


@pytest.fixture
def houses(tmp_path):
    """A small regression table with names."""
    pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    frame = pandas.DataFrame(X, columns=list("abcdef")).assign(
        price=3.0 * X[:, 0] - X[:, 2] + 0.1 * rng.standard_normal(40)
    )
    path = tmp_path / "houses.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def letters(tmp_path):
    """Two classes in LIBSVM's format."""
    rng = np.random.default_rng(0)
    X = (rng.random((40, 5)) < 0.5).astype(float)
    y = np.where(X[:, 0] + X[:, 1] > 1.0, 1, -1)
    lines = (f"{label} " + " ".join(f"{j + 1}:1" for j in np.flatnonzero(row)) for label, row in zip(y, X, strict=True))
    path = tmp_path / "letters.svm"
    path.write_text("\n".join(lines) + "\n")
    return path
