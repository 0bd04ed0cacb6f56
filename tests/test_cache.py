"""Compiled code on disk: loaded by the next process, never stale, never of users' types; and where it cannot be kept.

Also classes with one name, and a numba that has changed inside.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from copies import OTHERS, copy_of_package, ended

import ascd
from ascd._core.jit import SECONDS_KEPT
from ascd.problem.penalties import as_penalty
from ascd.problem.terms import ByCoordinate, cost_of

PACKAGE = Path(ascd.__file__).parent

#: Two kernels with a method of a part, of which nothing else is compiled; prints results, hits and misses, warnings.
SCRIPT = """
import json, warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import numpy as np, ascd
    from ascd.problem.penalties import as_penalty
    from ascd.problem.terms import ByCoordinate, cost_of, largest_violation
    penalty, columns, x = ByCoordinate(as_penalty({penalty}, 2)), np.arange(2), np.array([2.0, 0.5])
    found = cost_of(penalty, columns, x)
    largest_violation(penalty, columns, x, x)
    stats = [kernel.compiled_for((penalty,)).stats for kernel in (cost_of, largest_violation)]
    hits, misses = ([sum(getattr(s, name).values()) for s in stats] for name in ("cache_hits", "cache_misses"))
print(json.dumps([found, hits, misses, [str(one.message) for one in said]]))
"""
LOADED, COMPILED = [[1, 1], [0, 0]], [[0, 0], [1, 1]]
NOT_KEPT = "compiled code is not kept on disk, so every process compiles anew"

THEIRS = """
from typing import NamedTuple

class Theirs(NamedTuple):
    strength: float
    def cost(self, x, j): return self.strength * x * x
    def prox(self, v, step, j): return v / (1.0 + 2.0 * step * self.strength)
    def subgradient(self, x, j): return 2.0 * self.strength * x, 2.0 * self.strength * x
    def cost_conjugate(self, u, j): return 0.25 * u * u / self.strength
    def dual_scale(self, u, j): return 1.0
"""


def python(code, *path, before=(), **variables):
    """Return what a process of its own prints; a variable that is None is absent."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, path or [PACKAGE.parent]))
    given = {"NUMBA_CACHE_DIR": None, "XDG_CACHE_HOME": None, **variables}
    environment = {name: str(value) for name, value in {**environment, **given}.items() if value is not None}
    exit_code, out, error = ended(code, environment, OTHERS, before)
    assert exit_code == 0, error
    return out


def report(*path, penalty="ascd.L1(1.0)", first="", **variables):
    """Return the cost, [hits, misses] and the warnings of the script in a process of its own."""
    found, hits, misses, said = json.loads(python(first + SCRIPT.format(penalty=penalty), *path, **variables))
    return found, [hits, misses], said


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A copy of the package."""
    return copy_of_package(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def filled(site, tmp_path_factory):
    """A cache after the first process."""
    cache = tmp_path_factory.mktemp("cache")
    assert report(site, NUMBA_CACHE_DIR=cache) == (2.5, COMPILED, [])
    return cache


def test_the_second_process_loads_and_types_of_a_user_are_not_stored(site, filled, tmp_path):
    (tmp_path / "their_parts.py").write_text(THEIRS)
    before = contents(filled)
    assert report(site, NUMBA_CACHE_DIR=filled) == (2.5, LOADED, [])
    theirs = '__import__("their_parts").Theirs(1.0)'
    assert report(site, tmp_path, penalty=theirs, NUMBA_CACHE_DIR=filled) == (4.25, COMPILED, [])
    assert contents(filled) == before


#: A storage of columns of a user's, by itself and in a matrix of a user's.
THEIR_STORAGE = """
from ascd.matrix.base import Matrix, Part
from ascd.matrix.dense import Dense, LocalDense
import numpy as np

class Bytes(Dense):
    pass

class Own(Matrix):
    def __init__(self, A): self.A, self.shape = A, A.shape
    def dots(self, columns, vectors): return self.A[:, columns].T @ vectors
    def add(self, columns, factors, out): out += self.A[:, columns] @ factors
    def take(self, columns): return Part(Bytes(np.asfortranarray(self.A[:, columns])), np.arange(columns.size))

def make(kind, A):
    return Own(A) if kind == "Own" else LocalDense(Bytes(A), A.shape)
"""


@pytest.mark.parametrize("kind", ["Own", "LocalDense"])
def test_storages_of_a_user_are_not_stored(kind, site, tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "their_storage.py").write_text(THEIR_STORAGE)
    code = "import numpy as np, ascd; A = np.asfortranarray(np.eye(3)); "
    solve = "print(ascd.solve(ascd.Problem({}, np.ones(3), penalty=ascd.L1(0.5)), max_iter=3).x.sum())"
    theirs = code + f"import their_storage; A = their_storage.make('{kind}', A); " + solve.format("A")
    cache = tmp_path / "cache"
    assert float(python(theirs, site, tmp_path / "theirs", NUMBA_CACHE_DIR=cache)) == 1.5
    assert not any(b"their_storage" in found.read_bytes() for found in cache.rglob("*.nbi"))


def test_an_edit_of_another_file_is_a_miss_and_not_a_stale_answer(site, filled, tmp_path):
    """In the same cache; and back again, where the former answer is still kept."""
    cache = tmp_path / "cache"
    shutil.copytree(filled, cache)
    with doubled_cost(site):
        assert report(site, NUMBA_CACHE_DIR=cache) == (5.0, COMPILED, [])
    assert report(site, NUMBA_CACHE_DIR=cache) == (2.5, LOADED, [])


class doubled_cost:
    """An edit of a penalty inside the block."""

    def __init__(self, site):
        self.path = site / "ascd" / "problem" / "penalties.py"
        self.source = self.path.read_text()

    def __enter__(self):
        once = "at(self.l1, j) * abs(x)"
        assert self.source.count(once) == 1
        self.path.write_text(self.source.replace(once, f"2.0 * {once}"))

    def __exit__(self, *_):
        self.path.write_text(self.source)


def test_old_files_of_former_sources_are_removed_and_nothing_else(site, filled, tmp_path):
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    (current,) = (path for path in tmp_path.rglob("terms.cost_of_*.nbi"))
    former = re.sub("_[0-9a-f]{12}-", "_0123456789ab-", current.name)
    old, young, other = (current.with_name(name) for name in (former, former.replace("-", "-9"), "theirs-1.py311.nbi"))
    for path in (old, young, other):
        path.write_bytes(b"")
    aged = time.time() - 2.0 * SECONDS_KEPT
    for path in (old, other, current):
        os.utime(path, (aged, aged))
    assert report(site, NUMBA_CACHE_DIR=tmp_path)[1] == LOADED
    assert [path.exists() for path in (old, young, other, current)] == [False, True, True, True]


def test_importing_the_library_does_not_import_numba():
    code = (
        "import sys, ascd; print(sorted({'numba', 'llvmlite', 'sklearn', 'matplotlib', 'pandas'} & set(sys.modules)))"
    )
    assert python(code, before=["env"]).strip() == "[]"


def test_one_module_only_imports_numba():
    imports = re.compile(r"^\s*(import|from)\s+(numba|llvmlite)\b", re.MULTILINE)
    found = {path.name for path in PACKAGE.rglob("*.py") if imports.search(path.read_text())}
    assert found == {"jit.py"}


EDITS = """
from pathlib import Path
import ascd
from ascd._core.jit import WITHOUT_KERNELS, digest

def changed():
    digest.cache_clear()
    return digest() not in seen and not seen.add(digest())

root, seen = Path(ascd.__file__).parent, set()
sources = sorted(root.rglob("*.py"))
assert changed() and not changed() and len(sources) > 100
for path in {path.parent: path for path in sources}.values():
    path.write_bytes(path.read_bytes() + b"#")
    assert changed() == (path.relative_to(root).parts[0] not in WITHOUT_KERNELS), path
kernels = root / "problem"
(kernels / "problem.py").rename(kernels / "renamed.py")
assert changed()
(kernels / "added.py").touch()
assert changed()
(kernels / "notes.txt").touch()
assert not changed()
"""


def test_an_edit_of_any_file_that_kernels_reach_changes_the_digest(tmp_path):
    python(EDITS, copy_of_package(tmp_path))


# ---- where nothing can be kept


def test_a_full_disk_leaves_compiled_code_in_memory(tmp_path):
    pytest.importorskip("resource", reason="limits are set as POSIX has them")
    full = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    )
    found, _, said = report(first=full, NUMBA_CACHE_DIR=tmp_path)
    assert found == 2.5
    assert len(said) == 1
    assert said[0].startswith(NOT_KEPT)
    assert "File too large" in said[0]


#: Something inside numba that has changed, and the words for it.
CHANGED = {
    "from numba.core.cpu import CPUTargetOptions as inner; inner._nrt = property()\n": (
        "has changed inside (KeyError: \"Unrecognized options: {'_nrt'}"
    ),
    "import numba.core.caching as inner; inner.Cache._cache_file = property()\n": "numba has changed inside (property",
}


@pytest.mark.parametrize("change", CHANGED)
def test_where_numba_has_changed_inside_its_documented_ways_remain(change, tmp_path):
    found, _, said = report(first=change, NUMBA_CACHE_DIR=tmp_path)
    assert found == 2.5
    assert len(said) == 1
    assert CHANGED[change] in said[0]


# ---- two classes with one name


def penalty_class(factor: float, name: str) -> Any:
    """Return a class of penalties with this name and the fields of ``ascd.L1``."""

    class Distance(NamedTuple):
        strength: Any
        weights: Any = 1.0
        linear: Any = 0.0

        def cost(self, x: float, j: int) -> float:
            return factor * self.strength * abs(x)

        def prox(self, v: float, step: float, j: int) -> float:
            limit = factor * step * self.strength
            return v - limit if v > limit else (v + limit if v < -limit else 0.0)

        def subgradient(self, x: float, j: int) -> tuple[float, float]:
            limit = factor * self.strength
            return (limit if x > 0.0 else -limit), (-limit if x < 0.0 else limit)

        def cost_conjugate(self, u: float, j: int) -> float:
            return 0.0 if abs(u) <= factor * self.strength else math.inf

        def dual_scale(self, u: float, j: int) -> float:
            return 1.0 if abs(u) <= factor * self.strength else factor * self.strength / abs(u)

    Distance.__name__ = name
    return Distance


def test_each_class_of_a_name_runs_its_own_code(compiled):
    """numba would run that of the first; a notebook's cell that is changed and run again makes a second one."""
    made = [(1.0, "Distance"), (3.0, "Distance"), (100.0, "L1"), (7.0, "Distance")]
    kinds, columns, x = [ascd.L1, *(penalty_class(*each) for each in made)], np.arange(1), np.array([2.0])
    for _ in range(2):
        found = [cost_of(ByCoordinate(as_penalty(kind(1.0), 1)), columns, x) for kind in kinds]
        assert found == [2.0, 2.0, 6.0, 200.0, 14.0]
