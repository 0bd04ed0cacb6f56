"""``ascd fit`` on a cluster: several files, workers that are started for it, and options that do not go with it."""

from __future__ import annotations

import numpy as np
import pytest
from command_line import run

import ascd

pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")
pytestmark = pytest.mark.usefixtures("plain_python")


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 4))
    table = pandas.DataFrame(X, columns=list("abcd")).assign(y=X[:, 0] - 2.0 * X[:, 2] + 0.1 * rng.standard_normal(90))
    paths = [tmp_path / f"part{number}.parquet" for number in range(3)]
    for number, path in enumerate(paths):
        table[30 * number : 30 * (number + 1)].to_parquet(path)
    return table, paths


def test_files_are_fitted_together_on_workers(files, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    table, paths = files
    out = tmp_path / "model.npz"
    code, said, _ = run(capsys, "fit", *paths, "--workers", "1", "--alpha", "0.1", "--without", "d", "--out", out)
    assert code == 0, said
    assert "1 workers on this machine, dashboard http" in said
    assert "read 3 files: 90 rows, 3 features in 3 parts, target 'y'" in said
    assert "converged" in said
    expected = ascd.Lasso(0.1).fit(table[list("abc")].to_numpy(), table["y"])
    with np.load(out) as model:
        np.testing.assert_allclose(model["coef"].ravel(), expected.coef_, atol=1e-6)
        assert model["names"].tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "3 files can be fitted together on a cluster only"),
        (["--workers", "1", "--scheduler", "tcp://nowhere:1"], "exclude each other"),
        (["--workers", "1", "--drop"], "--drop looks at the table as a whole"),
        (["--workers", "1", "--explain"], "leave out the cluster"),
    ],
)
def test_options_that_do_not_go_together(files, options, words, capsys):
    code, _, said = run(capsys, "fit", *files[1], *options)
    assert code == 1
    assert words in said
