"""The stored objectives, supports, reads and statuses: whoever changes them does so deliberately (``make golden``)."""

from __future__ import annotations

import copy

import golden_masters as golden
import pytest
from problems import CASES

#: ``solve`` uses the machine's linear algebra: rounding may cost or spare one look at every column.
SLACK = {"solve": 1, "minimize": 0}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("master", golden.MASTERS)
def test_nothing_has_changed(master, name, long_way):
    new = golden.MASTERS[master](CASES[name])
    assert list(golden.differences(golden.stored(master)[name], new, CASES[name].n, SLACK[master])) == []


@pytest.mark.parametrize("master", golden.MASTERS)
def test_every_problem_and_only_those_are_stored(master):
    assert list(golden.stored(master)) == list(CASES)


def test_a_change_is_told():
    name = "squared, wide, l1"
    old = golden.stored("minimize")[name]
    run = next(iter(old))
    for key, value in {"objective": 1.0 + 3e-9, "support": [], "reads": 1, "status": "diverged"}.items():
        new = copy.deepcopy(old)
        new[run][key] = old[run][key] * value if key == "objective" else value
        assert [line.startswith(f"{run}: {key} ") for line in golden.differences(old, new, 9, 0)] == [True]
    assert list(golden.differences(old, old, 9, 0)) == []
    assert list(golden.differences(old, {}, 9, 0)) != []
