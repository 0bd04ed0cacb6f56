"""Small cases that the tests of the fuzzer share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from fuzz.cases import Case

LOSSES = ("squared", "logistic", "huber", "squared_hinge", "poisson")
PENALTIES = {
    "None": {}, "Zero": {"linear": 0.01}, "L1": {"strength": 0.3, "linear": 0.1}, "L2": {"strength": 0.5},
    "L1L2": {"l1": 0.2, "l2": 0.3, "weights": np.array([0.0, 1.0, 2.0])},
    "Box": {"lower": np.array([0.0, -np.inf, 1.0]), "upper": np.array([1.0, np.inf, 1.0]), "l2": 0.1, "linear": 0.1},
    "BoundedL1L2": {"l1": 0.1, "l2": 0.1, "lower": -0.5, "upper": 0.25},
}  # fmt: skip


def small_case(loss="squared", penalty="L1", **changes):
    rng = np.random.default_rng(3)
    b = rng.standard_normal(8)
    b = {"poisson": np.round(np.abs(b)), "squared": b, "huber": b}.get(loss, np.where(b > 0.0, 1.0, -1.0))
    case = Case("solve", rng.standard_normal((8, 3)), b, loss, penalty=penalty, parameters=PENALTIES[penalty])
    return replace(case, **changes)
