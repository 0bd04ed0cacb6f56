"""Parameters of estimators and path functions that cannot be: each error names the parameter, as the user knows it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from estimators import make_data
from sklearn.model_selection import LeaveOneOut

import ascd

DATA = make_data(n_samples=24, n_features=4)
X, Y, LABELS = DATA.X, DATA.y, DATA.labels
THREE = np.digitize(Y, np.quantile(Y, [0.3, 0.6]))
SEVERAL = np.c_[Y, -Y]
NAN = math.nan

WRONG = {
    "alpha, too many": (lambda: ascd.Ridge(alpha=[1, 2]).fit(X, Y), "alpha must be one number, or one for each target"),
    "alpha, nan": (lambda: ascd.Ridge(alpha=[NAN, 2]).fit(X, SEVERAL), "alpha must be finite"),
    "alpha, beyond float64": (lambda: ascd.Lasso(alpha=1e308).fit(X, Y), "alpha times the sum of sample_weight"),
    "alpha of groups": (lambda: ascd.GroupLasso(alpha=1e308).fit(X, Y), "alpha times the sum of sample_weight"),
    "C of two classes": (lambda: ascd.LogisticRegression(C=1e-310).fit(X, LABELS), "1/C of classifiers"),
    "C of three classes": (lambda: ascd.LogisticRegression(C=1e-310).fit(X, THREE), "1/C of classifiers"),
    "l1_ratio": (lambda: ascd.ElasticNetCV(l1_ratio=[NAN]).fit(X, Y), "l1_ratio must be finite"),
    "l1_ratios": (lambda: ascd.LogisticRegressionCV(l1_ratios=[NAN]).fit(X, LABELS), "l1_ratios must be finite"),
    "Cs, nan": (lambda: ascd.LogisticRegressionCV(Cs=[NAN, 1.0]).fit(X, LABELS), "Cs must be positive"),
    "Cs, tiny": (lambda: ascd.LogisticRegressionCV(Cs=[1e-310]).fit(X, LABELS), "Cs must be positive, with 1/C finite"),
    "penalty": (
        lambda: ascd.LogisticRegression(penalty="l7").fit(X, LABELS),
        "The 'penalty' parameter of LogisticRegression must be",
    ),
    "class_weight": (
        lambda: ascd.LogisticRegression(class_weight="x").fit(X, LABELS),
        "The 'class_weight' parameter of LogisticRegression must be",
    ),
    "intercept": (
        lambda: ascd.model_path(ascd.LogisticRegression(fit_intercept="no"), X, LABELS),
        "The 'fit_intercept' parameter of LogisticRegression must be",
    ),
    "positive": (lambda: ascd.lasso_path(X, Y, positive="no"), "The 'positive' parameter of Lasso must be"),
    "standardize": (
        lambda: ascd.enet_path(X, Y, standardize="no"),
        "The 'standardize' parameter of ElasticNet must be",
    ),
    "alphas of a classifier": (
        lambda: ascd.model_path(ascd.LinearSVC(), X, LABELS, alphas=[1.0]),
        "alphas must be left out for LinearSVC, whose strengths are Cs; got [1.0]",
    ),
    "Cs of a regression": (lambda: ascd.model_path(ascd.Lasso(), X, Y, Cs=[1.0]), "Cs must be left out for Lasso"),
    "no estimator of ours": (lambda: ascd.QuantileRegressor, "'QuantileRegressor'; its estimators are ElasticNet, Gr"),
    "a number of alphas": (
        lambda: ascd.model_path(ascd.HuberRegressor(), X, Y),
        "grid generation is not supported for HuberRegressor: alphas must be values, such as [1.0, 0.1]",
    ),
    "text in y": (lambda: ascd.LassoCV().fit(X, ["low"] * 24), "y must hold numbers; got the text 'low'"),
    "None in y": (lambda: ascd.LinearSVC().fit(X, [None, *"ab" * 11, "b"]), "y has missing values: 1 of 24 labels"),
    "no y": (lambda: ascd.Lasso().fit(X), "This Lasso estimator requires y to be passed"),
    "counts": (lambda: ascd.PoissonRegressor().fit(X, -abs(Y)), "which takes counts of at least 0; the smallest is -"),
    "one class": (lambda: ascd.LogisticRegression().fit(X, 0 * Y), "one class with a positive weight: 0.0"),
    "a class": (lambda: ascd.model_path(ascd.GroupLasso, X, Y), "such as GroupLasso(); got the class GroupLasso"),
    "the target of a text file": (lambda: ascd.open_data(__file__, target="price"), "cannot be read piece by piece"),
}


@pytest.mark.parametrize(("fit", "words"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_is_named(fit, words):
    with pytest.raises((ValueError, TypeError, AttributeError)) as caught:
        fit()
    assert words in str(caught.value)


@pytest.mark.filterwarnings("ignore:Only one class")
@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"scoring": lambda *_: "good"}, "scoring must give a number for the samples of a fold; got 'good'"),
        ({"scoring": lambda *_: math.nan}, "scoring must give finite numbers in every fold"),
        ({"scoring": "roc_auc", "cv": LeaveOneOut()}, "scoring must give finite numbers in every fold"),
    ],
)
def test_scores_that_nothing_can_be_chosen_by_are_named(how, words):
    with pytest.raises(ValueError, match=words):
        ascd.LogisticRegressionCV(Cs=[0.1, 1.0], **how).fit(X, LABELS)
