"""``ascd convert``: a CSV or LIBSVM file as a folder that is read piece by piece, for data larger than memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ascd.cli.console import answer, common, say, working


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@click.option("--target", help="The target's column in a CSV file.  [target, y or label, else the last]")
@click.option("--without", multiple=True, help="A column to leave out; repeat for several.")
@click.option("--memory", help="What converting may take, as in 500MB or 2GB.  [2GB]")
@click.option("--float32", "is_single", is_flag=True, help="Write float32: half the size, seven digits.")
@click.option("--force", is_flag=True, help="Replace what is in the folder OUT.")
@common
def command(
    data: Path,
    out: Path,
    target: str | None,
    without: tuple[str, ...],
    memory: str | None,
    is_single: bool,
    force: bool,
) -> int:
    """Turn the CSV or LIBSVM file DATA into the folder OUT, once.

    Fits then read it piece by piece, and only the columns they need: ascd fit OUT --memory 2GB.
    """
    from ascd.files import convert

    with working(f"converting {data}"):
        made = convert(
            data, out, target=target, without=without, memory=memory, dtype="float32" if is_single else "float64",
            force=force,
        )  # fmt: skip
    facts: dict[str, Any] = {"samples": made.shape[0], "features": made.shape[1], "bytes": made.size, "folder": out}
    say(f"wrote {out}: {made.shape[0]:,} rows, {made.shape[1]:,} features, {made.size / 1e6:,.1f} MB")
    answer(facts)
    return 0
