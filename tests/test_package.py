"""The package from outside: names for people and type checkers, and first imports by many threads at once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from copies import OTHERS, ended

import ascd

PACKAGE = Path(ascd.__file__).parent

#: Every estimator asked for at once, from both modules that offer them.
AT_ONCE = """
import sys, threading
from importlib import import_module
sys.setswitchinterval(1e-6)
import ascd
asked = [(module, name) for module in ("ascd", "ascd.estimators") for name in ascd._FILES["ascd.estimators"].split()]
start, errors = threading.Barrier(len(asked)), []
def ask(module, name):
    start.wait()
    try:
        getattr(import_module(module), name)
    except BaseException as error:
        errors.append(f"{name}: {error!r}")
threads = [threading.Thread(target=ask, args=pair) for pair in asked]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("\\n".join(errors))
"""


TYPED = """
from ascd import L1, Lasso
from ascd.estimators import LinearSVC

reveal_type(Lasso(alpha=0.1))
reveal_type(LinearSVC())
reveal_type(L1(1.0))
Lasso(alfa=0.1)
"""
ABSENT = "from ascd import NoSuchThing\nfrom ascd.estimators import NoSuchEstimator\n"
EVERYTHING = "from ascd import *\nreveal_type(Ridge())\nNoSuchThing\n"


SEARCH = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}


def without_us(code):
    """What a process prints that has imported what we need, but nothing of ours."""
    exit_code, out, error = ended(code, {**SEARCH, "NUMBA_DISABLE_JIT": "0"}, OTHERS)
    assert exit_code == 0, error
    return out.strip()


def python(code, *options):
    """What a fresh process prints."""
    done = subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, env=SEARCH)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_many_threads_import_the_estimators_for_the_first_time_at_once():
    assert python(AT_ONCE) == ""


def test_every_name_is_listed_sorted_and_leads_somewhere():
    assert set(ascd.estimators.__all__) <= set(ascd.__all__)
    assert {"Lasso", "path", "Problem"} <= set(dir(ascd))
    assert all(getattr(ascd, name) is not None for name in ascd.__all__)
    assert ascd.Lasso is ascd.estimators.Lasso
    with pytest.raises(AttributeError, match="module 'ascd' has no attribute 'NoSuchThing'"):
        _ = ascd.NoSuchThing
    with pytest.raises(AttributeError, match=r"module 'ascd\.estimators' has no attribute 'NoSuchThing'"):
        _ = ascd.estimators.NoSuchThing


def test_every_package_can_be_asked_for():
    found = {path.stem for path in PACKAGE.glob("*.py")} | {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert found - {"__init__", "__main__", "_core"} == set(ascd._MODULES) - {"datasets", "svm", "theory"}
    names = without_us("import ascd; print(ascd.theory.__name__, ascd.svm.__name__)")
    assert names == "ascd.reproduction.theory ascd.solver.svm"


LATER = """
import numpy as np, ascd
from ascd._core.jit import is_interpreted
problem = ascd.Problem(np.eye(2), [3.0, 1.0], penalty=ascd.L1(1.0))
print(is_interpreted, *ascd.solve(problem).x, *ascd.minimize(problem, rule="cyclic").x)
"""


def test_parts_imported_after_the_first_kernel_are_known_to_compiled_code():
    assert without_us(LATER) == "False 2.0 0.0 2.0 0.0"


def test_the_command_line_begins_without_waiting_for_imports():
    """Ctrl-C while these are imported is one line: its handler must be there before."""
    slow = "{'typing', 'numpy', 'numba', 'scipy', 'sklearn', 'click', 'rich', 'pandas'}"
    assert python(f"import ascd.cli, sys; print({slow} & set(sys.modules))", "-S") == "set()"


@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed: it is in the group 'lint'")
def test_a_type_checker_knows_the_estimators(tmp_path):
    text = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
    readme = "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))
    found = checked(tmp_path, {"typed": TYPED, "absent": ABSENT, "everything": EVERYTHING, "readme": readme})
    assert found["readme"] == "", "the README has the types that a strict checker wants"
    revealed = re.findall(r"ascd(?:\.[a-z_]+)+\.[A-Z]\w*", found["typed"])
    kinds = ("estimators.least_squares.Lasso", "estimators.svm.LinearSVC", "problem.penalties.Net")
    assert revealed == [f"ascd.{kind}" for kind in kinds]
    assert 'Unexpected keyword argument "alfa" for "Lasso"' in found["typed"]
    assert 'Module "ascd" has no attribute "NoSuchThing"' in found["absent"]
    assert 'Module "ascd.estimators" has no attribute "NoSuchEstimator"' in found["absent"]
    assert 'Revealed type is "ascd.estimators.least_squares.Ridge"' in found["everything"]
    assert 'Name "NoSuchThing" is not defined' in found["everything"]


def checked(folder, codes):
    """What mypy says about each file of somebody who uses the library, with settings of their own."""
    paths = [folder / f"{name}.py" for name in codes]
    for path, code in zip(paths, codes.values(), strict=True):
        path.write_text(code)
    options = [
        "--strict",
        "--config-file=",
        "--ignore-missing-imports",
        "--no-site-packages",
        "--follow-imports=silent",
        f"--cache-dir={folder / 'mypy'}",
    ]
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *map(str, paths)], capture_output=True, text=True, env=environment
    )
    assert done.returncode in (0, 1), done.stderr
    lines = done.stdout.splitlines()
    return {name: "\n".join(line for line in lines if f"{name}.py:" in line) for name in codes}


# --- What is shipped: metadata that agree with each other, and a conda recipe that asks for what the project asks for


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
FOR_USERS = ("plot", "cli", "parquet", "dask", "cupy", "torch")


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
