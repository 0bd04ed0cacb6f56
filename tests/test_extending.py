"""The examples of docs/extending.md, run one after the other as a reader would."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from compilations import compilations_of

import ascd
from ascd.engine.descent import descend

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"


@pytest.fixture(scope="module")
def page(plain_python):
    """What the blocks define, run as plain Python; numba wants their classes in a module that can be found."""
    if not PAGE.exists():
        pytest.skip("the documentation is not here")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) >= 9
    module = types.ModuleType("extending_page")
    sys.modules["extending_page"] = module
    for block in sorted(blocks, key=lambda text: "import numpy as np" not in text):  # the data first, for all
        if not block.startswith("ascd.minimize(..."):
            exec(compile(block, str(PAGE), "exec"), module.__dict__)
    yield module
    del sys.modules["extending_page"]


def test_every_part_is_shown(page):
    parts = ("Pinball", "LogCosh", "BestOfThree", "Positive", "PerEntry", "Half", "Bytes", "LogCoshLasso")
    assert all(hasattr(page, name) for name in parts)


def test_the_loss_and_the_storage_are_solved_with_a_proof(page):
    problem = ascd.Problem(page.A, page.b, page.LogCosh(), ascd.L1(0.5))
    assert ascd.solve(problem, tol=1e-9, intercept=True).converged
    plain = ascd.Problem(page.genotypes.astype(float), page.b, penalty=ascd.L1(1.0))
    assert page.solution.converged
    assert page.solution.objective == pytest.approx(ascd.solve(plain, intercept=True).objective, rel=1e-5)


@pytest.mark.parametrize("part", ["oracle", "steepness", "step", "rule"])
def test_the_engines_parts_reach_the_minimum(page, part):
    theirs = {
        "oracle": {"oracle": page.Positive(), "rule": "a-ascd"},
        "steepness": {"steepness": page.PerEntry(np.full(30, 2.0)), "rule": "ascd"},
        "step": {"step": page.Half(), "rule": "cyclic"},
        "rule": {"rule": page.BestOfThree()},
    }[part]
    solution = ascd.minimize(page.problem, tol=1e-7, rng=0, **theirs)
    assert solution.status.is_answer
    assert solution.objective == pytest.approx(ascd.solve(page.problem, tol=1e-10).objective, rel=1e-6)


def test_all_parts_of_the_page_are_compiled_together(page, compiled):
    """One run has them all; each of its steps is one that plain Python takes, so that it ends at the same point."""
    problem = ascd.Problem(page.design, page.b, page.LogCosh(), page.Pinball(1.0, 2.0))
    own = {"rule": page.BestOfThree(), "oracle": page.Positive(), "step": page.Half()}
    how = {**own, "steepness": page.PerEntry(np.full(30, 2.0)), "rng": 0, "max_iter": 300, "tol": 0.0}
    with compilations_of(descend) as compilations:
        found, expected = ascd.minimize(problem, **how), ascd.minimize(problem, **how, debug=True)
    assert compilations.kept == [False]
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-9, atol=1e-12)
    assert np.count_nonzero(found.x) > 3
    assert found.gap == pytest.approx(expected.gap, rel=1e-6)


class Looking(NamedTuple):
    """A rule that takes turns, and writes down by how much every entry is outside its interval."""

    excess: Any

    def select(self, point, t, rng):
        for j in range(point.x.size):
            exact = point.problem.matrix.values[:, j] @ point.slope
            off = abs(exact - point.intervals.estimate[j]) - point.intervals.radius_at(j)
            self.excess.append(off / (1.0 + abs(exact)))
        return t % point.x.size


def test_the_oracles_intervals_hold(page):
    excess: list[float] = []
    ascd.minimize(page.problem, rule=Looking(excess), oracle=page.Positive(), max_iter=90, tol=0.0, debug=True)
    assert len(excess) == 90 * 30
    assert max(excess) <= 1e-9
