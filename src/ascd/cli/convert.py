"""``ascd convert``: a CSV or LIBSVM file as a folder that is read piece by piece, for data larger than memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ascd.cli.console import answer, common, say, working
from ascd.cli.options import COLUMNS, FILE, Source, with_source
from ascd.cli.places import announce_folder
from ascd.cli.unused import refuse_unused
from ascd.cli.usage import as_usage, check_source
from ascd.files import guess_format
from ascd.files.counting import counted


@click.command()
@with_source(*FILE, COLUMNS[0], COLUMNS[1])
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@click.option("--memory", help="What converting may take, as in 500MB or 2GB.  [2GB]")
@click.option("--float32", "is_single", is_flag=True, help="Write float32: half the size, seven digits.")
@click.option("--force", is_flag=True, help="Replace what is in the folder OUT.")
@common
def command(source: Source, out: Path, is_single: bool, force: bool) -> int:
    """Turn the CSV or LIBSVM file DATA into the folder OUT, once.

    Fits then read it piece by piece, and only the columns they need: ascd fit OUT --memory 2GB.
    """
    from ascd.files.converting import check_convertible, convert

    is_new = announce_folder(out, "")
    check_source(source)
    with as_usage():
        check_convertible(source.data, source.format or guess_format(source.data))
    refuse_unused(source._replace(asked=source.asked - {"memory"}))
    notes: list[str] = []
    with working(f"converting {source.data}"):
        made = convert(
            source.data, out, target=source.target, without=source.without, memory=source.memory,
            dtype="float32" if is_single else "float64", dialect=source.dialect, na=source.na, force=force,
            format=source.format, noted=notes.append,
        )  # fmt: skip
    notes = list(dict.fromkeys(notes))  # a file that was begun anew has told some twice
    for note in notes:
        say(f"{source.data.name}: {note}")
    if is_new:
        say(f"created the folder {out}")
    facts: dict[str, Any] = {
        "samples": made.shape[0],
        "features": made.shape[1],
        "bytes": made.size,
        "folder": out,
        "reading": notes,
    }
    say(f"wrote {out}: {counted(made.shape[0], 'row')}, {counted(made.shape[1], 'feature')}, {made.size / 1e6:,.1f} MB")
    answer(facts)
    return 0
