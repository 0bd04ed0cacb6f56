"""Models of groups and of several targets on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
from command_line import run  # noqa: E402

from ascd.cli import ERROR, USAGE  # noqa: E402
from ascd.io.models import load as load_model  # noqa: E402


class TestBlocks:
    """Groups of features, several targets, several classes."""

    @pytest.fixture(autouse=True)
    def estimators(self):
        pytest.importorskip("ascd.estimators", reason="this build has no estimators")

    @pytest.fixture
    def twins(self, houses, tmp_path):
        """The houses with a second target."""
        frame = pandas.read_csv(houses)
        path = tmp_path / "twins.csv"
        frame.assign(rent=frame["a"] - 2.0 * frame["b"] + 1.0).to_csv(path, index=False)
        return path

    @pytest.mark.parametrize(
        "written",
        [
            "first\nsecond\nfirst\nsecond\nthird\nthird\n",
            "[[0, 2], [1, 3], [4, 5]]",
            '[["a", "c"], ["b", "d"], ["e", "f"]]',
            '{"first": ["a", "c"], "second": [1, "d"], "third": ["e", "f"]}',
        ],
    )
    def test_groups_from_a_file(self, capsys, houses, tmp_path, written):
        from ascd.estimators import GroupLasso

        groups, model = tmp_path / "groups", tmp_path / "m.npz"
        groups.write_text(written)
        arguments = ("--model", "group-lasso", "--groups", groups, "--alpha", 0.3, "--weights", "sqrt")
        code, out, _ = run(capsys, "fit", houses, "--target", "price", *arguments, "--tol", 1e-10, "--out", model)
        assert code == 0
        assert "GroupLasso" in out
        frame = pandas.read_csv(houses)
        expected = GroupLasso(0.3, groups=[[0, 2], [1, 3], [4, 5]], weights="sqrt", tol=1e-10)
        expected.fit(frame.drop(columns="price").to_numpy(), frame["price"])
        np.testing.assert_allclose(load_model(model).coef[0], expected.coef_, atol=1e-6)
        assert {tuple(np.flatnonzero(load_model(model).coef[0]))} <= {(0, 2), (0, 1, 2, 3), (0, 2, 4, 5)}

    @pytest.mark.parametrize(("written", "size"), [("2", 2), ("[3, 3]", 3), ("[2, 4]", None)])
    def test_groups_by_number_and_by_sizes(self, capsys, houses, tmp_path, written, size):
        from ascd.estimators import SparseGroupLasso

        groups, model = tmp_path / "groups.json", tmp_path / "m.npz"
        groups.write_text(written)
        given = written if written.isdigit() else groups
        arguments = ("--model", "sparse-group-lasso", "--groups", given, "--alpha", 0.3, "--l1-ratio", 0.2)
        run(capsys, "fit", houses, "--target", "price", *arguments, "--tol", 1e-10, "--out", model)
        frame = pandas.read_csv(houses)
        expected = SparseGroupLasso(0.3, l1_ratio=0.2, groups=size or [2, 4], tol=1e-10)
        expected.fit(frame.drop(columns="price").to_numpy(), frame["price"])
        np.testing.assert_allclose(load_model(model).coef[0], expected.coef_, atol=1e-6)

    def test_a_text_column_is_a_group_by_its_name(self, capsys, tmp_path):
        rng = np.random.default_rng(0)
        frame = pandas.DataFrame({"size": rng.standard_normal(60), "kind": rng.choice(["ant", "bee", "cat"], 60)})
        frame["price"] = frame["size"] + (frame["kind"] == "bee")
        frame.to_csv(tmp_path / "zoo.csv", index=False)
        (tmp_path / "g.json").write_text('{"one": ["size"], "two": ["kind"]}')
        arguments = ("--model", "group-lasso", "--groups", tmp_path / "g.json", "--alpha", 0.05)
        code, _, _ = run(capsys, "fit", tmp_path / "zoo.csv", *arguments, "--out", tmp_path / "m.npz")
        loaded = load_model(tmp_path / "m.npz")
        assert code == 0
        assert list(loaded.names) == ["size", "kind=ant", "kind=bee", "kind=cat"]
        assert np.count_nonzero(loaded.coef) == 4

    def test_groups_are_cross_validated(self, capsys, houses, tmp_path, compiled):
        for model, more in (("group-lasso", ()), ("sparse-group-lasso", ("--l1-ratio", 0.5))):
            arguments = ("--model", model, "--groups", 2, *more, "--cv", 2, "--out", tmp_path / "m.npz", "--force")
            code, out, _ = run(capsys, "fit", houses, "--target", "price", *arguments)
            assert code == 0
            assert "alpha chosen by cross-validation" in out

    @pytest.mark.parametrize(
        ("written", "message"),
        [
            ("", "groups is empty"),
            ("a\nb\n", "one label for each of the 6 columns"),
            ("[[0, 1], [1, 2, 3, 4, 5]]", "column 1 is in group 0 and in group 1"),
            ("[[0, 1], [], [2, 3, 4, 5]]", "group 1 is empty"),
            ("[[0, 1]]", "4 are in none, the first is column 2"),
            ('[["a", "x"]]', "group 0 names 'x', which is no feature here; known: a, b, c, d, e, …"),
            ('[["a", "c"], ["b", "d", "f"]]', "1 are in none, the first is column 4"),
            ('[["a", "b", "c"], ["c", "d", "e", "f"]]', "column 2 is in group 0 and in group 1"),
            ('[["a", 9], ["b"]]', "group 0 has column 9"),
            ("[[0, 9], [1, 2, 3, 4, 5]]", "group 0 has column 9"),
            ("[0.5, 2]", "must hold lists of features, sizes"),
            ("[true]", "must hold lists of features, sizes"),
            ("[]", "must hold lists of features, sizes"),
            ("[[0, 1], 2]", "must hold lists of features, sizes"),
            ("[2, 3]", "that add up to 5"),
            ("{broken", "is not JSON"),
        ],
    )
    def test_groups_that_are_none(self, capsys, houses, tmp_path, written, message):
        groups = tmp_path / "groups"
        groups.write_text(written)
        arguments = ("--model", "group-lasso", "--groups", groups, "--out", tmp_path / "m.npz")
        code, _, error = run(capsys, "fit", houses, "--target", "price", *arguments)
        assert code == ERROR
        assert message in error
        assert not (tmp_path / "m.npz").exists()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--model", "group-lasso"), "model 'group-lasso' needs --groups"),
            (("--model", "group-lasso", "--groups", "absent"), "--groups: no such file: absent"),
            (("--model", "lasso", "--groups", 2), "model 'lasso' takes no --groups"),
            (("--model", "multi-task-lasso", "--l1-ratio", 0.5), "takes no --l1-ratio"),
        ],
    )
    def test_what_does_not_fit_is_named_before_reading(self, capsys, houses, arguments, message):
        code, _, error = run(capsys, "fit", houses, *arguments, "--out", houses.with_name("m.npz"))
        assert code == USAGE
        assert message in error

    def test_several_targets(self, capsys, twins, tmp_path):
        from ascd.estimators import MultiTaskElasticNet

        model, targets = tmp_path / "m.npz", ("--target", "price", "--target", "rent")
        arguments = ("--model", "multi-task-elastic-net", "--alpha", 0.1, "--l1-ratio", 0.7, "--tol", 1e-10)
        code, out, _ = run(capsys, "fit", twins, *targets, *arguments, "--out", model)
        assert code == 0
        assert "target price" in out
        assert "target rent" in out
        frame = pandas.read_csv(twins)
        X, Y = frame[list("abcdef")].to_numpy(), frame[["price", "rent"]].to_numpy()
        expected = MultiTaskElasticNet(0.1, l1_ratio=0.7, tol=1e-10).fit(X, Y)
        np.testing.assert_allclose(load_model(model).coef, expected.coef_, atol=1e-6)
        code, out, error = run(capsys, "predict", model, twins)
        assert (code, out.splitlines()[0], len(out.splitlines())) == (0, "price,rent", 41)
        assert float(error.split()[1]) == pytest.approx(expected.score(X, Y), abs=1e-4)
        found = np.array([line.split(",") for line in out.splitlines()[1:]], dtype=float)
        np.testing.assert_allclose(found, expected.predict(X), atol=1e-6)

    def test_several_targets_without_some_of_them(self, capsys, twins, tmp_path):
        """Rows in which one of the targets is missing are left out where that is asked for, and never filled."""
        frame = pandas.read_csv(twins)
        frame.loc[[1, 4], "rent"] = np.nan
        frame.to_csv(twins, index=False)
        arguments = ("--target", "rent", "--target", "price", "--model", "multi-task-lasso", "--alpha", 0.1)
        code, _, error = run(capsys, "fit", twins, *arguments, "--out", tmp_path / "m.npz")
        assert code == ERROR
        assert "2 samples without a target" in error
        code, out, _ = run(capsys, "fit", twins, *arguments, "--impute", "mean", "--out", tmp_path / "m.npz")
        assert code == 0
        assert "38 samples" in out
        frame[list("abcdef")].to_csv(tmp_path / "alone.csv", index=False)
        code, out, error = run(capsys, "predict", tmp_path / "m.npz", tmp_path / "alone.csv")
        assert (code, error, out.splitlines()[0]) == (0, "", "rent,price")

    def test_several_targets_are_cross_validated_and_explained(self, capsys, twins, tmp_path):
        targets, model = ("--target", "price", "--target", "rent"), ("--model", "multi-task-lasso", "--cv", 2)
        arguments = (*targets, *model, "--explain", "--resamples", 5, "--out", tmp_path / "m.npz")
        code, out, _ = run(capsys, "fit", twins, *arguments)
        assert code == 0
        assert "target rent" in out
        assert "rent" in (tmp_path / "m-explained.html").read_text()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--target", "price", "--target", "rent"), "model 'lasso' has one target; there are 2"),
            (("--target", "price", "--target", "absent", "--model", "multi-task-lasso"), "unknown target 'absent'"),
            (("--target", "x", "--target", "absent", "--model", "multi-task-lasso"), "unknown target 'x'"),
            (("--target", "price", "--target", "price", "--model", "multi-task-lasso"), "'price' is named twice"),
        ],
    )
    def test_targets_that_are_none(self, capsys, twins, tmp_path, arguments, message):
        code, _, error = run(capsys, "fit", twins, *arguments, "--out", tmp_path / "m.npz")
        assert code == USAGE
        assert message in error

    def test_words_are_no_targets_among_several(self, capsys, twins, tmp_path):
        pandas.read_csv(twins).assign(kind="ant").to_csv(twins, index=False)
        arguments = ("--target", "price", "--target", "kind", "--model", "multi-task-lasso")
        code, _, error = run(capsys, "fit", twins, *arguments, "--out", tmp_path / "m.npz")
        assert code == ERROR
        assert "target 'kind' must be numbers where there are several; its first is 'ant'" in error

    def test_one_target_of_a_model_for_several(self, capsys, houses, tmp_path):
        arguments = ("--target", "price", "--alpha", 0.1, "--tol", 1e-10, "--force", "--out", tmp_path / "m.npz")
        run(capsys, "fit", houses, "--model", "multi-task-lasso", *arguments)
        rows = load_model(tmp_path / "m.npz").coef
        run(capsys, "fit", houses, "--model", "lasso", *arguments)
        np.testing.assert_allclose(rows, load_model(tmp_path / "m.npz").coef, atol=1e-6)
        code, out, _ = run(capsys, "predict", tmp_path / "m.npz", houses)
        assert (code, out.splitlines()[0]) == (0, "prediction")

    def test_several_targets_from_an_npz(self, capsys, tmp_path):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((30, 4))
        np.savez(tmp_path / "d.npz", X=X, y=X[:, :3])
        arguments = ("--model", "multi-task-lasso", "--alpha", 0.01, "--out", tmp_path / "m.npz")
        code, out, _ = run(capsys, "fit", tmp_path / "d.npz", *arguments)
        assert code == 0
        assert "target 2" in out
        _, out, error = run(capsys, "predict", tmp_path / "m.npz", tmp_path / "d.npz")
        assert out.splitlines()[0] == "0,1,2"
        assert float(error.split()[1]) > 0.9

    def test_several_classes_are_named(self, capsys, tmp_path):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((60, 3))
        kind = np.array(["ant", "bee", "cat"])[X.argmax(axis=1)]
        path = tmp_path / "zoo.csv"
        pandas.DataFrame(X, columns=list("xyz")).assign(kind=kind).to_csv(path, index=False)
        arguments = ("--model", "logistic", "--target", "kind", "--out", tmp_path / "m.npz")
        _, out, _ = run(capsys, "fit", path, *arguments)
        assert all(f"class {name}" in out for name in ("ant", "bee", "cat"))
        _, out, _ = run(capsys, "fit", path, *arguments, "--json", "--force")
        assert json.loads(out)["classes"] == ["ant", "bee", "cat"]

    def test_many_targets_are_not_all_shown(self, capsys, tmp_path):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((30, 2))
        np.savez(tmp_path / "d.npz", X=X, y=X @ rng.standard_normal((2, 25)))
        _, out, _ = run(capsys, "fit", tmp_path / "d.npz", "--model", "multi-task-lasso", "--out", tmp_path / "m.npz")
        assert "target 19" in out
        assert "target 20" not in out
        assert "… and 5 more targets" in out
