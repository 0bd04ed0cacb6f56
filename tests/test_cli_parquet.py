"""Parquet files give the same model in memory and piece by piece, whatever the types of their columns."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
import pandas
from command_line import run

from ascd import open_data
from ascd.cli import ERROR
from ascd.io.models import load as load_model

pytestmark = pytest.mark.usefixtures("interpreted")
FIRST = datetime.date(2020, 1, 1)


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(rng.standard_normal((40, 2)), columns=["a", "b"])
    return table.assign(price=2.0 * table.a - table.b)


def models_of(capsys, path, *options):
    """The model of a fit in memory, and of one piece by piece."""
    found = []
    for memory in ((), ("--memory", "100MB")):
        out = path.with_suffix(".npz")
        code, _, error = run(capsys, "fit", path, "--out", out, "--force", *options, *memory)
        assert code == 0, error
        found.append(load_model(out))
    return found


@pytest.mark.parametrize("index", ["", "customer"])
def test_an_index_of_pandas_is_no_column(capsys, tmp_path, frame, index):
    path = tmp_path / "some.parquet"
    some = frame[frame.a > -0.5]  # what is left has an index that pandas stores
    (some.rename_axis(index) if index else some).to_parquet(path)
    for model in models_of(capsys, path, "--alpha", 0.01):
        assert model.names.tolist() == ["a", "b"]
        assert model.header["data"]["target"] == "price"
    assert open_data(path, target="price").feature_names == ["a", "b"]


def test_an_index_does_not_tell_files_apart(tmp_path, frame):
    frame.to_parquet(tmp_path / "1.parquet")
    frame[frame.a > 0].to_parquet(tmp_path / "2.parquet")
    assert open_data(tmp_path).feature_names == ["a", "b", "price"]


@pytest.mark.parametrize("kind", ["Int64", "Float64", "boolean"])
def test_gaps_of_the_types_of_pandas_are_gaps(capsys, tmp_path, frame, kind):
    path = tmp_path / "gaps.parquet"
    values = [None if row % 9 == 0 else row % 2 for row in range(len(frame))]
    frame.assign(c=pandas.array(values, dtype=kind))[["c", "a", "price"]].to_parquet(path)
    code, _, error = run(capsys, "fit", path, "--alpha", 0.01, "--out", tmp_path / "m.npz")
    assert code == ERROR
    assert "5 missing or infinite values, the first in feature 'c', row 1" in error
    assert run(capsys, "fit", path, "--alpha", 0.01, "--impute", "mean", "--out", tmp_path / "m.npz")[0] == 0


@pytest.mark.parametrize(
    "labels",
    [["no", "yes"], ["1", "2"], [FIRST, FIRST + datetime.timedelta(1)], [pandas.Timestamp(FIRST), pandas.Timestamp(0)]],
    ids=["words", "digits", "dates", "times"],
)
def test_classes_of_any_type_stay_on_the_disk_too(capsys, tmp_path, frame, labels):
    path = tmp_path / "classes.parquet"
    frame.assign(price=[labels[int(a > 0)] for a in frame.a]).to_parquet(path)
    near, far = models_of(capsys, path, "--model", "logistic", "--tol", 1e-10)
    assert near.classes.tolist() == far.classes.tolist()
    assert np.allclose(near.coef, far.coef, atol=1e-5)


def test_decimals_are_a_target_on_the_disk_too(capsys, tmp_path, frame):
    path = tmp_path / "decimals.parquet"
    frame.assign(price=[decimal.Decimal(f"{value:.2f}") for value in frame.price]).to_parquet(path)
    near, far = models_of(capsys, path, "--alpha", 0.01, "--tol", 1e-10)
    assert np.allclose(near.coef, far.coef, atol=1e-5)


@pytest.mark.parametrize("last", [None, float("inf")])
def test_a_sample_without_a_target_is_told_on_the_disk_too(capsys, tmp_path, frame, last):
    path = tmp_path / "gap.parquet"
    frame.assign(price=[*frame.price[:-1], last]).to_parquet(path)
    code, _, error = run(capsys, "fit", path, "--memory", "100MB", "--out", tmp_path / "m.npz")
    assert code == ERROR
    assert "gap.parquet has 1 sample without a target, or with an infinite one: leave them out of the file" in error
