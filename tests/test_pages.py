"""The code of the README and of the page "Coming from another library": it runs, it is right, and its types are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from peers import plain_skglm

import ascd

ROOT = Path(__file__).resolve().parents[1]


def blocks(page: str) -> list[str]:
    """The Python of a page, block after block."""
    path = ROOT / page
    if not path.exists():
        pytest.skip("the documentation is not here")
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.S)


def needs(block: str) -> str | None:
    """The package that a block says it needs and that is not installed."""
    named = re.match(r"# with (\w+) installed", block)
    return named.group(1) if named and find_spec(named.group(1)) is None else None


def test_the_translations_are_right():
    scope: dict[str, object] = {}
    found = blocks("docs/coming-from.md")
    assert sum(block.count("assert ") for block in found) >= 12
    for number, block in enumerate(found):
        if needs(block) is None:
            with plain_skglm() if "with skglm" in block else nullcontext():
                exec(compile(block, f"coming-from, block {number}", "exec"), scope)


def test_the_readme_runs_and_its_two_solvers_agree(capsys):
    scope: dict[str, object] = {}
    for number, block in enumerate(blocks("README.md")):
        exec(compile(block, f"README, block {number}", "exec"), scope)
    assert capsys.readouterr().out
    assert scope["solution"].objective == pytest.approx(scope["run"].objective, rel=1e-6)
    assert np.allclose(scope["solution"].x, scope["run"].x, atol=1e-3)


@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed: it is in the group 'lint'")
def test_the_readme_has_the_types_that_a_strict_checker_wants(tmp_path):
    file = tmp_path / "readme.py"
    file.write_text("\n".join(blocks("README.md")), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=with_package())
    assert done.returncode == 0, done.stdout


def with_package() -> dict[str, str]:
    """An environment in which mypy finds the package that is tested."""
    return {**os.environ, "MYPYPATH": str(Path(ascd.__file__).parents[1]), "MYPY_CACHE_DIR": os.devnull}
