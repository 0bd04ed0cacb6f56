"""Groups of features from a file, or from a number of neighbours.

==========================================  ==========================================================================
``5``, instead of a file                    so many neighbours each
a label a line                              one for every feature, in their order
``[[0, 3], [1, 2]]``, ``[["a"], ["b"]]``    JSON: the features of each group, by number (from 0) or by name
``{"first": ["a", "b"], "other": ["c"]}``   the same, with names of the groups
``[2, 2, 3]``                               JSON: sizes of groups of neighbours
==========================================  ==========================================================================

The name of a text column stands for all its columns of 0 and 1.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ascd.io.encoding import LabeledData, level_names


def read_groups(text: str) -> Any:
    """Return groups of features as they were written; names are not looked up yet.

    Examples
    --------
    >>> from ascd.io import read_groups
    >>> read_groups("5")
    5
    """
    path = Path(text)
    if text.isdigit() and not path.exists():
        return int(text)
    if not path.is_file():
        raise FileNotFoundError(f"--groups: no such file: {text} (a number of neighbours each would do, too)")
    content = path.read_text(encoding="utf-8-sig").strip()
    if not content:
        raise ValueError(f"--groups: {path.name} is empty")
    if content[0] not in "[{":
        return [line.strip() for line in content.splitlines() if line.strip()]
    try:
        found = json.loads(content)
    except json.JSONDecodeError as error:
        raise ValueError(f"--groups: {path.name} is not JSON: {error}") from error
    found = list(found.values()) if isinstance(found, dict) else found
    if not (_all(found, list) or _all(found, int)):
        raise ValueError(
            f"--groups: {path.name} must hold lists of features, sizes, or an object of lists; a label a line is the "
            "other form"
        )
    return found


def _all(found: Any, kind: type) -> bool:
    return bool(found) and all(isinstance(part, kind) and not isinstance(part, bool) for part in found)


def groups_of(written: Any, data: LabeledData) -> Any:
    """Return the groups as estimators take them: names become numbers of features."""
    if not (isinstance(written, list) and isinstance(written[0], list)):
        return written
    names = data.names or []
    place = {name: [j] for j, name in enumerate(names)}
    for source, values in data.recipe.levels.items():
        place.setdefault(source, [place[name][0] for name in level_names(source, values)])
    groups: list[list[Any]] = []
    owner: dict[int, int] = {}
    for number, part in enumerate(written):
        unknown = next((one for one in part if isinstance(one, str) and one not in place), None)
        if unknown is not None:
            known = ", ".join(names[:5]) + (", …" if len(names) > 5 else "") if names else "the table has no names"
            raise ValueError(f"--groups: group {number} names {unknown!r}, which is no feature here; known: {known}")
        groups.append([j for one in part for j in (place[one] if isinstance(one, str) else [one])])
        for j in groups[-1] if any(isinstance(one, str) for one in part) else ():
            if owner.setdefault(j, number) != number:
                raise ValueError(f"--groups: the feature {names[j]!r} is in group {owner[j]} and in group {number}")
    without = [name for j, name in enumerate(names) if j not in owner]
    if owner and without and all(isinstance(one, str) for part in written for one in part):
        raise ValueError(
            f"--groups: {len(without)} of {len(names)} features are in no group, the first is {without[0]!r}; add it "
            "to one, or leave it out of the fit with --without"
        )
    return groups
