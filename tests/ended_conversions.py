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
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ascd.files import convert, converting, open_data

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


def ends_at(step: int, folder: Path, how: str) -> None:
    """Let this process end before so many changes to the folder or beside it."""
    seen = itertools.count(1)

    def hook(event: str, arguments: tuple) -> None:
        if event not in STEPS or (event == "open" and not set("wxa+") & set(str(arguments[1]))):
            return
        path, is_inside = os.fsdecode(arguments[0]), event in ("os.remove", "os.rmdir") and arguments[1] != -1
        if (is_inside or path.startswith(str(folder.parent))) and next(seen) == step:
            if how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise KeyboardInterrupt

    sys.addaudithook(hook)


def held(folder: Path) -> str:
    """Which conversion's numbers are there?"""
    try:
        data = open_data(folder, memory="1MiB")
    except (ValueError, FileNotFoundError) as error:
        return f"{type(error).__name__}: {error}".replace(str(folder), "FOLDER")
    ends = itertools.pairwise(data.reader.ends.tolist())
    values = {*data.y.tolist()}.union(*(np.ravel(data.reader.read(slice(*two), None)).tolist() for two in ends))
    return {(OLD,): "old", (NEW,): "new"}.get(tuple(values), "both")


def after_each_step(outer: Path, how: str, before: str) -> Iterator[str]:
    """What the folder holds after a conversion that ended at the first step, the second, and so on to the last."""
    kept, folder, source = outer / "kept", outer / "place" / "out", write_csv(outer / "new.csv", NEW)
    if before != "nothing":
        convert(write_csv(outer / "old.csv", OLD), kept, memory="1MiB")
    if before == "first":
        as_version_1(kept)
    for step in itertools.count(1):
        shutil.rmtree(folder.parent, ignore_errors=True)
        folder.parent.mkdir()
        if kept.exists():
            shutil.copytree(kept, folder)
        child = os.fork()
        if not child:
            ends_at(step, folder, how)
            try:
                convert(source, folder, memory="1MiB", force=True)
            except KeyboardInterrupt:
                os._exit(1)
            os._exit(0)
        code = os.waitpid(child, 0)[1]
        yield held(folder)
        convert(source, folder, memory="1MiB", force=True)
        left = {path.name for path in (*folder.iterdir(), *folder.parent.iterdir())}
        if before == "first":  # these might be somebody else's
            left = {name for name in left if not name.endswith(".npy")}
        assert sorted(left)[1:] == ["index.json", "out"], left
        assert held(folder) == "new"
        if code == 0:
            break


def main(outer: Path) -> None:
    converting.PORTION = 2e-4  # groups of eight rows
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
