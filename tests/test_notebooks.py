"""What notebooks show: HTML forms that are well formed, escaped and hold the numbers."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

import ascd
from ascd.results.solution import facts


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 30))
    return ascd.Problem(A, A[:, 0] - 2.0 * A[:, 1] + 1.0, penalty=ascd.L1(1.0))


def text_of(html):
    """What a reader sees, cell after cell; raises where the HTML is not well formed."""
    return " | ".join(piece.strip() for piece in ElementTree.fromstring(html).itertext() if piece.strip())


def test_a_solution_tells_what_is_proved(problem):
    solution = ascd.solve(problem, tol=1e-10)
    html = solution._repr_html_()
    shown = text_of(html)
    assert "Converged" in shown
    assert f"{np.count_nonzero(solution.x)} of 30 are not zero" in shown
    assert f"at most {solution.gap:.3g} (duality gap)" in shown
    run = ascd.minimize(problem, rng=0)._repr_html_()
    assert "rule | working-set" in text_of(run)


def test_a_path_tells_its_ends(problem):
    found = ascd.path(problem, n_alphas=12, eps=0.05)
    html = found._repr_html_()
    assert f"{found.alphas.size}, from {found.alphas[0]:.3g} to {found.alphas[-1]:.3g}" in text_of(html)
    empty = ascd.path(problem, n_alphas=12, max_time=0.0)
    assert "max_time" in text_of(empty._repr_html_())


def test_foreign_text_is_escaped():
    class Tags(HTMLParser):
        seen: list[str] = []  # noqa: RUF012

        def handle_starttag(self, tag, attrs):
            self.seen.append(tag)

    Tags().feed(facts("<script>", [("<b>", "<i>")]))
    assert not {"script", "b", "i"} & set(Tags.seen)
