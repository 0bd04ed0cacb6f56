"""Bad input through the estimators: an error that says what is wrong, in scikit-learn's words where it has some."""

from __future__ import annotations

import numpy as np
import pytest
from estimators import EVERY, make_data, takes_labels, target_of
from scipy import sparse

from ascd import Problem, Table
from ascd import estimators as ours

DATA = make_data(40, 6)
X, Y, LABELS, COUNTS = DATA.X, DATA.y, DATA.labels, DATA.counts


def with_entry(array, value):
    changed = np.array(array, dtype=float)
    changed.flat[1] = value
    return changed


DATA_ERRORS = {
    "nan in X": ({"X": with_entry(X, np.nan)}, ["Input X contains NaN"]),
    "inf in X": ({"X": with_entry(X, -np.inf)}, ["Input X contains infinity"]),
    "nan in sparse X": ({"X": sparse.csr_array(with_entry(X, np.nan))}, ["Input X contains NaN"]),
    "masked X": ({"X": np.ma.masked_less(X, X[1, 1])}, ["X must have no masked entries", "are: fill them"]),
    "1-D X": ({"X": X[:, 0]}, ["Expected 2D array, got 1D array"]),
    "3-D X": ({"X": X[None]}, ["dim 3"]),
    "no samples": ({"X": X[:0], "y": []}, ["0 sample"]),
    "no features": ({"X": X[:, :0]}, ["0 feature"]),
    "complex X": ({"X": X + 1j}, ["Complex data not supported"]),
    "words in X": ({"X": X.astype(str).astype(object) + "x"}, ["could not convert string to float"]),
    "overflow": ({"X": 1e200 * X}, ["X has columns whose norm is above 1e+60"]),
    "short y": ({"y": [0, 1, 1]}, ["inconsistent numbers of samples"]),
    "no y": ({"y": None}, ["y"]),
    "negative weight": ({"sample_weight": np.linspace(-1, 1, len(Y))}, ["sample_weight", "at least 0"]),
    "nan weight": ({"sample_weight": with_entry(DATA.weight, np.nan)}, ["sample_weight must be finite"]),
    "short weight": ({"sample_weight": [1.0, 2.0]}, ["sample_weight must have length"]),
    "zero weights": ({"sample_weight": np.zeros(len(Y))}, ["sample_weight must contain at least one non-zero"]),
}


@pytest.mark.parametrize("name", ["Lasso", "HuberRegressor", "LinearSVC", "LogisticRegressionCV"])
@pytest.mark.parametrize(("change", "words"), DATA_ERRORS.values(), ids=DATA_ERRORS)
def test_bad_data_are_refused_in_scikit_learns_words(name, change, words):
    arguments = {"X": X, "y": target_of(name, DATA), **change}
    with np.errstate(over="ignore"), pytest.raises(ValueError) as caught:  # noqa: PT011
        EVERY[name]().fit(**arguments)
    assert all(word in str(caught.value) for word in words), str(caught.value)


PARAMETER_ERRORS = [
    (ours.Lasso, {"alpha": -1.0}, ["'alpha' parameter of Lasso", "-1.0"]),
    (ours.Lasso, {"alpha": "strong"}, ["'alpha' parameter of Lasso", "'strong'"]),
    (ours.Lasso, {"alpha": np.nan}, ["alpha", "nan"]),
    (ours.Lasso, {"tol": -1e-3}, ["'tol' parameter of Lasso"]),
    (ours.Lasso, {"max_iter": 0}, ["'max_iter' parameter of Lasso"]),
    (ours.Lasso, {"solver": "asdc"}, ["unknown rule 'asdc'", "solver must be 'auto'", "Did you mean 'ascd'"]),
    (ours.Lasso, {"solver": {"rules": "ascd"}}, ["'rules'", "Did you mean 'rule'"]),
    (ours.Lasso, {"solver": {"rule": "ascd", "oracle": "nrm"}}, ["'nrm'", "Did you mean 'norm'"]),
    (ours.Lasso, {"penalty_weights": [1.0, 2.0]}, ["penalty_weights must have length 6", "2"]),
    (ours.Lasso, {"penalty_weights": [-1.0] + [1.0] * 5}, ["penalty_weights must be at least 0", "-1"]),
    (ours.Lasso, {"bounds": (1.0, 2.0)}, ["bounds must allow the coefficient 0", "(1.0, 2.0)"]),
    (ours.Lasso, {"bounds": (-1.0,)}, ["bounds must be a pair", "(-1.0,)"]),
    (ours.Lasso, {"bounds": (-1.0, [1.0, 2.0])}, ["bounds[1] must have length 6"]),
    (ours.ElasticNet, {"l1_ratio": 1.5}, ["'l1_ratio' parameter of ElasticNet", "1.5"]),
    (ours.Ridge, {"alpha": [1.0, 2.0]}, ["2 != 1"]),
    (ours.Ridge, {"alpha": [-1.0]}, ["alpha must be at least 0", "-1"]),
    (ours.HuberRegressor, {"epsilon": 0.5}, ["'epsilon' parameter of HuberRegressor"]),
    (ours.LogisticRegression, {"C": 0.0}, ["'C' parameter of LogisticRegression"]),
    (ours.LogisticRegression, {"penalty": "elasticnet", "l1_ratio": None}, ["l1_ratio must be specified"]),
    (ours.LinearSVC, {"penalty": "l1", "loss": "hinge"}, ["penalty='l1' and loss='hinge' is not supported"]),
    (ours.LinearSVC, {"multi_class": "crammer_singer"}, ["'multi_class' parameter of LinearSVC"]),
    (ours.LinearSVC, {"loss": "hinje"}, ["'loss' parameter of LinearSVC", "'hinge'", "'squared_hinge'", "'hinje'"]),
    (ours.LinearSVC, {"penalty_weights": [-1.0] * 6}, ["penalty_weights must be at least 0", "-1"]),
    (ours.PoissonRegressor, {"l1_ratio": -0.1}, ["'l1_ratio' parameter of PoissonRegressor", "-0.1"]),
    (ours.PoissonRegressor, {"solver": "cyclic"}, ["solver must be 'auto'", "'cyclic'", "Poisson"]),
    (ours.LassoCV, {"eps": 0.0}, ["'eps' parameter of LassoCV"]),
    (ours.LassoCV, {"alphas": 0}, ["'alphas' parameter of LassoCV"]),
    (ours.LassoCV, {"alphas": [1.0, -1.0]}, ["alphas must be finite and at least 0", "-1.0"]),
    (ours.LassoCV, {"cv": 1}, ["'cv' parameter of LassoCV"]),
    (ours.LassoCV, {"cv": [1, 2]}, ["cv must be a number of folds", "pairs of places", "40 samples", "[1, 2]"]),
    (ours.LassoCV, {"cv": [([0, 1], [99])]}, ["pairs of places", "among 40 samples", "[99]"]),
    (ours.LassoCV, {"solver": "a-acsd"}, ["unknown rule 'a-acsd'", "Did you mean 'a-ascd'"]),
    (ours.ElasticNetCV, {"l1_ratio": [0.5, 2.0]}, ["l1_ratio must be in [0, 1]", "2.0"]),
    (ours.ElasticNetCV, {"l1_ratio": 0.0}, ["Automatic alpha grid generation is not supported for l1_ratio=0"]),
    (ours.LogisticRegressionCV, {"l1_ratios": [2.0]}, ["l1_ratios must be in [0, 1]", "2.0"]),
    (ours.ElasticNetCV, {"l1_ratio": []}, ["l1_ratio must be in [0, 1]", "[]"]),
    (ours.LogisticRegressionCV, {"Cs": [1.0, -1.0]}, ["Cs must be positive", "-1.0"]),
    (ours.LogisticRegressionCV, {"scoring": "acuracy"}, ["'scoring' parameter of LogisticRegressionCV"]),
    (ours.Lasso, {"n_jobs": 0}, ["n_jobs must be None, a positive integer", "got 0"]),
]


@pytest.mark.parametrize(("make", "params", "words"), PARAMETER_ERRORS)
def test_bad_parameters_are_refused(make, params, words):
    y = LABELS if takes_labels(make.__name__) else COUNTS
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        make(**params).fit(X, y)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize("name", [name for name in EVERY if takes_labels(name)])
def test_one_class_is_refused(name):
    with pytest.raises(ValueError, match=r"needs samples of at least 2 classes .* only one class"):
        EVERY[name]().fit(X, np.ones(len(Y)))
    with pytest.raises(ValueError, match=r"needs samples of at least 2 classes .* only one class"):
        EVERY[name]().fit(X, LABELS, sample_weight=LABELS.astype(float))
    three = np.arange(len(Y)) % 3
    with pytest.raises(ValueError, match=r"zero for all samples of the classes \[2\]"):
        EVERY[name]().fit(X, three, sample_weight=(three < 2).astype(float))


@pytest.mark.parametrize("name", [name for name in EVERY if takes_labels(name)])
@pytest.mark.parametrize("factor", [-2.0, np.nan, np.inf, None, "2", [1.0, 2.0]], ids=str)
def test_factors_of_classes_that_are_no_weights_are_refused_by_name(name, factor):
    with pytest.raises(
        ValueError, match="class_weight must hold finite numbers, 0 or more; the one of class 1 is"
    ) as caught:
        EVERY[name](class_weight={1: factor}).fit(X, LABELS)
    assert repr(factor) in str(caught.value)


def test_what_a_mask_hides_is_not_fitted():
    hidden = np.ma.masked_array(Y, mask=np.arange(Y.size) == 3)
    with pytest.raises(ValueError, match="y must have no masked entries, 1 are"):
        ours.Lasso().fit(X, hidden)
    with pytest.raises(ValueError, match="sample_weight must have no masked entries, 1 are"):
        ours.Lasso().fit(X, Y, sample_weight=np.abs(hidden))
    with pytest.raises(ValueError, match="b must have no masked entries, 1 are"):
        Problem(X, hidden)
    with pytest.raises(ValueError, match="A must have no masked entries"):
        Problem(np.ma.masked_less(X, 0.0), Y)
    assert (ours.Lasso().fit(np.ma.masked_array(X), Y).coef_ == ours.Lasso().fit(X, Y).coef_).all()


@pytest.mark.parametrize("name", EVERY)
def test_a_sparse_target_is_refused_by_its_name(name):
    with pytest.raises(TypeError, match="y must be a dense array; got a sparse csr_array"):
        EVERY[name]().fit(DATA.X, sparse.csr_array(target_of(name, DATA)[:, None]))


@pytest.mark.parametrize("kind", ["array", "sparse", "table"])
@pytest.mark.parametrize("name", ["Lasso", "LogisticRegression"])
def test_a_column_that_equals_the_target_is_told(name, kind):
    pandas = pytest.importorskip("pandas")
    y = target_of(name, DATA)
    leak = np.c_[X, y]
    data = {"array": leak, "sparse": sparse.csr_array(leak)}.get(kind)
    data = Table(pandas.DataFrame(leak, columns=list("abcdefg"))) if data is None else data
    words = "column 'g' of X equals y" if kind == "table" else "column 6 of X equals y"
    with pytest.warns(UserWarning, match=words) as caught:
        EVERY[name]().fit(data, y)
    assert caught[0].filename == __file__
