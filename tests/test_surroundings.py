"""Surroundings that hinder: folders that cannot be written, a full disk, a zip file, no sources, another numba."""

from __future__ import annotations

import json
import os
import zipfile
from compileall import compile_dir
from pathlib import Path

import pytest
from copies import OTHERS, can_copy, copy_of_package, ended

import ascd

PACKAGE = Path(ascd.__file__).parent

#: One kernel, with a method of a part; prints results, hits of the cache and warnings.
COSTS = """
import json, warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    import numpy as np, ascd
    from ascd.problem.terms import cost_of
    values = [cost_of(ascd.L1(1.0), np.arange(2), np.array(x)) for x in ([2.0, 0.5], [0.0, 0.0])]
    found = [values, sum(cost_of.stored.stats.cache_hits.values())]
print(json.dumps([*found, [str(one.message) for one in told]]))
"""
#: What of the kernels in use is kept where, and what ``ascd info`` says of all.
FOLDERS = "from ascd._core.jit import cache_folders; print(json.dumps(cache_folders()))"
INFORMATION = 'from ascd.cli.commands import facts; print(json.dumps(facts()["cache"]))'
ANSWERS = [2.5, 0.0]
NOT_KEPT = "compiled code is not kept on disk, so every process compiles anew"


def python(code, site=PACKAGE.parent, first="", **variables):
    """What a process of its own prints; a variable that is None is absent."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0", "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    given = {"NUMBA_CACHE_DIR": None, "XDG_CACHE_HOME": None, **variables}
    environment = {name: str(value) for name, value in {**environment, **given}.items() if value is not None}
    exit_code, out, error = ended(first + code, environment, OTHERS)
    assert exit_code == 0, error
    return out


def costs(**surroundings):
    return json.loads(python(COSTS, **surroundings))


def costs_and_more(more, **surroundings):
    """Of one process; what the second line of code prints, too."""
    return map(json.loads, python(COSTS + more, **surroundings).splitlines())


#: Root is bound by permissions from here on: Linux lets a process give up its right not to be (CAP_DAC_OVERRIDE).
BOUND = """
import ctypes
header, held = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
assert ctypes.CDLL(None).capget(header, held) == 0
held[0] &= ~(1 << 1)
assert ctypes.CDLL(None).capset(header, held) == 0
"""


@pytest.fixture
def sealed(tmp_path):
    """A copy of the package in folders that cannot be written, and what a process needs to be bound by that."""
    if os.name != "posix":
        pytest.skip("permissions are set as POSIX has them")
    site = copy_of_package(tmp_path / "site")
    folders = [site, *(path for path in site.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    first = "" if os.geteuid() else BOUND
    touch = f"{first}\nopen({str(site / 'touched')!r}, 'w')"
    if (first and not can_copy) or ended(touch, dict(os.environ), OTHERS)[0] == 0:
        pytest.skip("permissions do not bind root here")
    yield {"site": site, "first": first}
    for folder in folders:
        folder.chmod(0o755)


def test_folders_that_cannot_be_written_leave_compiled_code_in_memory(sealed, tmp_path):
    reason = "neither the package's folder nor one of the user's can be written"
    (values, hits, told), folders = costs_and_more(FOLDERS, **sealed, HOME=sealed["site"])
    assert (values, hits) == (ANSWERS, 0)
    assert len(told) == 1
    assert told[0].startswith(NOT_KEPT)
    assert reason in told[0]
    assert folders == [[], reason]
    assert not list(tmp_path.rglob("*.nb[ic]"))  # so that the next process has nothing to load either
    elsewhere = {**sealed, "NUMBA_CACHE_DIR": tmp_path / "cache"}
    assert costs(**elsewhere) == [ANSWERS, 0, []]
    found, (folders, reason) = costs_and_more(FOLDERS, **elsewhere)
    assert found == [ANSWERS, 1, []]
    assert not reason
    assert all(folder.startswith(str(tmp_path / "cache")) for folder in folders)
    assert {str(path.parent) for path in (tmp_path / "cache").rglob("*.nb[ic]")} <= set(folders)


def test_a_cache_folder_that_cannot_be_made_is_not_believed(tmp_path):
    """numba then looks for another one, and the information is about that."""
    pytest.importorskip("rich", reason="the extra 'cli' is not installed")
    (tmp_path / "file").touch()
    site = copy_of_package(tmp_path / "site")
    _, found = costs_and_more(INFORMATION, site=site, NUMBA_CACHE_DIR=tmp_path / "file" / "cache")
    assert (found["kept"], found["folder"]) == ("on disk", str(site / "ascd"))
    assert found["files"] == len(list(site.rglob("*.nb[ic]"))) > 0


def test_information_about_kernels_that_are_not_compiled(interpreted):
    pytest.importorskip("rich", reason="the extra 'cli' is not installed")
    from ascd.cli.commands import facts

    found = facts()["cache"]
    assert found.pop("kept") == "not on disk: kernels are not compiled: NUMBA_DISABLE_JIT is set"
    assert found == {"folder": None, "files": 0, "megabytes": 0.0}


def test_a_full_disk_leaves_compiled_code_in_memory(tmp_path):
    pytest.importorskip("resource", reason="limits are set as POSIX has them")
    full = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    )
    values, hits, told = json.loads(python(full + COSTS, NUMBA_CACHE_DIR=tmp_path))
    assert (values, hits) == (ANSWERS, 0)
    assert len(told) == 1
    assert told[0].startswith(NOT_KEPT)
    assert "File too large" in told[0]


def test_an_edit_in_a_zip_file_is_seen(tmp_path):
    """Kernels from a zip file are kept where numba can do so; never is an answer that of former sources."""
    site = copy_of_package(tmp_path / "site")
    penalties, archive = site / "ascd" / "problem" / "penalties" / "by_coordinate.py", tmp_path / "ascd.zip"
    source = penalties.read_text()
    once = "cost += l1 * abs(x)"
    assert source.count(once) == 1
    for changed, answer in ((once, 2.5), ("cost += 2.0 * l1 * abs(x)", 5.0)):
        penalties.write_text(source.replace(once, changed))
        with zipfile.ZipFile(archive, "w") as packed:
            for path in sorted(each for each in site.rglob("*.*") if each.suffix != ".pyc"):
                packed.write(path, path.relative_to(site))
        values, _, told = costs(site=archive, HOME=tmp_path / "home")
        assert values[0] == answer
        assert all(each.startswith(NOT_KEPT) for each in told)


def test_a_package_without_sources_is_not_cached(tmp_path):
    site = copy_of_package(tmp_path / "site")
    assert compile_dir(site, quiet=1, legacy=True)
    for path in site.rglob("*.py"):
        path.unlink()
    values, hits, told = costs(site=site, NUMBA_CACHE_DIR=tmp_path / "cache")
    assert (values, hits) == (ANSWERS, 0)
    assert len(told) == 1
    assert "ascd is installed without its source files" in told[0]


#: Something inside numba that was broken, and the words for it: a class that our compilers are made of, an option.
BROKEN = {
    "import numba.core.codegen as inner; del inner.JITCodeLibrary": "(ImportError: cannot import name",
    "from numba.core.cpu import CPUTargetOptions as inner; inner._nrt = property()": (
        "(KeyError: \"Unrecognized options: {'_nrt'}"
    ),
}
#: Kernels of every kind, with methods and helpers: an objective, and a strict one that any other order gets wrong.
SEVERAL = """
from ascd._core.jit import debugging
from ascd.matrix.columns import careful_products
with debugging(True):
    problem, ones = (ascd.Problem(A, [3.0, 1.0, -2.0], penalty=ascd.L1(1.0)) for A in (np.eye(3), np.ones((3, 1))))
assert [problem.objective(x) for x in ([2.0, 0.0, -1.0], [1.0, 0.0, -1.0])] == [4.5, 5.0]
product, error = np.empty(1), np.empty(1)
careful_products(ones.parts.matrix, np.arange(1), np.array([1e16, 1.0, -1e16]), product, error, 0, 1)
assert product[0] == 1.0 and error[0] < 1e-10, (product, error)
assert all(kernel.stored.signatures for kernel in (careful_products, cost_of))
"""


@pytest.mark.parametrize("broken", BROKEN)
def test_where_numba_has_changed_inside_plain_numba_compiles(broken, tmp_path):
    """Several kernels where a class has gone; from there on all is the same where an option has."""
    code = f"{broken}\n{COSTS}{SEVERAL if 'Library' in broken else ''}"
    values, _, told = json.loads(python(code, NUMBA_CACHE_DIR=tmp_path))
    assert values == ANSWERS
    assert len(told) == 1
    assert f"has changed inside {BROKEN[broken]}" in told[0]
