"""Input that is strange but allowed, and what is not: groups, classes and targets, by solver, engine and estimators."""

from __future__ import annotations

import numpy as np
import pytest
from blocks import GROUPS, A, Y

import ascd

#: Groups of 40 columns that are none, and the words that say why.
WRONG = [
    ([list(range(39))], "groups must cover all columns: 1 are in none, the first is column 39"),
    ([list(range(40)), []], "group 1 is empty"),
    ([list(range(40)), [7]], "column 7 is in group 0 and in group 1"),
    ([10, 10], "got 2 entries that add up to 20"),
    ([40, 0], "group 1 is empty"),
    (7, "groups=7 must be positive and divide the number of columns, 40"),
    (["a"] * 39, "one label for each of the 40 columns"),
    ([1] * 40, "labels and as 40 sizes"),
]


@pytest.mark.parametrize(("groups", "words"), WRONG)
@pytest.mark.parametrize("name", ["GroupLasso", "SparseGroupLasso", "GroupLassoCV", "SparseGroupLassoCV"])
def test_groups_that_are_none_are_named_by_estimators(name, groups, words):
    with pytest.raises(ValueError, match=words):
        getattr(ascd, name)(groups=groups).fit(A, Y[:, 0])


class TestClasses:
    """Of the multinomial loss."""

    @pytest.mark.parametrize("labels", [[0, 7, 3], [5, 5, 5], [0, 1, 2]])
    def test_more_classes_than_samples(self, labels):
        """Classes without a sample are allowed in problems; their coefficients are whatever the others leave them."""
        problem = ascd.BlockProblem(A[:3], np.array(labels), "softmax", ascd.L21(0.05))
        solution = ascd.solve_blocks(problem, tol=1e-8)
        assert solution.converged
        assert solution.x.shape == (40, max(labels) + 1)
        assert solution.objective <= problem.objective(np.zeros(solution.x.shape))

    @pytest.mark.usefixtures("interpreted")
    def test_more_classes_than_samples_in_the_engine(self):
        problem = ascd.BlockProblem(A[:3, :6], np.array([0, 7, 3]), "softmax", ascd.L21(0.05))
        solution = ascd.minimize(problem, "ascd", rng=0, tol=1e-5, max_iter=3000)
        assert solution.objective - ascd.solve_blocks(problem, tol=1e-12).objective <= 1e-5

    def test_every_sample_its_own_class(self):
        model = ascd.LogisticRegression(C=10.0).fit(A[:6], list("abcdef"))
        assert list(model.predict(A[:6])) == list("abcdef")
        assert model.certificate_.converged

    def test_one_class_alone(self):
        for estimator in (ascd.LogisticRegression(), ascd.LogisticRegressionCV(cv=3)):
            with pytest.raises(ValueError, match="class"):
                estimator.fit(A, np.zeros(60))
        problem = ascd.BlockProblem(A, np.zeros(60, dtype=int), "softmax", ascd.L21(1.0))
        solution = ascd.solve_blocks(problem)  # the second class has no sample
        assert solution.objective < problem.objective(np.zeros((40, 2)))

    @pytest.mark.parametrize("labels", [[0.5] * 60, [-1] + [0] * 59, ["a"] * 60])
    def test_labels_that_are_no_classes(self, labels):
        with pytest.raises(ValueError, match="classes 0, 1, 2"):
            ascd.BlockProblem(A, labels, "softmax", ascd.L21(1.0))


class TestTargets:
    """Of models with several targets."""

    def test_one_target_is_the_lasso(self):
        rows = ascd.MultiTaskLasso(0.1, tol=1e-10).fit(A, Y[:, :1])
        plain = ascd.Lasso(0.1, tol=1e-10).fit(A, Y[:, 0])
        assert rows.coef_.shape == (1, 40)
        np.testing.assert_allclose(rows.coef_[0], plain.coef_, atol=1e-6)
        flat = ascd.solve_blocks(ascd.BlockProblem(A, Y[:, 0], penalty=ascd.L21(5.0)), tol=1e-11)
        column = ascd.solve_blocks(ascd.BlockProblem(A, Y[:, :1], penalty=ascd.L21(5.0)), tol=1e-11)
        assert flat.x.shape == (40,)
        np.testing.assert_allclose(column.x[:, 0], flat.x, atol=1e-7)

    @pytest.mark.parametrize("constant", [0.0, 1.0, -1e6])
    def test_constant_targets_are_their_intercepts(self, constant):
        targets = np.c_[Y[:, 0], np.full(60, constant)]
        model = ascd.MultiTaskLasso(0.1, tol=1e-9).fit(A, targets)
        alone = ascd.Lasso(0.1, tol=1e-9).fit(A, Y[:, 0])
        np.testing.assert_allclose(model.coef_[1], 0.0, atol=1e-7 * max(1.0, abs(constant)))
        assert model.intercept_[1] == pytest.approx(constant, abs=1e-9)
        np.testing.assert_allclose(model.coef_[0], alone.coef_, atol=1e-4)

    def test_all_targets_constant(self):
        model = ascd.MultiTaskLasso(0.1).fit(A, np.tile([1.0, 2.0], (60, 1)))
        assert not model.coef_.any()
        np.testing.assert_allclose(model.intercept_, [1.0, 2.0])
        for estimator in (ascd.MultiTaskLassoCV(alphas=3, cv=3), ascd.MultiTaskElasticNetCV(alphas=3, cv=3)):
            assert not estimator.fit(A, np.tile([1.0, 2.0], (60, 1))).coef_.any()
        for estimator in (
            ascd.GroupLassoCV(groups=4, alphas=3, cv=3),
            ascd.SparseGroupLassoCV(groups=4, alphas=3, cv=3),
        ):
            assert not estimator.fit(A, np.full(60, 3.0)).coef_.any()


@pytest.mark.parametrize("weights", [None, "sqrt"])
def test_groups_of_one_column_are_the_lasso_for_estimators(weights):
    plain = ascd.Lasso(0.1, tol=1e-10).fit(A, Y[:, 0])
    for groups in (1, [[j] for j in range(40)], [f"{j:02d}" for j in range(40)]):
        model = ascd.GroupLasso(0.1, groups=groups, weights=weights, tol=1e-10).fit(A, Y[:, 0])
        np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-6)
        both = ascd.SparseGroupLasso(0.1, l1_ratio=0.3, groups=groups, weights=weights, tol=1e-10).fit(A, Y[:, 0])
        np.testing.assert_allclose(both.coef_, plain.coef_, atol=1e-6)


def test_duplicated_columns_within_a_group_share_what_one_has():
    """A singular block: by convexity both columns get the same, and the image is unique."""
    twice = np.c_[A, A[:, :1]]
    groups = [[*GROUPS[0], 40], *GROUPS[1:]]
    solution = ascd.solve_blocks(ascd.BlockProblem(twice, Y, penalty=ascd.GroupL2(6.0, groups)), tol=1e-11)
    assert solution.converged
    np.testing.assert_allclose(solution.x[0], solution.x[40], atol=1e-6)
    assert solution.x[0].any()


@pytest.mark.parametrize(("target", "loss"), [(Y[:, 0], "squared"), (Y, "squared"), (np.arange(len(Y)) % 3, "softmax")])
def test_targets_that_a_mask_hides_are_refused(target, loss):
    hidden = np.ma.masked_array(target, mask=np.arange(target.size).reshape(target.shape) == 3)
    with pytest.raises(ValueError, match="b must have no masked entries, 1 are"):
        ascd.BlockProblem(A, hidden, loss, ascd.L21(1.0))
    assert ascd.BlockProblem(A, np.ma.masked_array(target), loss, ascd.L21(1.0)).n_samples == len(Y)


@pytest.mark.parametrize(("target", "shapes"), [(Y[:, 0], r"\(40,\) or \(40, 1\)"), (Y, rf"\(40, {Y.shape[1]}\)")])
def test_a_start_of_another_shape_is_told_all_that_are_allowed(target, shapes):
    problem = ascd.BlockProblem(A, target, penalty=ascd.L21(1.0))
    with pytest.raises(ValueError, match=rf"x0 must have the shape {shapes}; got \(3,\)"):
        ascd.solve_blocks(problem, x0=np.ones(3))


def test_the_engine_does_not_fetch_data_that_stay_on_a_disk(tmp_path):
    """They may be larger than memory: ``open_data`` was told how much of it they may take."""
    np.save(tmp_path / "A.npy", A)
    data = ascd.open_data(tmp_path / "A.npy")
    for target, penalty in ((Y[:, 0], ascd.GroupL2(1.0, GROUPS)), (Y, ascd.L21(1.0))):
        problem = ascd.BlockProblem(data, target, penalty=penalty)
        before = data.bytes_read
        with pytest.raises(TypeError, match=r"must be in local memory; [A-Za-z]* keeps them: use ascd\.solve_blocks"):
            ascd.minimize(problem)
        assert data.bytes_read == before
