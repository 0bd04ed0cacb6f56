"""The house: dependencies lead downward only, there are no circles, and what stands at the top level is documented."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import ascd
from ascd._core.jit import WITHOUT_KERNELS

ROOT = Path(ascd.__file__).parent
#: Every package and public module; each may import those before it.
FLOORS = (
    "protocols", "_core", "plotting", "matrix", "problem", "results", "engine", "solver", "estimators",
    "io", "reproduction", "cli", "__main__",
)  # fmt: skip


def modules() -> dict[str, Path]:
    names = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        names[".".join(("ascd", *(part for part in parts if part != "__init__")))] = path
    return names


@cache
def imports(module: str) -> set[str]:
    """Modules of ours that one imports, at its top or inside functions."""
    found = set()
    for node in ast.walk(ast.parse(KNOWN[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in KNOWN else node.module)
    return found & set(KNOWN)


KNOWN = modules()


def floor_of(name: str) -> str:
    return name.split(".")[1] if "." in name else name


def test_every_package_has_its_floor():
    assert {floor_of(name) for name in KNOWN} - {"ascd"} == set(FLOORS)


@pytest.mark.parametrize("floor", FLOORS)
def test_dependencies_lead_downward_only(floor):
    above = set(FLOORS[FLOORS.index(floor) + 1 :])
    wrong = {
        f"{name} imports {target}"
        for name in KNOWN
        for target in imports(name)
        if floor_of(name) == floor and floor_of(target) in above
    }
    assert not wrong


def test_there_are_no_circles():
    state: dict[str, str] = {}

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert state.get(name) != "open", f"circle: {' -> '.join((*way[way.index(name) :], name))}"
        if name in state:
            return
        state[name] = "open"
        for target in imports(name):
            if not (target == "ascd" or name.startswith(f"{target}.")):  # a package's own file runs first anyway
                visit(target, (*way, name))
        state[name] = "closed"

    for name in KNOWN:
        visit(name, ())


def test_no_kernel_can_reach_what_the_digest_leaves_out():
    """Else an edit there would leave stale kernels on disk."""
    left_out = {name.removesuffix(".py") for name in WITHOUT_KERNELS}
    assert left_out <= set(FLOORS)
    made = {name for name in KNOWN if "ascd._core.jit" in imports(name)}  # kernels, and parts that kernels call
    made -= {"ascd.cli.commands"}  # asks where compiled code is kept
    assert len(made) > 30
    reached, waiting = set(), list(made)
    while waiting:
        name = waiting.pop()
        if name not in reached and name != "ascd":  # the package's own file imports the estimators on demand
            reached.add(name)
            waiting += imports(name)
    assert not {name for name in reached if floor_of(name) in left_out}
