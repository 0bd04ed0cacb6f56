"""What the documentation promises about itself: short examples, and links that lead somewhere."""

from __future__ import annotations

import inspect
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import ascd

ROOT = Path(__file__).resolve().parents[1]


def test_broken_links_are_found(tmp_path):
    broken = runpy.run_path(str(ROOT / "docs" / "check_links.py"))["broken"]
    (tmp_path / "b.html").write_text('<p id="here">x</p>')
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">1</a><a href="https://example.org/x">2</a><a href="#top" id="top">3</a>'
    )
    assert broken(tmp_path) == []
    (tmp_path / "c.html").write_text('<a href="b.html#gone">1</a><img src="no.png">')
    assert broken(tmp_path) == ["c.html: b.html#gone (no such place)", "c.html: no.png (no such file)"]


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


@pytest.mark.usefixtures("interpreted")
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
