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


#: What some packages are called in conda-forge.
ELSEWHERE = {"matplotlib-base": "matplotlib", "pytorch": "torch", "cupy": "cupy-cuda12x"}
#: Extras for users; the others are for whoever works on the library.
FOR_USERS = ("plot", "cli", "parquet", "zarr", "dask", "cupy", "torch")


def bare(need: str) -> tuple[str, str]:
    """Name and least version of a requirement, in either way of writing, without its own extras and conditions."""
    name, version = re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])? ?>=([\w.]+)(?:;.*)?", need).groups()
    return ELSEWHERE.get(name, name), version


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
    extras = project["optional-dependencies"]
    assert set(extras) == {*FOR_USERS, "bench", "docs"}
    optional = {bare(need) for extra in FOR_USERS for need in extras[extra]}
    assert {bare(need) for need in listed("run_constrained")} == optional
    assert listed("entry_points") == [f"{name} = {target}" for name, target in project["scripts"].items()]


def test_versions_agree():
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M).group(1)
    assert first in (ascd.__version__, "Unreleased")
    assert f'version = "{ascd.__version__}"' in RECIPE.read_text(encoding="utf-8")
    assert f"version: {ascd.__version__}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_every_tested_python_is_a_classifier(project):
    named = {found for line in project["classifiers"] for found in re.findall(r"Python :: (3\.\d+)$", line)}
    noxfile = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    assert named == set(re.findall(r'"(3\.\d+)"', re.search(r"PYTHONS = \[(.*)\]", noxfile).group(1)))
    if sys.version_info < (3, 14):
        assert f"3.{sys.version_info.minor}" in named
