"""Estimators: their cases from a seed, and their answers in the units of F, from their documented formulas.

======================  ===================================================================================  ========
Lasso, ElasticNet       ½‖y − Xw − c‖² + n·alpha·(ratio·‖w‖₁ + (1 − ratio)/2·‖w‖²)                           unit 1/n
MultiTaskLasso, …       ½‖Y − XW − 1cᵀ‖² + n·alpha·(ratio·Σ_j weight_j‖w_j‖ + (1 − ratio)/2·‖W‖²)            unit 1/n
GroupLasso, …           ½‖y − Xw − c‖² + n·alpha·(ratio·‖w‖₁ + (1 − ratio)·Σ_g weight_g‖w_g‖)                unit 1/n
PoissonRegressor        ½ deviance + n·alpha·(…)                                                             unit 1/n
Ridge, NNLS             ½‖y − Xw − c‖² + alpha/2·‖w‖²                                                        unit 2
LogisticRegression      Σ_k s_k·log(1 + exp(−y(xw + c))) + (ratio·‖w‖₁ + (1 − ratio)/2·‖w‖²)/C               unit 1
Multinomial             Σ_k s_k·(log Σ_t exp(z_kt) − z_ky) + (ratio·‖W‖₁ or Σ_j‖w_j‖ + (1 − ratio)/2·‖W‖²)/C unit 1
LinearSVC               ½‖(w, c)‖² + C·Σ loss                                                                unit 1
HuberRegressor          at the fitted σ; P = σ·Σs + (2/σ)·F                                                  unit 2/σ
======================  ===================================================================================  ========
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import ascd

from .calls import Answer, call
from .cases import Array, Case
from .data import (
    chance,
    draw_classes,
    draw_groups,
    draw_matrix,
    draw_shape,
    draw_storage,
    draw_targets,
    draw_weights,
    pick,
)  # fmt: skip
from .search import candidates
from .truth import Long, Truth, make_truth

ESTIMATORS = {
    "Lasso": 14, "ElasticNet": 14, "Ridge": 12, "NNLS": 9, "LogisticRegression": 11, "PoissonRegressor": 8,
    "HuberRegressor": 5, "LinearSVC": 13, "LassoCV": 1, "ElasticNetCV": 1, "LogisticRegressionCV": 1, "lasso_path": 4,
    "enet_path": 4, "model_path": 3,
}  # fmt: skip
BLOCK_ESTIMATORS = {
    "MultiTaskLasso": 18, "MultiTaskElasticNet": 18, "GroupLasso": 18, "SparseGroupLasso": 18, "Multinomial": 20,
    "MultiTaskLassoCV": 1, "MultiTaskElasticNetCV": 1, "GroupLassoCV": 1, "SparseGroupLassoCV": 1, "MultinomialCV": 1,
}  # fmt: skip
#: Losses other than the squared one.
LOSSES = {
    "LogisticRegression": "logistic", "LogisticRegressionCV": "logistic", "model_path": "logistic",
    "PoissonRegressor": "poisson", "LinearSVC": "squared_hinge", "Multinomial": "softmax", "MultinomialCV": "softmax",
    "MultiTaskLasso": "squared several", "MultiTaskElasticNet": "squared several",
    "MultiTaskLassoCV": "squared several", "MultiTaskElasticNetCV": "squared several",
}  # fmt: skip
#: Those that take weights of coefficients.
WEIGHTED = (
    "Lasso", "ElasticNet", "Ridge", "PoissonRegressor", "LogisticRegression", "Multinomial", "MultiTaskLasso",
    "MultiTaskElasticNet",
)  # fmt: skip
#: A gap is multiplied by the unit and divided again.
ROUNDING = 1e-12


# ------------------------------------------------------------------------------------------- cases


def draw_estimator(rng: Any, few: bool, name: str) -> Case:
    """A case of one estimator: well-scaled and wild data, the parameters that change the problem."""
    is_cv, loss = name.endswith("CV"), LOSSES.get(name, "squared")
    d, n = draw_shape(rng, 8 if is_cv or name == "HuberRegressor" else 30)
    d += (6 if is_cv else 1) + 3 * (loss == "softmax")
    A, storage = draw_storage(rng, draw_matrix(rng, d, n), not few and chance(rng, 0.25))
    storage = "F" if storage == "list" else storage
    weight = draw_weights(rng, d) if not few and not is_cv and chance(rng, 0.25) else None
    if weight is not None and not weight.any():
        weight[0] = 1.0
    if loss == "softmax":
        y = draw_classes(rng, A)
        y[:3] = (0, 1, 2)
        y = np.arange(d) % 3 if is_cv else np.unique(y, return_inverse=True)[1].ravel()
        if weight is not None:
            weight[:3] = np.maximum(weight[:3], 1e-3)
            weight = np.where(np.isin(y, y[weight > 0.0]), weight, 1.0)
    else:
        y, loss = draw_targets(rng, A, loss)
    if loss in ("logistic", "squared_hinge"):  # both classes, in every fold
        y[: d // 2][rng.random(d // 2) < 0.9], y[d // 2 :] = 1.0, -1.0
        y[0] = 1.0
    return Case(name, A, y, loss, weight=weight, storage=storage, options=_options(rng, name, n))


def _options(rng: Any, name: str, n: int) -> dict[str, Any]:
    has_intercept = not name.endswith("_path") or name == "model_path"
    options: dict[str, Any] = {"fit_intercept": chance(rng, 0.6)} if has_intercept else {}
    if chance(rng, 0.4):
        options["tol"] = pick(rng, (0.0, 1e-15, 1e-10, 1e-8, 1e-3))
    strength = float(10.0 ** rng.uniform(-8.0, 4.0))
    is_cv = name.endswith("CV")
    if name in ("model_path", "LogisticRegressionCV", "MultinomialCV"):
        options["Cs"] = int(rng.integers(1, 4))
    elif is_cv or name.endswith("_path"):
        options["alphas"] = int(rng.integers(1, 6))
    elif name in ("LogisticRegression", "LinearSVC", "Multinomial"):
        options["C"] = 1.0 / strength
    elif name != "NNLS":
        options["alpha"] = strength if chance(rng, 0.8) else pick(rng, (0.0, 1.0, 1e9))
    if name in ("ElasticNet", "PoissonRegressor", "LogisticRegression", "model_path", "Multinomial",
                "MultiTaskElasticNet", "SparseGroupLasso"):  # fmt: skip
        options["l1_ratio"] = pick(rng, (0.0, 0.5, 1.0, 0.01))
    if name in ("Lasso", "ElasticNet", "Ridge", "GroupLasso", "SparseGroupLasso") and chance(rng, 0.15):
        options["positive"] = True
    if "Group" in name:
        options["groups"] = draw_groups(rng, n)
        if chance(rng, 0.3):
            options["weights"] = pick(rng, ("sqrt", draw_weights(rng, len(options["groups"]))))
    elif name in WEIGHTED and chance(rng, 0.12):
        options["penalty_weights"] = np.where(rng.random(n) < 0.3, 0.0, rng.random(n))
    most = 5 if name == "HuberRegressor" else 20  # which makes up to 60 fits, a scale each
    options["max_iter"] = pick(rng, (1, 2)) if chance(rng, 0.05) else most
    return {**options, **_special(rng, name)}


def _special(rng: Any, name: str) -> dict[str, Any]:
    """Options of one estimator alone."""
    if name == "LinearSVC":
        loss = pick(rng, ("hinge", "squared_hinge"))
        return {"loss": loss, **({"dual": chance(rng, 0.5)} if loss == "squared_hinge" and chance(rng, 0.5) else {})}
    if name == "HuberRegressor":
        return {"epsilon": pick(rng, (1.0, 1.1, 1.35, 3.0))}
    if name == "Multinomial":
        return {"grouped": chance(rng, 0.3)}
    return {"cv": 3} if name.endswith("CV") else {}


# ------------------------------------------------------------------------------------------- answers


def total_of(case: Case) -> float:
    return float(case.shape[0] if case.weight is None else case.weight.sum())


def fitted(case: Case) -> Any:
    name = case.family.replace("Multinomial", "LogisticRegression")
    weights = {} if case.weight is None else {"sample_weight": case.weight}
    return getattr(ascd, name)(**case.options).fit(case.matrix(), case.b, **weights)


def ratio_of(case: Case) -> float:
    """The share of the kinks (of single coefficients, for groups) in the penalty."""
    fixed = {
        "Lasso": 1.0, "LassoCV": 1.0, "lasso_path": 1.0, "MultiTaskLasso": 1.0, "MultiTaskLassoCV": 1.0,
        "GroupLasso": 0.0, "GroupLassoCV": 0.0, "Ridge": 0.0, "NNLS": 0.0, "HuberRegressor": 0.0,
    }.get(case.family)  # fmt: skip
    smooth = ("PoissonRegressor", "LogisticRegressionCV", "MultinomialCV")
    return case.options.get("l1_ratio", 0.0 if case.family in smooth else 0.5) if fixed is None else fixed


def regularised(case: Case, strength: float) -> Truth:
    """The problem with the estimator's penalty of this strength, within its restrictions."""
    n, options, ratio = case.shape[1], case.options, ratio_of(case)
    kinks, rest = ratio * strength, (1.0 - ratio) * strength
    given = np.broadcast_to(options.get("penalty_weights", 1.0), n)
    lower = 0.0 if options.get("positive") or case.family == "NNLS" else -np.inf
    arrays: dict[str, Any] = {"lower": np.full(n, lower)}
    if "groups" in options:
        groups, weights = options["groups"], options.get("weights")
        sizes = [len(columns) for columns in groups]
        weights = np.sqrt(sizes) if isinstance(weights, str) else np.ones(len(sizes)) if weights is None else weights
        arrays.update(blocks=tuple(map(tuple, groups)), group=(rest * weights).astype(Long), l1=np.full(n, kinks, Long))
    elif case.family.startswith("MultiTask"):  # a feature with all of its targets is a block
        arrays.update(group=(kinks * given).astype(Long), l2=np.full(n, rest, Long))
    elif case.loss == "softmax":
        weights = given * strength
        arrays["l2"] = ((1.0 - ratio) * weights).astype(Long)
        arrays["group" if options.get("grouped") else "l1"] = (ratio * weights).astype(Long)
    else:
        arrays.update(l1=Long(kinks) * given.astype(Long), l2=Long(rest) * given.astype(Long))
    intercept = options.get("fit_intercept", case.family != "NNLS" and not case.family.endswith("_path"))
    return make_truth(case.A, case.b, case.weight, case.loss, case.threshold, arrays, intercept)


def reported(truth: Truth, model: Any, unit: float, point: Array) -> Answer:
    """The certificate in the units of F."""
    proof = model.certificate_
    return Answer(
        truth, point, proof.gap / unit, proof.objective / unit, str(proof.status), proof.tolerance / unit,
        slack=ROUNDING,
    )  # fmt: skip


@call(
    "Lasso", "ElasticNet", "Ridge", "NNLS", "PoissonRegressor", "LassoCV", "ElasticNetCV", "MultiTaskLasso",
    "MultiTaskElasticNet", "MultiTaskLassoCV", "MultiTaskElasticNetCV", "GroupLasso", "SparseGroupLasso",
    "GroupLassoCV", "SparseGroupLassoCV", "LogisticRegression", "LogisticRegressionCV", "Multinomial", "MultinomialCV",
)  # fmt: skip
def penalised_case(case: Case) -> Iterator[Answer]:
    model, total = fitted(case), total_of(case)
    if case.loss in ("logistic", "softmax"):
        C = case.options["C"] if "C" in case.options else float(np.ravel(model.C_)[0])
        strength, unit = 1.0 / C, 1.0
    elif case.family in ("Ridge", "NNLS"):
        strength, unit = case.options.get("alpha", 0.0 if case.family == "NNLS" else 1.0), 2.0
    else:
        strength = (model.alpha_ if case.family.endswith("CV") else case.options.get("alpha", 1.0)) * total
        unit = 1.0 / total
    truth = regularised(case, strength)
    yield reported(truth, model, unit, truth.point(np.atleast_2d(model.coef_).T, model.intercept_))


@call("LinearSVC")
def svc_case(case: Case) -> Iterator[Answer]:
    model, C = fitted(case), case.options["C"]
    has_constant = case.options["fit_intercept"]
    A = np.hstack([case.A, np.ones((case.shape[0], 1))]) if has_constant else case.A
    weight = np.full(len(case.b), C) if case.weight is None else C * case.weight
    truth = make_truth(A, case.b, weight, case.options["loss"], 1.0, {"l2": np.ones(A.shape[1], Long)}, False)
    x = np.append(model.coef_[0], model.intercept_) if has_constant else model.coef_[0]
    yield reported(truth, model, 1.0, x)


@call("HuberRegressor")
def huber_case(case: Case) -> Iterator[Answer]:
    """P = σ·Σs + (2/σ)·F_σ over w, c and σ, in the units of F at the fitted σ."""
    model = fitted(case)
    sigma, proof = float(model.scale_), model.certificate_
    truth, unit = huber_truth(case, sigma), 2.0 / sigma
    x, total = truth.point(model.coef_, model.intercept_), Long(truth.s.sum())
    constant = float(Long(sigma) * total)
    rounding = (len(case.b) + 8) * float(np.finfo(float).eps) * constant / unit
    yield Answer(
        truth, x, proof.gap / unit, (proof.objective - constant) / unit, str(proof.status), proof.tolerance / unit,
        slack=1e-10, rounding=rounding, rivals=tuple(_at_other_scales(case, sigma, total, x)),
    )  # fmt: skip


def huber_truth(case: Case, sigma: float) -> Truth:
    """F at one scale: the Huber loss of threshold ε·σ and the penalty (σ/2)·alpha·‖w‖²·2."""
    truth = regularised(case, case.options.get("alpha", 1e-4) * sigma)
    return replace(truth, loss="huber", threshold=case.options["epsilon"] * sigma)


def _at_other_scales(case: Case, sigma: float, total: Any, x: Array) -> Iterator[Any]:
    """The lowest P found at some other scales, in the units of F at this one."""
    unit = Long(sigma) / 2
    for factor in (0.25, 0.7, 0.97, 0.999, 1.001, 1.03, 1.4, 4.0):
        other = factor * sigma
        truth = huber_truth(case, other)
        values, errors, _ = truth.values(candidates(truth, [x]))
        lowest = (values + errors).min()
        yield unit * (Long(other) * total + 2 / Long(other) * lowest - Long(sigma) * total)


@call("lasso_path", "enet_path")
def path_function_case(case: Case) -> Iterator[Answer]:
    alphas, coefs, gaps = getattr(ascd, case.family)(case.matrix(), case.b, sample_weight=case.weight, **case.options)
    total = total_of(case)
    for i, alpha in enumerate(alphas):
        yield Answer(regularised(case, float(total * alpha)), coefs[:, i], float(gaps[i] * total), slack=ROUNDING)


@call("model_path")
def model_path_case(case: Case) -> Iterator[Answer]:
    options = {**case.options}
    Cs, model = options.pop("Cs"), ascd.LogisticRegression(**options)
    found = ascd.model_path(model, case.matrix(), case.b, Cs=Cs, sample_weight=case.weight)
    for k, C in enumerate(found.strengths):
        row = np.append(found.coefs[:, k], found.intercepts[k]) if model.fit_intercept else found.coefs[:, k].copy()
        yield Answer(regularised(case, 1.0 / float(C)), row, float(found.gaps[k]), slack=ROUNDING)
