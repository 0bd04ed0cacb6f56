"""Conversions that end at each of their steps, by Ctrl-C or killed, and what the folder holds then: old, new or both.

``python tests/ended_conversions.py FOLDER`` prints a line for each way to end and each conversion from before, with a
word for every step.  A step is a file or folder that is about to be made, renamed or removed, as Python's audit events
tell.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from ascd.io import convert, open_data, portions

STEPS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"}
HOW, BEFORE = ("ctrl-c", "kill"), ("nothing", "first", "now")
HEIGHT, OLD, NEW = 20, 1.0, 2.0


def write_csv(path: Path, value: float) -> Path:
    path.write_text("a,b,y\n" + f"{value},{value},{value}\n" * HEIGHT)
    return path


def as_version_1(folder: Path) -> None:
    """As conversions were at first: everything beside the index."""
    index = json.loads((folder / "index.json").read_text())
    place = folder / index.pop("data")
    for path in place.iterdir():
        path.replace(folder / path.name)
    place.rmdir()
    (folder / "index.json").write_text(json.dumps({**index, "version": 1}))


class Steps:
    """Calls ``at_step`` with the number of each change that is about to be made inside a folder."""

    def __init__(self, inside: Path, at_step: Callable[[int], None]) -> None:
        self.inside, self.at_step, self.seen, self.is_on = str(inside), at_step, itertools.count(1), True
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple) -> None:
        if not self.is_on or event not in STEPS or (event == "open" and not set("wxa+") & set(str(arguments[1]))):
            return
        path, is_inside = os.fsdecode(arguments[0]), event in ("os.remove", "os.rmdir") and arguments[1] != -1
        if is_inside or path.startswith(self.inside):
            self.is_on = False  # what is done at a step is none
            self.at_step(next(self.seen))
            self.is_on = True


def place_at(outer: Path, step: int | str) -> Path:
    return outer / "steps" / str(step)


def interrupted(outer: Path, source: Path) -> None:
    """Leave what a conversion leaves that Ctrl-C ends at the first step, the second, and so on to the last."""
    for last in itertools.count(1):
        place = place_at(outer, last)
        begin(outer, place)

        def stop(step: int, last: int = last) -> None:
            if step == last:
                raise KeyboardInterrupt

        steps = Steps(place, stop)
        try:
            convert(source, place / "out", memory="1MiB", force=True)
            return
        except KeyboardInterrupt:
            steps.is_on = False


def killed(outer: Path, source: Path) -> None:
    """The same for a process that is killed: what it leaves is what is there at that moment."""
    place = place_at(outer, "now")
    begin(outer, place)
    steps = Steps(place, lambda step: shutil.copytree(place, place_at(outer, step)))
    convert(source, place / "out", memory="1MiB", force=True)
    steps.is_on = False
    place.rename(place_at(outer, next(steps.seen)))


def begin(outer: Path, place: Path) -> None:
    """What is there before the conversion."""
    place.mkdir(parents=True)
    if (outer / "kept").exists():
        shutil.copytree(outer / "kept", place / "out")


def held(folder: Path) -> str:
    """Which conversion's numbers are there?"""
    try:
        data = open_data(folder, memory="1MiB")
    except (ValueError, FileNotFoundError) as error:
        return f"{type(error).__name__}: {error}".replace(str(folder), "FOLDER")
    ends = itertools.pairwise(data.reader.ends.tolist())
    values = {*data.y.tolist()}.union(*(np.ravel(data.reader.read(slice(*two), None)).tolist() for two in ends))
    return {(OLD,): "old", (NEW,): "new"}.get(tuple(values), "both")


def leave_each_step(outer: Path, how: str, before: str, source: Path) -> None:
    """One folder for each step; conversions have groups of eight rows."""
    kept, portions.PORTION = outer / "kept", 2e-4
    if before != "nothing":
        convert(write_csv(outer / "old.csv", OLD), kept, memory="1MiB")
    if before == "first":
        as_version_1(kept)
    {"ctrl-c": interrupted, "kill": killed}[how](outer, source)


def after_each_step(outer: Path, how: str, before: str) -> Iterator[str]:
    """What the folder holds after a conversion that ended at the first step, the second, and so on to the last."""
    source = write_csv(outer / "new.csv", NEW)
    child = os.fork()  # drafts of a process that lives would be left alone
    if not child:
        try:
            leave_each_step(outer, how, before, source)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0, "the conversions do not end"
    for place in sorted((outer / "steps").iterdir(), key=lambda path: int(path.name)):
        folder = place / "out"
        yield held(folder)
        convert(source, folder, memory="1MiB", force=True)
        left = {path.name for path in (*folder.iterdir(), *folder.parent.iterdir())}
        if before == "first":  # these might be somebody else's
            left = {name for name in left if not name.endswith(".npy")}
        assert sorted(left)[1:] == ["index.json", "out"], left
        assert held(folder) == "new"


def main(outer: Path) -> None:
    for how, before in itertools.product(HOW, BEFORE):
        (outer / how / before).mkdir(parents=True)
        words = []
        try:
            words.extend(after_each_step(outer / how / before, how, before))
        except AssertionError as error:
            words.append(f"what is left is wrong: {error}")
        print(json.dumps([how, before, words]), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
