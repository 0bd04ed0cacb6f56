"""Problems with an offset, which the judge takes for one more column whose coefficient is held at 1.

Losses with an offset are parts of their own to the compiler: the runs are interpreted, and the problems small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .calls import CALLS, Answer, call, interpreted
from .cases import Array, Case
from .chance import chance, choose, pick
from .truth import Truth

#: What is called with an offset.
CALLED = {"solve": 0.6, "path": 0.2, "minimize": 0.2}
KINDS = {"normal": 0.5, "target": 0.15, "large": 0.2, "small": 0.1, "zero": 0.05}


def draw_offset(rng: Any, draws: dict[str, Callable[[], Case]]) -> Case:
    """A case; ``draws`` has a function for each of what is called."""
    name = choose(rng, CALLED)
    case = draws[name]()
    return case.changed(family="offset", twist="").with_option(offset=_offset(rng, case), call=name)


def _offset(rng: Any, case: Case) -> Array:
    kind, size = choose(rng, KINDS), float(np.abs(case.b).max()) or 1.0
    offset = rng.standard_normal(len(case.b))
    if case.loss == "poisson":  # its exponential is to be a number
        return np.zeros(offset.size) if kind == "zero" else np.clip(offset * pick(rng, (1.0, 10.0)), -30.0, 30.0)
    if kind == "zero":
        return np.zeros(offset.size)
    if kind == "target":  # all or nearly all of it
        return np.array(case.b, dtype=float) + (1e-3 * size * offset if chance(rng, 0.5) else 0.0)
    return offset * size * {"normal": 1.0, "large": 10.0 ** rng.uniform(0.0, 9.0), "small": 1e-9}[kind]


def with_offset(truth: Truth, offset: Array) -> Truth:
    """The problem with the offset as a column."""
    ends = {name: np.append(getattr(truth, name), 1.0) for name in ("lower", "upper")}
    rest = {name: np.append(getattr(truth, name), np.longdouble(0.0)) for name in ("l1", "l2", "linear")}
    return replace(truth, A=np.column_stack([truth.A, offset]), **ends, **rest)


@call("offset")
def offset_case(case: Case) -> Iterator[Answer]:
    offset = case.options.get("offset", np.zeros(len(case.b)))
    with interpreted():
        found = list(CALLS[case.options["call"]](case))
    for answer in found:
        starts = tuple((np.append(x, 1.0), constant) for x, constant in answer.starts)
        yield replace(answer, truth=with_offset(answer.truth, offset), x=np.append(answer.x, 1.0), starts=starts)
