"""The families that came last: offsets, paths over files, weights of all sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .cases import Case
from .chance import chance, pick
from .offsets import draw_offset
from .penalty_draw import SHAPES
from .placed_draw import moved
from .single_draw import LOSSES, combinations, draw_plain, draw_problem, with_path_options, with_solve_options

#: As shares of all seeds; "" for those that came before.
LAST = {"": 0.95, "offset": 0.025, "stored_path": 0.005, "weighed": 0.02}
#: Parameters of penalties that follow the weights.
STRENGTHS = ("strength", "l1", "l2", "linear")


def draw_last(rng: Any, family: str, minimize: Callable[[], Case]) -> Case:
    """A case of such a family; ``minimize`` draws one of ``minimize``."""
    if family == "offset":
        return _offset(rng, minimize)
    return _stored_path(rng) if family == "stored_path" else _weighed(rng)


def _offset(rng: Any, minimize: Callable[[], Case]) -> Case:
    """A small problem with an offset."""
    loss, shape, is_sparse, weighted = pick(rng, combinations())

    def problem(family: str) -> Case:
        return draw_problem(rng, family, loss, SHAPES[shape], is_sparse, weighted, 8)

    return draw_offset(
        rng,
        {
            "solve": lambda: with_solve_options(rng, problem("solve")),
            "path": lambda: with_path_options(rng, problem("path")),
            "minimize": minimize,
        },
    )


def _stored_path(rng: Any) -> Case:
    """A path over a file, which the memory allowed holds a part of."""
    size = (int(rng.integers(20, 60)), int(rng.integers(60, 200))) if chance(rng, 0.8) else None
    case = with_path_options(
        rng, draw_problem(rng, "stored_path", pick(rng, LOSSES[:2]), SHAPES[1], False, False, size=size)
    )
    if "n_alphas" in case.options:  # enough for guesses
        case = case.with_option(n_alphas=int(rng.integers(4, 16)), early_stop=False, max_iter=25)
    case = moved(rng, case, "npy")
    return case.changed(storage=f"{case.storage}:{int(10.0 ** rng.uniform(3.5, 6.0))}")


def _weighed(rng: Any) -> Case:
    """Weights, and with them the penalty, in other units."""
    chosen = pick(rng, [each for each in combinations() if each[3]])
    case = draw_plain(rng, chosen, False, pick(rng, ("solve", "path")))
    factor = float(10.0 ** rng.uniform(-250.0, 250.0))
    with np.errstate(all="ignore"):
        strengths = {name: case.parameters[name] * factor for name in STRENGTHS if name in case.parameters}
        weight = case.weight * factor
    if not all(np.isfinite(values).all() for values in (weight, *strengths.values())):
        return case
    return case.changed(weight=weight, parameters={**case.parameters, **strengths})
