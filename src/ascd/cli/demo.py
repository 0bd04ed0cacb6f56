"""``ascd demo``: what the library does, in half a minute and without a network."""

from __future__ import annotations

from pathlib import Path

import click

from ascd.cli.console import advancing, answer, common, say, show_table, working
from ascd.cli.options import announce_folder, folder_option


@click.command()
@click.option("--epochs", type=click.IntRange(1), default=200, show_default=True, help="Most passes of n steps a rule.")
@folder_option("demo_output")
@common
def command(epochs: int, out: Path) -> None:
    """Fit a wide Lasso with its proof, race the rules, write a report to open in a browser."""
    from ascd._core.timing import Stopwatch
    from ascd._core.tuning import A_MOMENT
    from ascd.reproduction import demo

    is_new = announce_folder(out)
    stopwatch = Stopwatch()
    with working("fitting a Lasso with 20,000 columns"):
        fits = demo.fits()
    show_table(demo.FIT_HEAD, fits, title=demo.FIT_TITLE)
    say("\nThe paper's synthetic Lasso (d = 1000, n = 5000, λ = λ_max/20): what it takes to come within 1e-06 of the")
    say("minimum, by four selection rules and by the library's solver.\n")
    outcome = demo.contest(epochs, show=advancing)
    show_table(outcome.head, outcome.rows())
    say(f"\n{outcome.conclusion()}")
    files = demo.publish(outcome, fits, out)
    seconds, compiling = stopwatch.seconds, stopwatch.compile_seconds
    once = f", and {compiling:.1f} s to compile, or to load what is compiled" if compiling > A_MOMENT else ""
    say(f"\nall this took {seconds:.1f} s{once}")
    say(f"{'created the folder ' + str(out) + '; ' if is_new else ''}open {files[0].resolve().as_uri()}")
    times = {"seconds": seconds, "compile_seconds": compiling}
    answer({"fits": fits, **outcome.plain(), **times, "files": files})
