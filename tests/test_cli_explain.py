"""``ascd fit --explain``: features that matter are called stable, noise is not, and the page shows both."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
from command_line import run  # noqa: E402

from ascd.cli import ERROR, USAGE  # noqa: E402
from ascd.cli.explain import evidence, sentence  # noqa: E402
from ascd.estimators._data import moments  # noqa: E402

pytestmark = pytest.mark.usefixtures("interpreted")


def test_what_matters_is_stable_and_noise_is_not(capsys, houses, tmp_path):
    model = tmp_path / "m.npz"
    options = ("--alpha", 0.05, "--explain", "--resamples", 20, "--out", model)
    code, out, _ = run(capsys, "fit", houses, *options)
    assert code == 0
    assert "2 of" in out
    assert "used features keep their sign in at least 90 % of the 20 fits: a, c." in out
    page = (tmp_path / "m-explained.html").read_text()
    assert '<svg class="intervals"' in page
    assert "<td>stable</td>" in page
    assert "keep their sign" in page
    _, out, _ = run(capsys, "fit", houses, *options, "--force", "--json")
    found = json.loads(out)["explained"]
    shares = {row["name"]: row["share"] for row in found["all features"]}
    assert shares["a"] == shares["c"] == 1.0
    assert all(shares.get(name, 0.0) < 0.9 for name in "bdef")
    assert all(row["low"] <= row["high"] for row in found["all features"])


def test_the_same_numbers_every_time(capsys, houses, tmp_path):
    found = []
    for name in ("m", "n"):
        out = tmp_path / f"{name}.npz"
        run(capsys, "fit", houses, "--alpha", 0.05, "--explain", "--resamples", 5, "--out", out)
        found.append((tmp_path / f"{name}-explained.html").read_text())
    assert found[0] == found[1]


def test_the_penalty_that_cross_validation_chose_is_kept(capsys, houses, tmp_path, monkeypatch, compiled):
    from ascd.cli import explain

    seen = []
    whole = explain.plain_again
    monkeypatch.setattr(explain, "plain_again", lambda *given: seen.append(whole(*given)) or seen[-1])
    options = ("--cv", 3, "--explain", "--resamples", 5, "--out", tmp_path / "m.npz", "--json")
    code, out, _ = run(capsys, "fit", houses, *options)
    assert code == 0
    assert type(seen[0]).__name__ == "Lasso"
    assert seen[0].alpha == json.loads(out)["chosen"]["alpha_"]


def test_classes_are_explained_one_by_one(capsys, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 3))
    kind = np.array(["ant", "bee", "cat"])[X.argmax(axis=1)]
    path = tmp_path / "zoo.csv"
    pandas.DataFrame(X, columns=list("xyz")).assign(kind=kind).to_csv(path, index=False)
    options = (
        "--target",
        "kind",
        "--model",
        "logistic",
        "--explain",
        "--resamples",
        5,
        "--out",
        tmp_path / "m.npz",
        "--json",
    )
    code, out, _ = run(capsys, "fit", path, *options)
    found = json.loads(out)["explained"]
    assert code == 0
    for name, feature in zip(["class ant", "class bee", "class cat"], "xyz", strict=True):
        largest = max(found[name], key=lambda row: abs(row["effect"]))
        assert (largest["name"], largest["share"]) == (feature, 1.0)


def test_a_page_that_is_there_is_not_overwritten(capsys, houses, tmp_path):
    (tmp_path / "m-explained.html").write_text("mine")
    code, _, error = run(capsys, "fit", houses, "--explain", "--out", tmp_path / "m.npz")
    assert code == USAGE
    assert "m-explained.html exists" in error
    assert not (tmp_path / "m.npz").exists()


def test_the_tables_of_several_targets_say_which_one_they_are_of(capsys, tmp_path):
    path, X = tmp_path / "two.csv", np.random.default_rng(0).normal(size=(20, 2))
    pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "price": X[:, 0], "rent": X[:, 1]}).to_csv(path, index=False)
    targets = ("--target", "price", "--target", "rent", "--model", "multi-task-lasso", "--alpha", 0.1)
    code, out, _ = run(capsys, "fit", path, *targets, "--explain", "--resamples", 5, "--out", tmp_path / "m.npz")
    page = (tmp_path / "m-explained.html").read_text()
    assert code == 0
    for name in ("price", "rent"):
        assert f"halves of the samples, target {name}" in out
        assert f"Which features, target {name}" in page
        assert f"In numbers, target {name}" in page


def test_too_few_samples_are_told(capsys, tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("a,y\n" + "".join(f"{k},{k}\n" for k in range(6)))
    code, _, error = run(capsys, "fit", path, "--explain", "--out", tmp_path / "m.npz")
    assert code == ERROR
    assert "--explain needs at least 10 samples to draw halves from; there are 6" in error


def test_a_feature_whose_sign_changes_is_not_sure():
    fits = np.array([[1.0, 1.0, 0.0]] * 6 + [[1.0, -1.0, 0.0]] * 4)
    found = {one.name: one for one in evidence(np.array([1.0, 1.0, 0.0]), fits, np.ones(3), ["a", "b", "c"])}
    assert (found["a"].verdict, found["b"].verdict) == ("stable", "fair")
    assert found["b"].share == 0.6
    assert "c" not in found
    assert "1 of 2 used features keeps its sign" in sentence(list(found.values()), 10)
    assert "No feature is used" in sentence([], 10)


def test_deviations_of_sparse_columns_are_those_of_dense_ones():
    from scipy import sparse

    X = np.random.default_rng(0).random((30, 4)) * (np.arange(4) > 0) + 1e7 * (np.arange(4) > 2)
    for form in (X, sparse.csc_array(X)):
        np.testing.assert_allclose(np.sqrt(moments(form, None)[1]), X.std(axis=0), rtol=1e-7, atol=1e-12)
