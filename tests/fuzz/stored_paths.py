"""Paths over files, with less memory than a user may ask for; guesses are made wherever they can be."""

from __future__ import annotations

from collections.abc import Iterator

from ascd.solver import tuning

from .calls import Answer, call, path_case
from .cases import Case
from .placed import changed

#: The room for guesses, as a multiple of the memory; and the passes that they have to save, next to none.
MUCH, NO_PASS = 20.0, 1e-9


@call("stored_path")
def stored_path_case(case: Case) -> Iterator[Answer]:
    with changed(tuning, "GUESSES_SHARE", MUCH), changed(tuning, "WORTH_A_PASS", NO_PASS):
        found = list(path_case(case))
    yield from found
