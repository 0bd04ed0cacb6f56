"""Cases whose data are in other places (``placed``): problems of single coordinates, of blocks, and estimators.

Kernels are compiled for every kind of number and layout: those read in place meet two losses and one penalty only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .block_draw import draw_blocks
from .block_estimators import draw_block_estimator
from .cases import Case
from .chance import chance, choose, pick
from .estimator_draw import draw_estimator
from .placed import PLACES, fitting

#: Families of cases in other places.
STORED = {"stored": 0.55, "stored_blocks": 0.2, "stored_estimator": 0.25}
ESTIMATORS = (
    "Lasso", "ElasticNet", "Ridge", "LogisticRegression", "LinearSVC", "PoissonRegressor", "MultiTaskLasso",
    "GroupLasso", "Multinomial",
)  # fmt: skip


def draw_placed(rng: Any, few: bool, family: str, plain: Any) -> Case:
    """A case of this family; ``plain(rng, combination)`` draws one of single coordinates."""
    family = choose(rng, STORED) if family == "placed" else family
    kind = pick(rng, ("parted", "table")) if few else choose(rng, PLACES)
    if family == "stored_blocks":
        return moved(rng, draw_blocks(rng, True, "solve_blocks"), kind)
    if family == "stored_estimator":
        name = pick(rng, ESTIMATORS[:1] if few else ESTIMATORS)
        is_block = name.startswith("Multi") or name == "GroupLasso"
        case = draw_block_estimator(rng, True, name) if is_block else draw_estimator(rng, True, name)
        return moved(rng, case, kind)
    held = (pick(rng, ("squared", "logistic")), 1, False, False)
    is_of_any_kind = kind in ("parted", "table") and not few
    return moved(rng, plain(rng, None if is_of_any_kind else held), kind)


def moved(rng: Any, case: Case, kind: str) -> Case:
    """The case with its data in such a place; targets, penalties and starts stay."""
    A, storage = fitting(rng, np.array(case.A), kind)
    twist = "again" if case.twist == "scaled" or (case.twist and chance(rng, 0.3)) else case.twist
    return replace(case, A=A, storage=storage, twist=twist)
