"""The code of the README and of the pages "Start" and "Coming from another library" runs, and its answers are right."""

from __future__ import annotations

import re
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from peers import plain_skglm

ROOT = Path(__file__).resolve().parents[1]


def blocks(page: str) -> list[str]:
    """The Python of a page, block after block."""
    path = ROOT / page
    if not path.exists():
        pytest.skip("the documentation is not here")
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.S)


def ran(page: str) -> dict[str, object]:
    """What the blocks of a page define, run one after the other; those whose package is not installed are left out.

    Kernels run as plain Python, for which a hundred samples of a thousand features are many: they get forty.
    """
    scope: dict[str, object] = {}
    for number, block in enumerate(blocks(page)):
        needed = re.match(r"# with (\w+) installed", block)
        if needed is None or find_spec(needed[1]) is not None:
            with plain_skglm() if "with skglm" in block else nullcontext():
                exec(compile(block.replace("(100, 1000)", "(100, 40)"), f"{page}, block {number}", "exec"), scope)
    return scope


def test_the_translations_are_right():
    assert sum(block.count("assert ") for block in blocks("docs/coming-from.md")) >= 12
    ran("docs/coming-from.md")


def test_the_first_page_runs():
    found = ran("docs/start.md")
    assert found["solution"].converged
    assert found["chosen"].alpha_ >= found["chosen"].alpha_best_


def test_the_readme_runs_and_its_two_solvers_agree(capsys):
    scope = ran("README.md")
    assert capsys.readouterr().out
    assert scope["solution"].objective == pytest.approx(scope["run"].objective, rel=1e-6)
    assert np.allclose(scope["solution"].x, scope["run"].x, atol=1e-3)
