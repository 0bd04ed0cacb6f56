"""What notebooks show: HTML forms that are well formed, escaped and hold the numbers; pictures; progress."""

from __future__ import annotations

import math
import sys
import types
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

import ascd
from ascd.results.html import facts, grid, picture
from ascd.results.progress import progress_bar

pytestmark = pytest.mark.usefixtures("plain_python")


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 30))
    return ascd.Problem(A, A[:, 0] - 2.0 * A[:, 1] + 1.0, penalty=ascd.L1(1.0))


def text_of(html):
    """What a reader sees, cell after cell; raises where the HTML is not well formed."""
    return " | ".join(piece.strip() for piece in ElementTree.fromstring(html).itertext() if piece.strip())


def test_a_solution_tells_what_is_proved_and_draws_its_trace(problem, compiled):
    solution = ascd.solve(problem, tol=1e-10)
    html = solution._repr_html_()
    shown = text_of(html)
    assert "Converged" in shown
    assert f"{np.count_nonzero(solution.x)} of 30 are not zero" in shown
    assert f"at most {solution.gap:.3g} (duality gap)" in shown
    run = ascd.minimize(problem, rng=0)._repr_html_()
    assert "<svg" in run
    assert "rule | working-set" in text_of(run)


def test_a_certificate_tells_its_numbers():
    model = ascd.Lasso(alpha=0.1).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0]], [0.0, 1.0, 2.0])
    shown = text_of(model.certificate_._repr_html_())
    assert f"tolerance | {model.certificate_.tolerance:.3g}" in shown
    assert f"columns read | {model.certificate_.columns_read}" in shown
    assert "<div" in model._repr_html_()  # scikit-learn's own diagram


def test_a_path_tells_its_ends_and_draws_its_coefficients(problem):
    found = ascd.path(problem, n_alphas=12, eps=0.05)
    html = found._repr_html_()
    assert f"{found.alphas.size}, from {found.alphas[0]:.3g} to {found.alphas[-1]:.3g}" in text_of(html)
    assert html.count("<polyline") == 12
    empty = ascd.path(problem, n_alphas=12, max_time=0.0)
    assert "max_time" in text_of(empty._repr_html_())


def test_a_trace_shows_both_ends(problem):
    trace = ascd.minimize(problem, rule="cyclic", record=1, max_iter=20, tol=0.0, rng=0).trace
    shown = text_of(trace._repr_html_())
    assert "Trace: 21 records" in shown
    assert "…" in shown
    assert f"{trace.objective[-1]:.3g}" in shown
    assert "<svg" in trace._repr_html_()
    assert "Trace: 0 records" in text_of(ascd.Trace()._repr_html_())


def test_foreign_text_is_escaped():
    class Tags(HTMLParser):
        seen: list[str] = []  # noqa: RUF012

        def handle_starttag(self, tag, attrs):
            self.seen.append(tag)

    Tags().feed(facts("<script>", [("<b>", "<i>")]) + grid("<u>", ["<s>"], [["<img>"]]))
    assert not {"script", "b", "i", "u", "s", "img"} & set(Tags.seen)


def test_pictures_leave_out_what_cannot_be_drawn():
    assert picture(np.array([1.0]), [np.array([2.0])], "one point") == ""
    assert picture(np.arange(3.0), [], "no line") == ""
    drawn = ElementTree.fromstring(f"<div>{picture(np.arange(3.0), [np.array([1.0, math.nan, 3.0])], 'gap')}</div>")
    (line,) = drawn.iter("polyline")
    assert len(line.get("points").split()) == 2


class Cell:
    """IPython's display module, as far as it is used; what was shown is kept."""

    def __init__(self):
        self.shown = []
        self.HTML = str

    def display(self, content, display_id):
        assert display_id is True
        self.update(content)
        return self

    def update(self, content):
        self.shown.append(content)


@pytest.fixture
def notebook(monkeypatch):
    cell, module = Cell(), types.ModuleType("IPython")
    module.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    module.display = cell
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setattr("ascd.results.progress.PAUSE", 0.0)
    return cell


def test_a_notebook_has_a_bar_of_its_own(notebook):
    with progress_bar(True, 4) as show:
        show(1, 2.5)
        show(2, math.nan)
    assert '<progress value="1" max="4"></progress> 25%, objective 2.5' in notebook.shown[1]
    assert "objective" not in notebook.shown[2]
    assert notebook.shown[-1] == ""


def test_runs_show_their_bar_in_the_notebook(notebook, problem, compiled):
    ascd.minimize(problem, progress=True, rng=0)
    ascd.LassoCV(cv=3, alphas=5, progress=True).fit(np.eye(12) + 1.0, np.arange(12.0))
    assert sum("<progress" in content for content in notebook.shown) >= 4


def test_a_shell_without_a_kernel_is_no_notebook(notebook, monkeypatch, capsys):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: None)
    with progress_bar(True, 2) as show:
        show(1, 1.0)
    assert notebook.shown == []
