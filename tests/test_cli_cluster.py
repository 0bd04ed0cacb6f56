"""``ascd fit`` on a cluster: several files, workers that are started for it, and options that do not go with it."""

from __future__ import annotations

import numpy as np
import pytest
from command_line import run
from dask_clusters import local_cluster, workers_are_copies

import ascd
from ascd.cli import ERROR, UNCONVERGED, USAGE
from ascd.matrix.base import DataGone
from ascd.matrix.dask_cluster import OnCluster

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
    with workers_are_copies():
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
    assert code == USAGE
    assert words in said


@pytest.fixture(scope="module")
def scheduler():
    """The address of a cluster that is there already."""
    with local_cluster(1) as client:
        yield client.scheduler.address


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes two CSV files, each with a half of the table, as pandas is told; the first half has whole numbers in a."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    X = np.random.default_rng(0).standard_normal((60, 3)).round(3)
    X[:30, 0] = np.arange(30) % 7
    table = pandas.DataFrame(X, columns=list("abc")).assign(y=(X @ [1.0, -2.0, 0.0]).round(3))

    def write(changed=lambda half, number: half, **how):
        for number in range(2):
            changed(table[30 * number : 30 * (number + 1)], number).to_csv(f"p{number}.csv", index=False, **how)
        return table

    return write


@pytest.mark.parametrize(
    ("how", "options", "words"),
    [
        ({"sep": ";", "decimal": ","}, [], "separator ';', decimal comma, header"),
        ({"header": False}, ["--no-header", "--target", "4"], "separator ',', no header"),
    ],
)
def test_how_files_are_written_is_found_out(written, scheduler, capsys, how, options, words):
    table = written(**how)
    code, said, error = run(capsys, "fit", "p*.csv", "--scheduler", scheduler, "--alpha", 0.01, *options)
    assert code == 0, error
    assert f"cluster at {scheduler}, dashboard http" in said
    assert f"  {words}\n" in said
    expected = ascd.Lasso(0.01).fit(table[list("abc")].to_numpy(), table["y"])
    with np.load("model.npz") as model:
        np.testing.assert_allclose(model["coef"].ravel(), expected.coef_, atol=1e-6)
    code, _, error = run(capsys, "predict", "model.npz", "p1.csv")
    assert (code, error) == (0, f"p1.csv: read as the model's data were: {words}\nR² 1.0000\n")


def test_words_further_on_are_told_in_one_line(written, scheduler, capsys):
    written(lambda half, number: half.astype(object).mask(half == half["b"].iloc[20], "abc") if number else half)
    code, _, error = run(capsys, "fit", "p0.csv", "p1.csv", "--scheduler", scheduler, "--alpha", 0.01)
    assert code == ERROR
    assert "column 'b' begins with numbers and has words further on, the first 'abc'" in error


def test_classes_of_all_files_are_words_if_some_are(written, scheduler, capsys):
    written(lambda half, number: half.assign(y=np.where(half.b > 0, "07", "08" if number else "x")))
    code, _, error = run(capsys, "fit", "p0.csv", "p1.csv", "--scheduler", scheduler, "--model", "logistic")
    assert code == 0, error
    with np.load("model.npz") as model:
        assert model["classes"].tolist() == ["07", "08", "x"]


@pytest.mark.parametrize(
    ("last", "words"), [(None, "1 sample without a target"), ("date", "its first value is '2020-01-01'")]
)
def test_targets_on_a_cluster_are_told_as_elsewhere(files, scheduler, tmp_path, capsys, monkeypatch, last, words):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    table, paths = files
    dates = pandas.date_range("2020-01-01", periods=len(table)).date
    table.assign(y=[*table.y[:-1], None] if last is None else dates).to_parquet(paths[0])
    code, _, error = run(capsys, "fit", paths[0], "--scheduler", scheduler, "--out", tmp_path / "m.npz")
    assert code == ERROR
    assert words in error


def test_a_first_line_of_numbers_is_questioned_before_workers_start(written, capsys):
    written(header=False)
    code, said, error = run(capsys, "fit", "p0.csv", "p1.csv", "--workers", 1)
    assert (code, said) == (ERROR, "")
    assert "the first line of p0.csv has numbers" in error


def test_files_that_are_written_in_different_ways_are_refused(written, capsys):
    written(sep=";").to_csv("p1.csv", index=False)
    code, said, error = run(capsys, "fit", "p0.csv", "p1.csv", "--workers", 1)
    assert (code, said) == (ERROR, "")
    assert "p0.csv has separator ';', header, p1.csv has separator ',', header" in error


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (lambda half: half.rename(columns={"a": "z"}), "lacks the column 'a' and has besides the column 'z'"),
        (lambda half: half.drop(columns=["a", "c"]), "lacks the columns 'a', 'c'"),
        (lambda half: half.assign(d=1.0), "has besides the column 'd'"),
    ],
)
def test_files_of_other_columns_are_named_before_workers_start(written, capsys, kind, changed, words):
    half = written(lambda half, number: changed(half) if number else half)[:30]
    if kind == "parquet":
        half.to_parquet("p0.parquet")
        changed(half).to_parquet("p1.parquet")
    code, said, error = run(capsys, "fit", f"p0.{kind}", f"p1.{kind}", "--workers", 1)
    assert (code, said) == (ERROR, "")
    assert f"p1.{kind} {words}, compared with p0.{kind}" in error
    assert len(error.splitlines()) == 1


def test_columns_may_come_in_another_order(written, scheduler, capsys):
    table = written(lambda half, number: half[["y", "c", "a", "b"]] if number else half)
    assert run(capsys, "fit", "p0.csv", "p1.csv", "--scheduler", scheduler, "--alpha", 0.01)[0] == 0
    expected = ascd.Lasso(0.01).fit(table[list("abc")].to_numpy(), table["y"])
    with np.load("model.npz") as model:
        np.testing.assert_allclose(model["coef"].ravel(), expected.coef_, atol=1e-6)


@pytest.mark.parametrize(
    ("question", "options"), [("apply", ["--model", "huber"]), ("linear", ["--cv", 2, "--tol", 0.1])]
)
def test_a_model_is_written_where_the_cluster_is_lost(written, scheduler, capsys, monkeypatch, question, options):
    """After a question: with what is known then, and no score, which would need the data."""
    written()
    ask, is_lost = OnCluster.ask, []

    def asked(self, calls):
        if is_lost:
            raise DataGone("the cluster has gone")
        is_lost.extend(call for call in calls if call.request == question)
        return ask(self, calls)

    monkeypatch.setattr(OnCluster, "ask", asked)
    code, said, error = run(capsys, "fit", "p0.csv", "p1.csv", "--scheduler", scheduler, *options)
    assert code == UNCONVERGED, error
    assert "R² on these data is not known" in said
    assert "certificate: unreachable; " in said
    assert "nan" not in said
    with np.load("model.npz") as model:
        assert np.isfinite(model["coef"]).all()


def test_text_is_refused(written, scheduler, capsys):
    written(lambda half, number: half.assign(kind="red"))
    code, _, error = run(capsys, "fit", "p0.csv", "p1.csv", "--scheduler", scheduler, "--target", "y")
    assert code == ERROR
    assert "column 'kind' holds text, or dates: on a cluster files must hold numbers; --without 'kind'" in error
