"""What is shipped: metadata that agree with each other, and a conda recipe that asks for what the project asks for."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import ascd

ROOT = Path(__file__).resolve().parents[1]
RECIPE = ROOT / "packaging" / "conda" / "meta.yaml"
tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no reader of TOML")


@pytest.fixture(scope="module")
def project():
    path = ROOT / "pyproject.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))["project"]


def bare(need: str) -> tuple[str, str]:
    """Name and least version of a requirement, in either way of writing."""
    name, version = re.fullmatch(r"([\w-]+) ?>=([\w.]+)", need).groups()
    return name.removesuffix("-base"), version


def listed(section: str) -> list[str]:
    """The entries of a list of the recipe, without a reader of YAML."""
    lines = RECIPE.read_text(encoding="utf-8").splitlines()
    start = lines.index(f"  {section}:") + 1
    found = []
    for line in lines[start:]:
        if not line.startswith("    - "):
            break
        found.append(line.removeprefix("    - "))
    return found


def test_the_recipe_asks_for_what_the_project_asks_for(project):
    needs = {bare(need) for need in listed("run")}
    assert needs == {*map(bare, project["dependencies"]), ("python", project["requires-python"].removeprefix(">="))}
    optional = {bare(need) for extra in ("plot", "cli", "parquet") for need in project["optional-dependencies"][extra]}
    assert {bare(need) for need in listed("run_constrained")} == optional
    assert listed("entry_points") == [f"{name} = {target}" for name, target in project["scripts"].items()]


def test_versions_agree():
    assert f'version = "{ascd.__version__}"' in RECIPE.read_text(encoding="utf-8")
    assert f"version: {ascd.__version__}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_every_tested_python_is_a_classifier(project):
    named = {found for line in project["classifiers"] for found in re.findall(r"Python :: (3\.\d+)$", line)}
    noxfile = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    assert named == set(re.findall(r'"(3\.\d+)"', re.search(r"PYTHONS = \[(.*)\]", noxfile).group(1)))
    if sys.version_info < (3, 14):
        assert f"3.{sys.version_info.minor}" in named
