"""Several references (``benchmarks/choosing/references.py``): their intervals hold, and are no wider than one's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from lockstep import assemble
from selection import regression, watch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
from choosing.references import References

pytestmark = pytest.mark.usefixtures("interpreted")


def intervals_of(point):
    """What the references alone say, as middles and radii."""
    return np.array([point.intervals.extra.tighten(j, 0.0, np.inf) for j in range(point.x.size)]).T


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize(("rule", "measured"), [("awake", True), ("block", False)])
def test_intervals_contain_the_truth(loss, count, rule, measured):
    refreshes = []
    for seed in range(2):
        case = regression(15, 20, loss, seed=seed)
        oracle = References(count, patience=0.05, measured=measured, by_saving=bool(seed))
        assembly = assemble(case.library("sparse" if seed else "dense"), rule, oracle, seed=seed)

        def look(point, pick, case=case):
            gradient, (middle, radius) = case.reference().gradient(point.x), intervals_of(point)
            assert np.all(np.abs(gradient - middle) <= radius + 1e-9 * (1.0 + np.abs(gradient)))

        watch(assembly, 120, look)
        refreshes.append(np.count_nonzero(np.linalg.norm(assembly.oracle.span.basis, axis=0)))
    assert max(refreshes) >= min(2, count)


def test_more_references_make_no_interval_wider():
    """The same points and the same references: each one more cuts what is left outside of their span."""
    rng = np.random.default_rng(3)
    case = regression(12, 20)
    oracles = {count: assemble(case.library(), "cyclic", References(count, patience=1e9)).oracle for count in (1, 2, 3)}
    assembly = assemble(case.library(), "cyclic")
    spans, radii = {count: oracle.span for count, oracle in oracles.items()}, {}
    for turn in range(4):
        assembly.point.slope[:] = rng.standard_normal(12)
        assembly.point.intervals.widen(1.0)
        for count, span in spans.items():
            if turn < 3:
                span.push(assembly.point)
                continue
            away = assembly.point.slope - span.slopes[:, 0]
            span.interval.along[:] = away @ span.basis
            span.account[0] = away @ away
            span.place_across()
            radii[count] = span.interval.place[0] * span.interval.width
    assert np.all(radii[2] <= radii[1])
    assert np.all(radii[3] <= radii[2])
    assert radii[3].sum() < 0.9 * radii[1].sum()
