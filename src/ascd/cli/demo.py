"""``ascd demo``: what the library does, in a minute and without a network."""

from __future__ import annotations

from pathlib import Path

import click

from ascd.cli.console import advancing, answer, common, say, show_table, working


@click.command()
@click.option("--epochs", type=click.IntRange(1), default=20, show_default=True, help="Passes of n steps in the race.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("demo_output"), show_default=True)
@common
def command(epochs: int, out: Path) -> None:
    """Fit on embedded data, race the rules, write a report to open in a browser."""
    from ascd.experiments import demo

    with working("fitting a Lasso to the diabetes data"):
        fits = demo.fits()
    show_table(demo.FIT_HEAD, fits, title="A Lasso on scikit-learn's diabetes data, with proof")
    say("\nThe paper's synthetic Lasso, d = 1000, n = 5000, λ = λ_max/20, by four selection rules:\n")
    outcome = demo.contest(epochs, show=advancing)
    show_table(("method", "suboptimality", "columns read / n", "seconds", "active set"), outcome.rows())
    files = demo.publish(outcome, fits, out)
    say(f"\nopen {files[0].resolve().as_uri()}")
    answer({"fits": fits, **outcome.plain(), "files": files})
