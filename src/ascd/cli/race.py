"""``ascd race``: rules × oracles × steepnesses on the user's own data."""

from __future__ import annotations

from pathlib import Path

import click

from ascd._core.tuning import A_MOMENT
from ascd.cli.console import advancing, answer, common, say, show_table
from ascd.cli.options import Named, Number, Source, data_options
from ascd.cli.places import announce_folder, folder_option, wrote
from ascd.cli.reading import numeric_target, read_data, tell_reading
from ascd.cli.unused import refuse_without
from ascd.cli.usage import as_usage
from ascd.files.mixed import Mixed
from ascd.racing import CONTESTS, check_strength, entrants, make_problem, race


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
@click.option("--epochs", type=click.IntRange(1), default=100, show_default=True, help="Most passes of n steps a rule.")
@click.option(
    "--accuracy",
    type=Number(0, 1, min_open=True, max_open=True),
    default=1e-6,
    show_default=True,
    help="A run ends at this suboptimality, relative to the start.",
)
@click.option("--beside/--alone", default=True, help="Run ascd.solve and scikit-learn, too (the default).")
@click.option("--seed", type=int, default=0, show_default=True)
@folder_option("race")
@common
def command(
    source: Source, problem: str, strength: str, rules: tuple[str, ...], oracles: tuple[str, ...],
    scores: tuple[str, ...], step: str, init: str, epochs: int, accuracy: float, beside: bool, seed: int, out: Path,
) -> None:  # fmt: skip
    """Race rules, oracles and steepnesses on your own data.

    DATA is a LIBSVM, CSV, parquet or npz file, or the word "synthetic" or "text" for generated data.  Parts take
    literal arguments: --oracle "simulated(0.1)" --rule "block(size=16)".
    """
    is_new = announce_folder(out)
    with as_usage():
        chosen = entrants(rules or ("uniform", "a-ascd", "steepest"), oracles or ("norm",), scores or ("gs-s",))
        check_strength(problem, strength)
    has_bounds = not all(entrant.blind for entrant in chosen.values())
    for option in ("oracles", "scores", "init"):
        refuse_without(option, "a rule that looks at gradients, such as --rule a-ascd", has_bounds)
    table, label = read_data(source)
    if problem not in ("logistic", "svm"):
        numeric_target(table)
    if isinstance(table.X, Mixed):  # the rules of the paper, and scikit-learn, read columns of arrays
        table = table._replace(X=table.X.to_numpy())
    contest = make_problem(table.X, table.y, problem, strength)
    tell_reading(table, label)
    others = (table.X, problem) if beside else None
    outcome = race(contest, chosen, step, init, epochs, seed, advancing, accuracy, others)
    show_table(outcome.head, outcome.rows())
    say(f"\n{outcome.conclusion()}")
    spent = outcome.compile_seconds
    once = f"; {spent:.1f} s to compile, or to load what is compiled, are not counted" if spent > A_MOMENT else ""
    say(f"{outcome.known()}{once}")
    files = outcome.publish(out, f"{problem} on {label}", pictures=_has_matplotlib())
    say(wrote(files, out, is_new))
    answer({**outcome.plain(), "files": files})


def _has_matplotlib() -> bool:
    from importlib.util import find_spec

    return find_spec("matplotlib") is not None
