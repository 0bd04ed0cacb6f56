"""The translations of docs/coming-from.md, held against what R's glmnet 4.1-6 answered (tests/glmnet/answers.R)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ascd

FOLDER = Path(__file__).parent / "glmnet"
N, P, TIGHT = 80, 12, {"standardize": True, "tol": 1e-13}


@pytest.fixture(scope="module")
def given():
    names, *_ = (FOLDER / "data.csv").read_text(encoding="utf-8").splitlines()
    table = np.loadtxt(FOLDER / "data.csv", delimiter=",", skiprows=1)
    return {"X": table[:, :P], **dict(zip(names.split(",")[P:], table[:, P:].T, strict=True))}


def answers():
    lines = [line.split() for line in (FOLDER / "answers.txt").read_text(encoding="utf-8").splitlines()]
    return {name: np.array(numbers, dtype=float) for name, *numbers in lines}


def elastic_net(strength, share, y):
    """glmnet brings y to deviation 1 first, and with it the L2 penalty."""
    l1, l2 = strength * share, strength * (1.0 - share) / y.std()
    return ascd.ElasticNet(alpha=l1 + l2, l1_ratio=l1 / (l1 + l2), **TIGHT)


def logistic(strength, share):
    return ascd.LogisticRegression(C=1.0 / (N * strength), l1_ratio=share, **TIGHT)


FACTORS = np.linspace(0.5, 2.0, P)
FITS = {
    "lasso": lambda d: ascd.Lasso(alpha=0.1, **TIGHT).fit(d["X"], d["y"]),
    "lasso_as_it_comes": lambda d: ascd.Lasso(alpha=0.1, tol=1e-13).fit(d["X"], d["y"]),
    "lasso_weighted": lambda d: ascd.Lasso(alpha=0.1, **TIGHT).fit(d["X"], d["y"], d["weight"]),
    "lasso_factors": lambda d: ascd.Lasso(alpha=0.1, penalty_weights=FACTORS * P / FACTORS.sum(), **TIGHT).fit(
        d["X"], d["y"]
    ),
    "lasso_positive": lambda d: ascd.Lasso(alpha=0.1, positive=True, **TIGHT).fit(d["X"], d["y"]),
    "elastic_net": lambda d: elastic_net(0.1, 0.5, d["y"]).fit(d["X"], d["y"]),
    "binomial": lambda d: logistic(0.05, 1.0).fit(d["X"], d["label"]),
    "binomial_offset": lambda d: logistic(0.05, 1.0).fit(d["X"], d["label"], offset=np.log(d["exposure"]) - 1.0),
    "binomial_elastic_net": lambda d: logistic(0.05, 0.5).fit(d["X"], d["label"]),
    "poisson_offset": lambda d: ascd.PoissonRegressor(alpha=0.1, l1_ratio=1.0, **TIGHT).fit(
        d["X"], d["count"], offset=np.log(d["exposure"])
    ),
}


def test_every_answer_is_compared():
    assert set(FITS) == set(answers())


@pytest.mark.parametrize("name", FITS)
def test_the_fit_is_glmnets(name, given):
    model = FITS[name](given)
    assert np.append(model.intercept_, model.coef_) == pytest.approx(answers()[name], abs=1e-6)
