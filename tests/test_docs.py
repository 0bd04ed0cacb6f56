"""What the documentation promises about itself: short examples, and links that lead somewhere."""

from __future__ import annotations

import inspect
import re
import runpy
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from compilations import compilations_of, only_loops_compiled

import ascd
from ascd._core.jit import Kernel
from ascd.engine.descent import descend

ROOT = Path(__file__).resolve().parents[1]


def test_the_readme_leads_to_files_that_are_there():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"\]\(([^)#:]+)\)", text))
    assert "docs/_static/reading.png" in targets
    assert not {target for target in targets if not (ROOT / target).exists()}


def linked(text):
    page = [text]
    runpy.run_path(str(ROOT / "docs" / "links.py"))["link_page"](None, "page", page)
    return page[0]


def test_public_names_lead_to_their_own_page_and_code_stays_as_it_is():
    code = "# `Lasso`\n```python\n`Lasso`\n```\n[`Lasso`](x.md), {doc}`Lasso`"
    assert linked(code) == code
    lines = ["as in ``ElasticNet``", "``Lasso``", "``alpha``"]
    runpy.run_path(str(ROOT / "docs" / "links.py"))["link_docstring"](None, "class", "ascd.Lasso", None, None, lines)
    assert lines == ["as in :py:obj:`~ascd.ElasticNet`", "``Lasso``", "``alpha``"]
    assert linked("# T\nUse `Lasso` or `ascd.solve`.") == (
        "# T\nUse {py:obj}`Lasso <ascd.Lasso>` or {py:obj}`ascd.solve <ascd.solve>`."
    )
    assert (
        linked("# T\n`lasso_path(X)`, `path`, `alpha`, ``Lasso``") == "# T\n`lasso_path(X)`, `path`, `alpha`, ``Lasso``"
    )


def test_every_public_name_has_an_example():
    found = {name: getattr(ascd, name) for name in ascd.__all__ if name != "estimators"}
    assert not {name for name, one in found.items() if ">>>" not in _told_of(one)}


def _told_of(one):
    """The docstring, and those of a class's own methods."""
    own = vars(one).values() if isinstance(one, type) else ()
    return "".join(inspect.getdoc(each) or "" for each in (one, *own))


def test_every_public_name_has_a_page():
    listed = (ROOT / "docs" / "api.md").read_text(encoding="utf-8").split()
    assert not {name for name in ascd.__all__ if name != "estimators"} - set(listed)


@pytest.mark.parametrize(
    "name", ["ElasticNet", "ElasticNetCV", "LogisticRegressionCV", "MultiTaskElasticNetCV", "SparseGroupLassoCV"]
)
def test_what_a_fit_leaves_is_in_the_docstring(name):
    pandas = pytest.importorskip("pandas", reason="names of features come with a DataFrame")
    X = np.random.default_rng(0).standard_normal((30, 3))
    y = X[:, :2] if name.startswith("MultiTask") else X[:, 0] > 0.0 if "Logistic" in name else 2.0 * X[:, 0]
    folds = {"cv": 2} if name.endswith("CV") else {}
    model = getattr(ascd, name)(**folds).fit(pandas.DataFrame(X).add_prefix("x"), y)
    told = inspect.getdoc(type(model)).split("Attributes\n")[1].split("Examples\n")[0]
    assert {one for one in vars(model) if re.fullmatch(r"[^_].*_", one)} <= set(re.findall(r"\w+_\b", told))


# --- The examples of docs/extending.md, run one after the other as a reader would


PAGE = Path(__file__).parents[1] / "docs" / "extending.md"


@pytest.fixture(scope="module")
def page():
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


def test_the_loss_and_the_storage_are_solved_with_a_proof(page):
    problem = ascd.Problem(page.A, page.b, page.LogCosh(), ascd.L1(0.5))
    assert ascd.solve(problem, tol=1e-9, intercept=True).converged
    plain = ascd.Problem(page.genotypes.astype(float), page.b, penalty=ascd.L1(1.0))
    assert page.solution.converged
    assert page.solution.objective == pytest.approx(ascd.solve(plain, intercept=True).objective, rel=1e-5)


def test_the_estimator_predicts_for_whatever_it_can_be_fitted_to(page, tmp_path):
    plain, stored = page.genotypes.astype(float), tmp_path / "genotypes.npy"
    np.save(stored, np.asfortranarray(plain))
    forms = plain, page.design, ascd.Table({"snp": plain}), ascd.open_data(stored, memory="2MB")
    found = [page.LogCoshLasso(0.01).fit(X, page.b).predict(X) for X in forms]
    for predictions in found:
        np.testing.assert_allclose(predictions, found[0], atol=1e-2)
    assert np.ptp(found[0]) > 0.1


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


def test_all_parts_of_the_page_are_compiled_together(page):
    """One loop has them all; each of its steps is one that plain Python takes, so that it ends at the same point."""
    problem = ascd.Problem(page.design, page.b, page.LogCosh(), page.Pinball(1.0, 2.0))
    own = {"rule": page.BestOfThree(), "oracle": page.Positive(), "step": page.Half()}
    how = {**own, "steepness": page.PerEntry(np.full(30, 2.0)), "rng": 0, "max_iter": 300, "tol": 0.0}
    with compilations_of(descend) as compilations, only_loops_compiled():
        found = ascd.minimize(problem, **how)
    expected = ascd.minimize(problem, **how)
    assert compilations.kept == [False]
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-9, atol=1e-12)
    assert np.count_nonzero(found.x) > 3
    assert found.gap == pytest.approx(expected.gap, rel=1e-6)


def beyond_the_loop(loss, penalty, steepness, z, j, found):
    """What the loop does not call: losses and penalties as objectives and gaps read them, and exact scores."""
    found[0], found[1], found[2] = loss.value(0.5, z), loss.curvature(0.5, z), loss.conjugate(0.5, 0.3 * z)
    found[3], found[4] = penalty.cost(z, j), penalty.cost_conjugate(z, j)
    found[5], found[6] = penalty.dual_scale(3.0 * z, j), steepness.score(penalty, j, z, 2.5)


def test_the_other_methods_of_the_page_are_compiled_too(page, compiled):
    parts = page.LogCosh(), page.Pinball(1.0, 2.0), page.PerEntry(np.full(30, 2.0))
    kernel, found, expected = Kernel(beyond_the_loop).compiled, np.empty(7), np.empty(7)
    for z in (-1.7, 0.4):
        kernel(*parts, z, 3, found)
        beyond_the_loop(*parts, z, 3, expected)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


class Looking(NamedTuple):
    """A rule that takes turns, and writes down by how much every entry is outside its interval."""

    excess: Any

    def select(self, point, t, rng):
        for j in range(point.x.size):
            exact = point.problem.matrix.values[:, j] @ point.raw_gradient
            off = abs(exact - point.intervals.estimate[j]) - point.intervals.radius_at(j)
            self.excess.append(off / (1.0 + abs(exact)))
        return t % point.x.size


def test_the_oracles_intervals_hold(page):
    excess: list[float] = []
    ascd.minimize(page.problem, rule=Looking(excess), oracle=page.Positive(), max_iter=90, tol=0.0, debug=True)
    assert len(excess) == 90 * 30
    assert max(excess) <= 1e-9
