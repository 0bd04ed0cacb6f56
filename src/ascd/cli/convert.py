"""``ascd convert``: a CSV or LIBSVM file as data that are read chunk by chunk, for data larger than memory."""

from __future__ import annotations

from pathlib import Path

import click

from ascd.cli import options
from ascd.cli.console import answer, common, say, working
from ascd.io.columns import counted
from ascd.io.converting import check_conversion, convert
from ascd.io.reading import guess_format

IMPUTE = options.of_columns(
    "--impute", type=click.Choice(["mean", "zero"]), help="Fill missing values of a CSV file with this."
)


@click.command(cls=options.GroupedCommand)
@options.data_options(*options.FILE, options.TARGET, options.WITHOUT, options.DROP, IMPUTE)
@click.argument("out", type=click.Path(path_type=Path))
@options.option("--memory", "room", help="What converting may take, as in 500MB or 2GB.  [2GB]")
@options.option("--float32", "is_single", is_flag=True, help="Write float32: half the size, seven digits.")
@options.option("--force", is_flag=True, help="Replace what is at OUT.")
@common
def command(source: options.DataOptions, out: Path, room: str | None, is_single: bool, force: bool) -> int:
    """Turn the CSV file DATA into the Parquet file OUT, or the LIBSVM file DATA into the folder OUT, once.

    Fits then read OUT chunk by chunk, and only the columns they need: ascd fit OUT --memory 2GB.
    """
    options.announce_folder(out, "")
    source._replace(memory=room).check()
    with options.as_usage():
        check_conversion(source.data, source.format or guess_format(source.data), out, force)
    notes: list[str] = []
    with working(f"converting {source.data}"):
        made = convert(
            source.data, out, target=source.target, without=source.without, memory=room,
            dtype="float32" if is_single else "float64", dialect=source.dialect, na=source.na, drop=source.drop,
            impute=source.impute or "", force=force, format=source.format, note=notes.append,
        )  # fmt: skip
    for note in notes:
        say(f"{source.data.name}: {note}")
    rows, features = made.shape
    say(f"wrote {out}: {counted(rows, 'row')}, {counted(features, 'feature')}, {made.size / 1e6:,.1f} MB")
    answer({"samples": rows, "features": features, "bytes": made.size, "out": out, "reading": notes})
    return 0
