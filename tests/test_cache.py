"""The cache on disk: hit by the next process, missed after any edit, never filled with somebody else's types."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path

import pytest
from copies import OTHERS, copy_of_package, ended

import ascd
from ascd._core import jit
from ascd._core.cache import NotKept, open_folder
from ascd._core.compilers import _named_apart
from ascd._core.tuning import SECONDS_KEPT
from ascd.problem.terms import cost_of, largest_violation

PACKAGE = Path(ascd.__file__).parent

#: Two kernels; the problem is set up without compiling.
SCRIPT = """
import json, numpy as np, ascd
from ascd._core.jit import debugging
from ascd.problem.terms import cost_of, largest_violation
with debugging(True):
    problem = ascd.Problem(np.eye(2), [3.0, 1.0], penalty={penalty})
penalty, columns, x = problem.penalty, np.arange(2), np.array([2.0, 0.5])
objective = 0.625 + cost_of(penalty, columns, x)
largest_violation(penalty, columns, x, x)
stats = [kernel.stored.stats for kernel in (cost_of, largest_violation)]
hits, misses = ([sum(getattr(s, name).values()) for s in stats] for name in ("cache_hits", "cache_misses"))
print(json.dumps([objective, hits, misses]))
"""

THEIRS = """
from typing import NamedTuple
import ascd

class Theirs(NamedTuple):
    strength: float
    def cost(self, x, j): return self.strength * x * x
    def prox(self, v, step, j): return v / (1.0 + 2.0 * step * self.strength)
    def subgradient(self, x, j): return 2.0 * self.strength * x, 2.0 * self.strength * x
    def cost_conjugate(self, u, j): return 0.25 * u * u / self.strength
    def dual_scale(self, u, j): return 1.0
"""


def python(code, cache, *path, before=()):
    """What a process of its own prints."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "NUMBA_DISABLE_JIT": "0"}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, path or [PACKAGE.parent]))
    code = f"import warnings\nwarnings.simplefilter('error')\n{code}"
    exit_code, out, error = ended(code, environment, OTHERS, before)
    assert exit_code == 0, error
    return out


def report(cache, *path, penalty="ascd.L1(1.0)"):
    objective, hits, misses = json.loads(python(SCRIPT.format(penalty=penalty), cache, *path))
    return objective, hits, misses


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
    assert report(cache, site) == (3.125, [0, 0], [1, 1])
    return cache


def test_the_second_process_compiles_nothing_and_a_foreign_type_leaves_no_trace(site, filled, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "their_parts.py").write_text(THEIRS)
    before = contents(filled)
    assert report(filled, site) == (3.125, [1, 1], [0, 0])
    foreign = '__import__("their_parts").Theirs(1.0)'
    assert report(filled, site, theirs, penalty=foreign) == (4.875, [0, 0], [0, 0])
    assert contents(filled) == before  # by which a process was the second just now


def test_an_edit_of_another_file_is_a_miss_and_not_a_stale_answer(site, filled, tmp_path):
    """In the same cache; and back again, where the former answer is still kept."""
    cache = tmp_path / "cache"
    shutil.copytree(filled, cache)
    penalties = site / "ascd" / "problem" / "penalties" / "by_coordinate.py"
    source = penalties.read_text()
    once = "cost += l1 * abs(x)"
    assert source.count(once) == 1
    try:
        penalties.write_text(source.replace(once, "cost += 2.0 * l1 * abs(x)"))
        assert report(cache, site) == (5.625, [0, 0], [1, 1])
    finally:
        penalties.write_text(source)
    assert report(cache, site) == (3.125, [1, 1], [0, 0])


def test_two_processes_that_compile_at_once_do_not_mix_up_their_files(tmp_path):
    """The second reads the index before the first writes it, and writes while the first does.

    What the index loses is compiled again; numba's own names would give the second the code of the first.
    """
    from numba.core.caching import IndexDataCacheFile

    kind = _named_apart(IndexDataCacheFile)
    first, second, later = (kind(str(tmp_path), "kernel-1.py311", "stamp") for _ in range(3))
    write = first._save_index

    def write_and_wait(overloads):
        write(overloads)
        second._load_index = dict  # what it has read is empty
        second.save("second", "code of the second")

    first._save_index = write_and_wait
    first.save("first", "code of the first")
    assert later.load("second") == "code of the second"
    assert later.load("first") is None
    later.save("first", "code of the first")
    assert [later.load(key) for key in ("first", "second")] == ["code of the first", "code of the second"]


def test_kernels_name_their_files_apart(filled):
    names = [path.name for path in filled.rglob("*.nbc")]
    assert names
    assert all(re.fullmatch(r".+-\d+\.py\d+\.[0-9a-f]{32}\.nbc", name) for name in names)


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
    assert report(tmp_path, site)[1:] == ([1, 1], [0, 0])
    assert [path.exists() for path in (old, young, other, current)] == [False, True, True, True]


def test_all_kernels_of_a_folder_look_through_it_once(tmp_path, monkeypatch):
    looked = []
    monkeypatch.setattr("ascd._core.cache.remove_stale", looked.append)
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    dispatchers = [jit._make_dispatcher(each.py_func, True, False) for each in (cost_of, largest_violation)]
    (folder,) = {each.stats.cache_path for each in dispatchers}
    assert Path(folder).is_relative_to(tmp_path)
    assert looked == [folder]


def test_a_folder_that_cannot_be_written_is_not_taken_for_one_that_can(tmp_path):
    (tmp_path / "file").touch()
    for _ in range(2):
        with pytest.raises(NotKept, match="cannot be written"):
            open_folder(str(tmp_path / "file" / "folder"))


def test_importing_the_library_does_not_import_numba(tmp_path):
    code = (
        "import sys, ascd; print(sorted({'numba', 'llvmlite', 'sklearn', 'matplotlib', 'pandas'} & set(sys.modules)))"
    )
    assert python(code, tmp_path, before=["env"]).strip() == "[]"


def test_three_modules_only_import_numba():
    imports = re.compile(r"^\s*(import|from)\s+(numba|llvmlite)\b", re.MULTILINE)
    found = {path.name for path in PACKAGE.rglob("*.py") if imports.search(path.read_text())}
    assert found == {"compilers.py", "jit.py", "scalars.py"}


EDITS = """
from importlib import resources
from pathlib import Path
import ascd
from ascd._core.cache import WITHOUT_KERNELS, _sources, digest

def changed():
    digest.cache_clear()
    return digest() not in seen and not seen.add(digest())

root = Path(ascd.__file__).parent
seen, sources = set(), sorted(root.rglob("*.py"))
assert changed() and not changed() and len(sources) > 100
ends = {one for some in (sources, sources[::-1]) for one in {path.parent: path for path in some}.values()}
for path in ends:
    path.write_bytes(path.read_bytes() + b"#")
    assert changed() == (path.relative_to(root).parts[0] not in WITHOUT_KERNELS), path
sources = [path for path in sources if path.relative_to(root).parts[0] not in WITHOUT_KERNELS]
assert len(ends) > 30 and len(sources) > 100
contents = {path.relative_to(root).as_posix(): path.read_bytes() for path in sources}
assert dict(_sources(resources.files("ascd"))) == contents, "all files are in it, and nothing else"
sources[-1].rename(sources[-1].with_name("renamed.py"))
assert changed()
sources[0].parent.joinpath("added.py").touch()
assert changed()
sources[0].parent.joinpath("notes.txt").touch()
assert not changed()
"""

MOVED = """
import ascd._core.cache, ascd.deep.er._cache
assert ascd.deep.er._cache.digest() == ascd._core.cache.digest()
"""


def test_an_edit_of_any_file_that_kernels_reach_changes_the_digest_wherever_it_is_computed(tmp_path):
    copy_of_package(tmp_path)
    deeper = tmp_path / "ascd" / "deep" / "er"
    deeper.mkdir(parents=True)
    for folder in (deeper, deeper.parent):
        (folder / "__init__.py").touch()
    shutil.copy(PACKAGE / "_core" / "cache.py", deeper / "_cache.py")
    python(MOVED + EDITS, tmp_path, tmp_path)
