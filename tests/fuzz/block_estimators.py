"""Estimators of blocks: their cases from a seed, and their answers in the units of F, from their documented formulas.

===================  ==================================================================================  ========
MultiTaskLasso, …    ½‖Y − XW − 1cᵀ‖² + n·alpha·(ratio·Σ_j weight_j‖w_j‖ + (1 − ratio)/2·‖W‖²)            unit 1/n
GroupLasso, …        ½‖y − Xw − c‖² + n·alpha·(ratio·‖w‖₁ + (1 − ratio)·Σ_g weight_g‖w_g‖)                unit 1/n
Multinomial          Σ_k s_k·(log Σ_t exp(z_kt) − z_ky) + (ratio·‖W‖₁ or Σ_j‖w_j‖ + (1 − ratio)/2·‖W‖²)/C unit 1
===================  ==================================================================================  ========
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import ascd

from .block_calls import flat, truth_with
from .block_draw import draw_classes, draw_groups, draw_targets
from .block_truth import BlockTruth
from .calls import Answer, call
from .cases import Array, Case
from .chance import chance, choose, pick
from .data import draw_matrix, draw_shape, draw_storage, draw_weights
from .estimator_calls import ROUNDING, fitted, total_of
from .truth import Long

BLOCK_ESTIMATORS = {
    "MultiTaskLasso": 18, "MultiTaskElasticNet": 18, "GroupLasso": 18, "SparseGroupLasso": 18, "Multinomial": 20,
    "MultiTaskLassoCV": 1, "MultiTaskElasticNetCV": 1, "GroupLassoCV": 1, "SparseGroupLassoCV": 1, "MultinomialCV": 1,
}  # fmt: skip


def draw_block_estimator(rng: Any, few: bool, name: str | None) -> Case:
    """A case of one estimator."""
    drawn = choose(rng, BLOCK_ESTIMATORS)
    name = drawn if name is None else name
    is_cv = name.endswith("CV")
    d, n = draw_shape(rng, 8 if is_cv else 30)
    d = d + 6 if is_cv else d + 1
    if name.startswith("Multinomial"):
        d += 3
    A, storage = draw_storage(rng, draw_matrix(rng, d, n), not few and chance(rng, 0.25))
    storage = "F" if storage == "list" else storage
    weight = draw_weights(rng, d) if not few and not is_cv and chance(rng, 0.25) else None
    if weight is not None and not weight.any():
        weight[0] = 1.0
    if name.startswith("Multinomial"):
        y = draw_classes(rng, A)
        y[:3], loss = (0, 1, 2), "softmax"
        y = np.unique(y, return_inverse=True)[1].ravel()
        if is_cv:
            y = np.arange(d) % 3
        if weight is not None:
            weight[:3] = np.maximum(weight[:3], 1e-3)
            weight = np.where(np.isin(y, y[weight > 0.0]), weight, 1.0)
    else:
        y, loss = draw_targets(rng, A, "squared several" if name.startswith("Multi") else "squared")
    return Case(name, A, y, loss, weight=weight, storage=storage, options=_options(rng, name, n))


def _options(rng: Any, name: str, n: int) -> dict[str, Any]:
    options: dict[str, Any] = {"fit_intercept": chance(rng, 0.6)}
    if chance(rng, 0.4):
        options["tol"] = pick(rng, (0.0, 1e-15, 1e-10, 1e-8, 1e-3))
    strength = float(10.0 ** rng.uniform(-8.0, 4.0))
    options["max_iter"] = pick(rng, (1, 2)) if chance(rng, 0.05) else 20
    if name.endswith("CV"):
        options.update({"Cs" if name == "MultinomialCV" else "alphas": int(rng.integers(1, 5)), "cv": 3})
    elif name == "Multinomial":
        options.update(C=1.0 / strength, l1_ratio=pick(rng, (0.0, 0.5, 1.0)), grouped=chance(rng, 0.3))
    else:
        options["alpha"] = strength if chance(rng, 0.8) else pick(rng, (0.0, 1.0, 1e9))
    if name in ("MultiTaskElasticNet", "SparseGroupLasso"):
        options["l1_ratio"] = pick(rng, (0.0, 0.5, 1.0, 0.01))
    if "Group" in name:
        options["groups"] = draw_groups(rng, n)
        if chance(rng, 0.3):
            options["weights"] = pick(rng, ("sqrt", draw_weights(rng, len(options["groups"]))))
        if chance(rng, 0.15):
            options["positive"] = True
    elif chance(rng, 0.15):
        options["penalty_weights"] = np.where(rng.random(n) < 0.3, 0.0, rng.random(n))
    return options


def _row_truth(case: Case, kinks: float, ridge: float) -> BlockTruth:
    """A feature with all of its targets is a block."""
    n = case.shape[1]
    weights = np.broadcast_to(case.options.get("penalty_weights", 1.0), n)
    arrays = {"group": (kinks * weights).astype(Long), "l1": np.zeros(n, Long), "ridge": np.full(n, ridge, Long)}
    return truth_with(case, tuple((j,) for j in range(n)), arrays, case.options["fit_intercept"])


def _group_truth(case: Case, l1: float, group: float) -> BlockTruth:
    groups, given = case.options["groups"], case.options.get("weights")
    sizes = np.array([len(columns) for columns in groups])
    weights = np.sqrt(sizes) if isinstance(given, str) else np.ones(sizes.size) if given is None else given
    count = sizes.size
    arrays = {"group": (group * weights).astype(Long), "l1": np.full(count, l1, Long), "ridge": np.zeros(count, Long)}
    return truth_with(case, tuple(tuple(columns) for columns in groups), arrays, case.options["fit_intercept"])


def _class_truth(case: Case, strength: float, ratio: float) -> BlockTruth:
    n = case.shape[1]
    weights = np.broadcast_to(case.options.get("penalty_weights", 1.0), n) * strength
    kinks, zero = (ratio * weights).astype(Long), np.zeros(n, Long)
    group, l1 = (kinks, zero) if case.options.get("grouped") else (zero, kinks)
    arrays = {"group": group, "l1": l1, "ridge": ((1.0 - ratio) * weights).astype(Long)}
    return truth_with(case, tuple((j,) for j in range(n)), arrays, case.options["fit_intercept"])


def _told(truth: BlockTruth, model: Any, unit: float, x: Array, constants: Any) -> Answer:
    proof = model.certificate_
    return Answer(
        truth, flat(x, constants, truth), 0.0, proof.gap / unit, proof.objective / unit, str(proof.status),
        proof.tolerance / unit, slack=ROUNDING,
    )  # fmt: skip


@call("MultiTaskLasso")
@call("MultiTaskElasticNet")
@call("MultiTaskLassoCV")
@call("MultiTaskElasticNetCV")
def multi_task_case(case: Case) -> Iterator[Answer]:
    model, total = fitted(case), total_of(case)
    ratio = 1.0 if "Lasso" in case.family else case.options.get("l1_ratio", 0.5)
    if case.family.endswith("CV"):  # the grid's penalty is one of strength 1, times the factor
        factor = model.alpha_ * total
        truth = _row_truth(case, factor * ratio, factor * (1.0 - ratio))
    else:
        strength = case.options["alpha"] * total
        truth = _row_truth(case, ratio * strength, (1.0 - ratio) * strength)
    yield _told(truth, model, 1.0 / total, np.asarray(model.coef_).T, model.intercept_)


@call("GroupLasso")
@call("SparseGroupLasso")
@call("GroupLassoCV")
@call("SparseGroupLassoCV")
def group_case(case: Case) -> Iterator[Answer]:
    model, total = fitted(case), total_of(case)
    ratio = 0.0 if case.family.startswith("GroupLasso") else case.options.get("l1_ratio", 0.5)
    strength = (model.alpha_ if case.family.endswith("CV") else case.options["alpha"]) * total
    truth = _group_truth(case, ratio * strength, (1.0 - ratio) * strength)
    yield _told(truth, model, 1.0 / total, model.coef_, model.intercept_)


@call("Multinomial")
@call("MultinomialCV")
def multinomial_case(case: Case) -> Iterator[Answer]:
    name = "LogisticRegressionCV" if case.family.endswith("CV") else "LogisticRegression"
    model = getattr(ascd, name)(**case.options)
    weights = {} if case.weight is None else {"sample_weight": case.weight}
    model.fit(case.matrix(), case.b, **weights)
    C = case.options.get("C") or float(np.ravel(model.C_)[0])
    truth = _class_truth(case, 1.0 / C, case.options.get("l1_ratio", 0.0))
    yield _told(truth, model, 1.0, np.asarray(model.coef_).T, model.intercept_)
