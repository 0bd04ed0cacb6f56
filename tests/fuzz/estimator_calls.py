"""Estimators as answers: their objective in the units of F, from their documented formulas.

==================  ===============================================================  =======
Lasso, ElasticNet   ½‖y − Xw − c‖² + n·alpha·(ratio·‖w‖₁ + (1 − ratio)/2·‖w‖²)       unit 1/n
Ridge, NNLS         ½‖y − Xw − c‖² + alpha/2·‖w‖²                                    unit 2
LogisticRegression  Σ log(1 + exp(−y(xw + c))) + (ratio·‖w‖₁ + (1 − ratio)/2·‖w‖²)/C unit 1
PoissonRegressor    ½ deviance + n·alpha·(…)                                         unit 1/n
LinearSVC           ½‖(w, c)‖² + C·Σ loss                                            unit 1
HuberRegressor      at the fitted σ; P = σ·Σs + (2/σ)·F                              unit 2/σ
==================  ===============================================================  =======
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import ascd

from .calls import Answer, call
from .cases import Array, Case
from .search import candidates
from .truth import Truth, make_truth, penalty_arrays

#: A gap is multiplied by the unit and divided again.
ROUNDING = 1e-12


def regularised(case: Case, l1: float, l2: float, intercept: bool, loss: str | None = None, y: Any = None) -> Truth:
    """The problem with an elastic net penalty, within the estimator's restrictions."""
    n, options = case.shape[1], case.options
    weights = options.get("penalty_weights", 1.0)
    lower = 0.0 if options.get("positive") or case.family == "NNLS" else -np.inf
    arrays = penalty_arrays("BoundedL1L2", {"l1": l1, "l2": l2, "weights": weights, "lower": lower}, n)
    y = case.b if y is None else y
    return make_truth(case.A, y, case.weight, loss or case.loss, case.threshold, arrays, intercept)


def total_of(case: Case) -> float:
    return float(case.shape[0] if case.weight is None else case.weight.sum())


def fitted(case: Case, **changes: Any) -> Any:
    model = getattr(ascd, case.family)(**{**case.options, **changes})
    return model.fit(case.matrix(), case.b, **({} if case.weight is None else {"sample_weight": case.weight}))


def told(truth: Truth, model: Any, unit: float, x: Array, c: float) -> Answer:
    """The certificate in the units of F."""
    proof = model.certificate_
    return Answer(
        truth, np.array(x), float(c), proof.gap / unit, proof.objective / unit, str(proof.status),
        proof.tolerance / unit, slack=ROUNDING,
    )  # fmt: skip


@call("Lasso")
@call("ElasticNet")
@call("Ridge")
@call("NNLS")
@call("PoissonRegressor")
def regression_case(case: Case) -> Iterator[Answer]:
    model, total = fitted(case), total_of(case)
    ratio = {"Lasso": 1.0, "Ridge": 0.0, "NNLS": 0.0}.get(case.family)
    ratio = case.options.get("l1_ratio", 0.0 if case.family == "PoissonRegressor" else 0.5) if ratio is None else ratio
    alpha = 0.0 if case.family == "NNLS" else case.options.get("alpha", 1.0)
    strength = alpha if case.family in ("Ridge", "NNLS") else alpha * total
    unit = 2.0 if case.family in ("Ridge", "NNLS") else 1.0 / total
    intercept = case.options.get("fit_intercept", case.family != "NNLS")
    truth = regularised(case, ratio * strength, (1.0 - ratio) * strength, intercept)
    yield told(truth, model, unit, model.coef_, model.intercept_)


@call("LogisticRegression")
def logistic_case(case: Case) -> Iterator[Answer]:
    model = fitted(case)
    strength, ratio = 1.0 / case.options["C"], case.options["l1_ratio"]
    truth = regularised(case, ratio * strength, (1.0 - ratio) * strength, case.options["fit_intercept"], "logistic")
    yield told(truth, model, 1.0, model.coef_[0], model.intercept_[0])


@call("LinearSVC")
def svc_case(case: Case) -> Iterator[Answer]:
    model, C = fitted(case), case.options["C"]
    has_constant = case.options["fit_intercept"]
    A = np.hstack([case.A, np.ones((case.shape[0], 1))]) if has_constant else case.A
    weight = np.full(len(case.b), C) if case.weight is None else C * case.weight
    arrays = penalty_arrays("L2", {"strength": 1.0}, A.shape[1])
    truth = make_truth(A, case.b, weight, case.options["loss"], 1.0, arrays, False)
    x = np.append(model.coef_[0], model.intercept_) if has_constant else model.coef_[0]
    yield told(truth, model, 1.0, x, 0.0)


@call("HuberRegressor")
def huber_case(case: Case) -> Iterator[Answer]:
    """P = σ·Σs + (2/σ)·F_σ over w, c and σ, told in the units of F at the fitted σ."""
    model = fitted(case)
    sigma, proof = float(model.scale_), model.certificate_
    x, c = np.array(model.coef_), float(model.intercept_)
    truth, unit = huber_truth(case, sigma), 2.0 / sigma
    total = np.longdouble(truth.s.sum())
    offset = float(np.longdouble(sigma) * total)
    rounding = (len(case.b) + 8) * float(np.finfo(float).eps) * offset / unit
    yield Answer(
        truth, x, c, proof.gap / unit, (proof.objective - offset) / unit, str(proof.status), proof.tolerance / unit,
        slack=1e-10, rounding=rounding, rivals=tuple(_at_other_scales(case, sigma, total, x, c)),
    )  # fmt: skip


def huber_truth(case: Case, sigma: float) -> Truth:
    """F at one scale: the Huber loss of threshold ε·σ and the penalty (σ/2)·alpha·‖w‖²·2."""
    truth = regularised(case, 0.0, case.options.get("alpha", 1e-4) * sigma, case.options["fit_intercept"], "huber")
    return replace(truth, threshold=case.options["epsilon"] * sigma)


def _at_other_scales(case: Case, sigma: float, total: Any, x: Array, c: float) -> Iterator[Any]:
    """The lowest P found at some other scales, in the units of F at this one."""
    unit = np.longdouble(sigma) / 2
    for factor in (0.25, 0.7, 0.97, 0.999, 1.001, 1.03, 1.4, 4.0):
        other = factor * sigma
        truth = huber_truth(case, other)
        values, errors, _ = truth.values(*candidates(truth, [(x, c)]))
        lowest = (values + errors).min()
        yield unit * (np.longdouble(other) * total + 2 / np.longdouble(other) * lowest - np.longdouble(sigma) * total)


@call("LassoCV")
@call("ElasticNetCV")
def path_cv_case(case: Case) -> Iterator[Answer]:
    model, total = fitted(case), total_of(case)
    ratio = 1.0 if case.family == "LassoCV" else 0.5
    strength = model.alpha_ * total
    truth = regularised(case, ratio * strength, (1.0 - ratio) * strength, case.options["fit_intercept"])
    yield told(truth, model, 1.0 / total, model.coef_, model.intercept_)


@call("LogisticRegressionCV")
def logistic_cv_case(case: Case) -> Iterator[Answer]:
    model = fitted(case)
    truth = regularised(case, 0.0, 1.0 / float(np.ravel(model.C_)[0]), case.options["fit_intercept"], "logistic")
    yield told(truth, model, 1.0, model.coef_[0], model.intercept_[0])


@call("lasso_path")
@call("enet_path")
def path_function_case(case: Case) -> Iterator[Answer]:
    alphas, coefs, gaps = getattr(ascd, case.family)(case.matrix(), case.b, sample_weight=case.weight, **case.options)
    total, ratio = total_of(case), 1.0 if case.family == "lasso_path" else case.options.get("l1_ratio", 0.5)
    for i, alpha in enumerate(alphas):
        factor = float(total * alpha)
        truth = regularised(case, factor * ratio, factor * (1.0 - ratio), False)
        yield Answer(truth, coefs[:, i], 0.0, float(gaps[i] * total), slack=ROUNDING)


@call("logistic_path")
def logistic_path_case(case: Case) -> Iterator[Answer]:
    coefs, Cs, _ = ascd.logistic_path(case.matrix(), case.b, sample_weight=case.weight, **case.options)
    ratio, intercept = case.options["l1_ratio"], case.options["fit_intercept"]
    for C, row in zip(Cs, coefs, strict=True):
        factor = 1.0 / float(C)
        truth = regularised(case, ratio * factor, (1.0 - ratio) * factor, intercept, "logistic")
        x, c = (row[:-1], row[-1]) if intercept else (row, 0.0)
        yield Answer(truth, np.array(x), float(c), np.inf)
