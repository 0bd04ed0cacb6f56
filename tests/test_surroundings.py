"""Surroundings that hinder: folders that cannot be written, a full disk, a zip file, no sources, another numba."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import ascd

PACKAGE = Path(ascd.__file__).parent

#: One kernel, with a method of a part; prints results, hits of the cache and warnings.
COSTS = """
import json, warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    import numpy as np, ascd
    from ascd.solver.samples import cost_of
    values = [cost_of(ascd.L1(1.0), np.arange(2), np.array(x)) for x in ([2.0, 0.5], [0.0, 0.0])]
print(json.dumps([values, sum(cost_of.stored.stats.cache_hits.values()), [str(one.message) for one in told]]))
"""
ANSWERS = [2.5, 0.0]
NOT_KEPT = "compiled code is not kept on disk, so every process compiles anew"


def python(*arguments, site=PACKAGE.parent, before=(), **variables):
    """What a fresh process prints; a variable that is None is absent."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0", "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    given = {"NUMBA_CACHE_DIR": None, "XDG_CACHE_HOME": None, **variables}
    environment = {name: str(value) for name, value in {**environment, **given}.items() if value is not None}
    done = subprocess.run([*before, sys.executable, *arguments], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def costs(**surroundings):
    return json.loads(python("-c", COSTS, **surroundings))


def copy_of_package(folder):
    shutil.copytree(PACKAGE, folder / "ascd", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture
def sealed(tmp_path):
    """A copy of the package in folders that cannot be written, and what a process needs to be bound by that."""
    if os.name != "posix":
        pytest.skip("permissions are set as POSIX has them")
    site = copy_of_package(tmp_path / "site")
    folders = [site, *(path for path in site.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    before = () if os.geteuid() else ("setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override")
    try:
        touched = subprocess.run([*before, "touch", str(site / "touched")], capture_output=True).returncode == 0
    except FileNotFoundError:
        touched = True
    if touched:
        pytest.skip("permissions do not bind root here, and there is no setpriv")
    yield {"site": site, "before": before}
    for folder in folders:
        folder.chmod(0o755)


def test_folders_that_cannot_be_written_leave_compiled_code_in_memory(sealed, tmp_path):
    homeless = {**sealed, "HOME": sealed["site"]}
    for _ in range(2):
        values, hits, told = costs(**homeless)
        assert (values, hits) == (ANSWERS, 0)
        assert len(told) == 1
        assert told[0].startswith(NOT_KEPT)
        assert "neither the package's folder nor one of the user's can be written" in told[0]
    elsewhere = {**sealed, "NUMBA_CACHE_DIR": tmp_path / "cache"}
    assert costs(**elsewhere) == [ANSWERS, 0, []]
    assert costs(**elsewhere) == [ANSWERS, 1, []]
    if find_spec("click") and find_spec("rich"):
        found = json.loads(python("-m", "ascd", "info", "--json", **homeless))["cache"]
        assert found.pop("kept").startswith("not on disk: neither the package's folder")
        assert found == {"folder": None, "files": 0, "megabytes": 0.0}
        found = json.loads(python("-m", "ascd", "info", "--json", **elsewhere))["cache"]
        assert (found["kept"], found["folder"]) == ("on disk", str(tmp_path / "cache"))
        assert found["files"] == len(list((tmp_path / "cache").rglob("*.nb[ic]"))) > 0


def test_a_cache_folder_that_cannot_be_made_is_not_believed(tmp_path):
    """numba then looks for another one, and the information is about that."""
    pytest.importorskip("rich", reason="the extra 'cli' is not installed")
    (tmp_path / "file").touch()
    site = copy_of_package(tmp_path / "site")
    told = python("-m", "ascd", "info", "--json", site=site, NUMBA_CACHE_DIR=tmp_path / "file" / "cache")
    assert json.loads(told)["cache"]["folder"] == str(site / "ascd")


def test_information_about_kernels_that_are_not_compiled():
    pytest.importorskip("rich", reason="the extra 'cli' is not installed")
    found = json.loads(python("-m", "ascd", "info", "--json", NUMBA_DISABLE_JIT="1"))["cache"]
    assert found["kept"] == "not on disk: kernels are not compiled: NUMBA_DISABLE_JIT is set"


def test_a_full_disk_leaves_compiled_code_in_memory(tmp_path):
    pytest.importorskip("resource", reason="limits are set as POSIX has them")
    full = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    )
    values, hits, told = json.loads(python("-c", full + COSTS, NUMBA_CACHE_DIR=tmp_path))
    assert (values, hits) == (ANSWERS, 0)
    assert len(told) == 1
    assert told[0].startswith(NOT_KEPT)
    assert "File too large" in told[0]


def test_an_edit_in_a_zip_file_is_seen(tmp_path):
    """Kernels from a zip file are kept where numba can do so; never is an answer that of former sources."""
    site = copy_of_package(tmp_path / "site")
    norms, archive = site / "ascd" / "problem" / "penalties" / "norms.py", tmp_path / "ascd.zip"
    source = norms.read_text()
    once = "at(self.strength, j) * at(self.weights, j) * abs(x) + at(self.linear, j) * x"
    assert source.count(once) == 1
    for factor, answer in (("", 2.5), ("2.0 * ", 5.0), ("", 2.5)):
        norms.write_text(source.replace(once, factor + once))
        with zipfile.ZipFile(archive, "w") as packed:
            for path in sorted(site.rglob("*.*")):
                packed.write(path, path.relative_to(site))
        values, _, told = costs(site=archive, HOME=tmp_path / "home")
        assert values[0] == answer
        assert all(each.startswith(NOT_KEPT) for each in told)


def test_a_package_without_sources_is_not_cached(tmp_path):
    site = copy_of_package(tmp_path / "site")
    python("-m", "compileall", "-q", "-b", str(site))
    for path in site.rglob("*.py"):
        path.unlink()
    values, hits, told = costs(site=site, NUMBA_CACHE_DIR=tmp_path / "cache")
    assert (values, hits) == (ANSWERS, 0)
    assert len(told) == 1
    assert "ascd is installed without its source files" in told[0]


#: A problem and its certificate, a dozen kernels, after something inside numba was broken; prints warnings, too.
CERTIFICATE = """
import json, warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    {broken}
    import numpy as np, ascd
    problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    found = [[problem.objective(x), problem.gap(x)] for x in ([2.0, 0.0, -1.0], [1.0, 0.0, -1.0])]
print(json.dumps([found, [str(one.message) for one in told]]))
"""


CLASS_HAS_GONE = "import numba.core.codegen as inner; del inner.JITCodeLibrary"
OPTION_HAS_GONE = "from numba.core.cpu import CPUTargetOptions as inner; inner._nrt = property()"


def test_where_numba_has_changed_inside_plain_numba_compiles(tmp_path):
    code = CERTIFICATE.format(broken=CLASS_HAS_GONE)
    (best, other), told = json.loads(python("-c", code, NUMBA_CACHE_DIR=tmp_path))
    assert best == pytest.approx([4.5, 0.0], abs=1e-10)
    assert other == pytest.approx([5.0, 1.25], rel=1e-6)
    assert len(told) == 1
    assert "has changed inside (ImportError: cannot import name" in told[0]


def test_where_an_option_of_numba_has_gone_plain_numba_compiles(tmp_path):
    """One kernel: from here on all is as in the test before."""
    values, _, told = json.loads(python("-c", f"{OPTION_HAS_GONE}\n{COSTS}", NUMBA_CACHE_DIR=tmp_path))
    assert values == ANSWERS
    assert len(told) == 1
    assert "has changed inside (KeyError: \"Unrecognized options: {'_nrt'}" in told[0]
