"""``ascd race``: rules × oracles × steepnesses on the user's own data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ascd.cli.console import advancing, answer, common, say, show_table
from ascd.cli.options import Named, data_options, numeric_target, read_data
from ascd.racing import CONTESTS, entrants, make_problem, race


@click.command()
@data_options
@click.option("--problem", type=click.Choice(CONTESTS), default="lasso", show_default=True)
@click.option("--strength", default="", help="λ, or max/20 for a part of λ_max; C for the SVM.  [max/20, or 1]")
@click.option(
    "--rule", "rules", multiple=True, type=Named("rule"), help="Repeat for several.  [uniform, a-ascd, steepest]"
)
@click.option("--oracle", "oracles", multiple=True, type=Named("oracle"), help="Repeat for several.  [norm]")
@click.option("--steepness", "scores", multiple=True, type=Named("steepness"), help="Repeat for several.  [gs-s]")
@click.option("--step", type=Named("step"), default="coordinate", show_default=True)
@click.option("--init", type=click.Choice(["gradient", "none"]), default="gradient", show_default=True)
@click.option("--epochs", type=click.IntRange(1), default=20, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("race"), show_default=True)
@common
def command(
    problem: str, strength: str, rules: tuple[str, ...], oracles: tuple[str, ...], scores: tuple[str, ...], step: str,
    init: str, epochs: int, seed: int, out: Path, **data: Any,
) -> None:  # fmt: skip
    """Race rules, oracles and steepnesses on your own data.

    DATA is a LIBSVM, CSV, parquet or npz file, or the word "synthetic" or "text" for generated data.  Parts take
    literal arguments: --oracle "simulated(0.1)" --rule "block(size=16)".
    """
    table, label = read_data(**data)
    if problem not in ("logistic", "svm"):
        numeric_target(table)
    chosen = entrants(rules or ("uniform", "a-ascd", "steepest"), oracles or ("norm",), scores or ("gs-s",))
    contest = make_problem(table.X, table.y, problem, strength)
    outcome = race(contest, chosen, step, init, epochs, seed, show=advancing)
    show_table(("method", "suboptimality", "columns read / n", "seconds", "active set"), outcome.rows())
    say(f"\nF* ≤ {outcome.best:.8g}, certified within {outcome.gap:.2g}")
    files = outcome.publish(out, f"{problem} on {label}", pictures=_has_matplotlib())
    say("\n".join(f"wrote {path}" for path in files))
    answer({**outcome.plain(), "files": files})


def _has_matplotlib() -> bool:
    from importlib.util import find_spec

    return find_spec("matplotlib") is not None
