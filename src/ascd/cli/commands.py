"""The commands that are little more than a call of the library: ``convert``, ``demo``, ``reproduce``, ``info``."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from ascd.cli import options
from ascd.cli.console import advancing, answer, common, output, say, show_table, working
from ascd.io.tables import counted

#: Packages that ``ascd info`` lists besides the required ones.
OPTIONAL = ("click", "rich", "matplotlib", "pandas", "pyarrow", "celer", "skglm")
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
def convert(source: options.DataOptions, out: Path, room: str | None, is_single: bool, force: bool) -> None:
    """Turn the CSV file DATA into the Parquet file OUT, or the LIBSVM file DATA into the folder OUT, once.

    Fits then read OUT chunk by chunk, and only the columns they need: ascd fit OUT --memory 2GB.
    """
    from ascd.io import converting
    from ascd.io.reading import guess_format

    options.check_folder(out)
    source._replace(memory=room).check()
    with options.as_usage():
        converting.check_conversion(source.data, source.format or guess_format(source.data), out, force)
    choices = source.choices
    notes: list[str] = []
    with working("converting"):
        made = converting.convert(
            source.data, out, target=source.target, without=choices.without, memory=room,
            dtype="float32" if is_single else "float64", dialect=source.dialect, drop=choices.drop,
            impute=choices.impute, force=force, format=source.format, note=notes.append,
        )  # fmt: skip
    for note in notes:
        say(f"{source.data.name}: {note}")
    rows, features = made.shape
    shape = f"{counted(rows, 'row')}, {counted(features, 'feature')}"
    say(f"wrote {out}: {shape}, {made.size / 1e6:,.1f} MB")
    answer({"samples": rows, "features": features, "bytes": made.size, "out": out, "reading": notes})


@click.command()
@click.option("--epochs", type=click.IntRange(1), default=200, show_default=True, help="Most passes of n steps a rule.")
@options.folder_option("demo_output")
@common
def demo(epochs: int, out: Path) -> None:
    """Fit a wide Lasso with its proof, race the rules, write a report to open in a browser."""
    from ascd._core.timing import A_MOMENT, Stopwatch
    from ascd.reproduction import demo

    options.check_folder(out)
    stopwatch = Stopwatch()
    with working("fitting a Lasso with 20,000 columns"):
        fits = demo.fits()
    show_table(demo.FIT_HEAD, fits, title=demo.FIT_TITLE)
    say("\nThe paper's synthetic Lasso (d = 1000, n = 5000, λ = λ_max/20): what it takes to come within 1e-06 of the")
    say("minimum, by four selection rules and by the library's solver.\n")
    outcome = demo.contest(epochs, show=advancing)
    show_table(demo.RACE_HEAD, outcome.rows())
    say(f"\n{outcome.conclusion()}")
    files = demo.publish(outcome, fits, out)
    seconds, compiling = stopwatch.seconds, stopwatch.compile_seconds
    once = f", and {compiling:.1f} s to compile, or to load what is compiled" if compiling > A_MOMENT else ""
    say(f"\nall this took {seconds:.1f} s{once}")
    say(f"open {files[0].resolve().as_uri()}")
    times = {"seconds": seconds, "compile_seconds": compiling}
    answer({"fits": fits, **outcome.plain(), **times, "files": files})


def _check_figures(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    from ascd.reproduction.panels import parts_of

    try:
        parts_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from error
    return value


def complete_figures(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of figures and panels that begin so, for tab completion."""
    from ascd.reproduction.panels import FIGURES, PANELS

    return [name for name in (*FIGURES, *PANELS) if name.startswith(incomplete)]


@click.command()
@click.argument("figures", nargs=-1, callback=_check_figures, shell_complete=complete_figures)
@click.option("--quick", "scale", flag_value="quick", default="quick", help="Reduced sizes, minutes (the default).")
@click.option("--full", "scale", flag_value="full", help="The paper's sizes, under an hour on two cores.")
@click.option("--data", help="Text for Fig. 3: rcv1, or a LIBSVM, CSV, parquet or npz file; generated by default.")
@options.folder_option("reproduction")
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Processes side by side.")
@click.option("--only-publish", is_flag=True, help="Make pictures, report and claims from the results that are there.")
@click.option("--pictures/--no-pictures", default=True, help="PNG and SVG files beside the report.")
@common
def reproduce(
    figures: tuple[str, ...], scale: str, data: str | None, out: Path, jobs: int, only_publish: bool, pictures: bool
) -> None:
    """Run the paper's figures and test its claims.

    FIGURES are 1, 2, 3, 4, B (beyond the paper), S (open parameters), R (rows sampled), T (theorems) or single panels
    like 2b; all by default.  An interrupted run continues where it stopped, and figures that are run later join those
    that are there.  Results, pictures, claims and a report for the browser are written to the folder --out.
    """
    from ascd.reproduction.claims import UNTESTED
    from ascd.reproduction.reproduce import publish, run

    folder = out / scale
    results = folder / "results.json"
    if only_publish and figures:
        raise click.UsageError("--only-publish takes what the results file holds: name no FIGURES")
    if only_publish and not results.is_file():
        raise FileNotFoundError(f"no such file: {results}; run without --only-publish first")
    options.check_folder(out)
    if not only_publish:
        log = None if output().json else lambda line: click.echo(line, err=True)  # standard output is for the result
        try:
            results = run(figures, scale, folder, data, jobs, log)
        except KeyboardInterrupt:
            done = len(list((folder / "runs").glob("*.json")))
            click.echo(f"ascd: {done} finished runs are kept: the same command continues from there", err=True)
            raise
    made = publish(results, folder, pictures)
    tested = [claim for claim in made["claims"] if claim.verdict != UNTESTED]
    show_table(("claim", "verdict"), [(f"{claim.where}: {claim.claim}", claim.verdict) for claim in tested])
    say(f"\n{len(tested)} of {len(made['claims'])} claims tested by these figures")
    say(f"report   {made['report']}\nclaims   {made['claims_file']}\nresults  {results}")
    claims = [claim._asdict() for claim in made["claims"]]
    answer({"report": made["report"], "results": results, "figures": made["figures"], "claims": claims})


def facts() -> dict[str, Any]:
    """Return versions, threads, and where compiled kernels are kept, as numba itself says, and how much."""
    from threadpoolctl import threadpool_info

    import ascd
    from ascd._core.jit import cache_folders
    from ascd.reproduction.page import versions

    for name in ascd.__all__:  # kernels are known once the files that define them are imported
        getattr(ascd, name)
    folders = cache_folders()
    files = [path for folder in folders for path in Path(folder).glob("*.nb[ic]")]
    cache = {
        "kept": "on disk" if folders else "not on disk",
        "folder": os.path.commonpath(folders) if folders else None,
        "files": len(files),
        "megabytes": round(sum(file.stat().st_size for file in files) / 2**20, 1),
    }
    there = {found.metadata["Name"] for found in metadata.distributions()}
    optional = {name: metadata.version(name) if name in there else "not installed" for name in OPTIONAL}
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    pools = {f"{pool['user_api']} ({pool['internal_api']})": pool["num_threads"] for pool in threadpool_info()}
    return {"versions": versions(), "optional": optional, "cache": cache,
            "threads": {"processors": processors, **pools}}  # fmt: skip


@click.command()
@common
def info() -> None:
    """Versions, compiled-code cache and threads."""
    found = facts()
    for title, rows in found.items():
        say(title)
        for name, value in rows.items():
            say(f"  {name:<24} {value}")
    answer(found)
