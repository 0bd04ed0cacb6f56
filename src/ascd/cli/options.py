"""Options and arguments that several commands share: the data file, and parts by their names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
import numpy as np
from click.shell_completion import CompletionItem

from ascd.files import FORMATS, Table, read_table

Command = TypeVar("Command", bound=Callable[..., Any])
GENERATED = ("synthetic", "text")


class Loaded(NamedTuple):
    """A table and where it is from."""

    table: Table
    label: str


class Named(click.ParamType):  # type: ignore[type-arg]  # generic in new versions of click only
    """A part's name, with literal arguments in parentheses; completed and checked by the library's tables."""

    def __init__(self, role: str) -> None:
        self.name = self.role = role

    def names(self) -> list[str]:
        from ascd.engine.oracles import ORACLES
        from ascd.engine.rules import RULES
        from ascd.engine.steepness import STEEPNESS
        from ascd.engine.steps import STEPS

        return list({"rule": RULES, "oracle": ORACLES, "steepness": STEEPNESS, "step": STEPS}[self.role])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from ascd._base.checks import unknown_name

        names = self.names()
        if str(value).partition("(")[0] not in names:
            self.fail(str(unknown_name(value, self.role, names)), param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in self.names() if name.startswith(incomplete)]


def data_options(command: Command) -> Command:
    """The argument DATA and the options that say how to read it."""
    words = "  A column of a CSV or parquet file.  [target, y or label, else the last]"
    command = click.option("--target", help=f"The target's name.{words}")(command)
    command = click.option("--format", type=click.Choice(list(FORMATS)), help="Of DATA.  [told by its name]")(command)
    return click.argument("data", type=click.Path(path_type=Path))(command)


def read_data(data: Path, target: str | None = None, format: str | None = None) -> Loaded:
    """Read the data file, or generate what a word stands for."""
    if str(data) in GENERATED and not data.exists():
        from ascd.datasets import make_synthetic, make_text_like

        made = make_synthetic(1000, 5000, rng=0) if str(data) == "synthetic" else make_text_like(5000, 10_000, rng=0)
        return Loaded(Table(made.A, made.b, None), f"generated data ({data})")
    table = read_table(data, target, format)
    complete(table, data.name)
    return Loaded(table, data.name)


def complete(table: Table, label: str) -> None:
    """Refuse data with missing values, naming the first place."""
    samples, features = table.X.shape
    if not samples or not features:
        raise ValueError(f"{label} has {samples} samples and {features} features: there is nothing to do")
    stored = table.X.tocoo() if hasattr(table.X, "tocoo") else None
    bad = np.argwhere(~np.isfinite(table.X if stored is None else stored.data))
    if bad.size:
        place = bad[0, 1] if stored is None else stored.col[bad[0, 0]]
        column = table.names[place] if table.names else place
        raise ValueError(
            f"{label} has {len(bad)} missing or infinite values, the first in feature {column}: fill or drop them"
        )
    gone = [] if table.y is None else [value for value in table.y if value != value]  # nan is not itself
    if gone:
        raise ValueError(f"{label} has {len(gone)} samples without a target: drop them")


def numeric_target(table: Table) -> None:
    """Refuse words where numbers are needed."""
    if table.y.dtype.kind not in "fiub":
        named = f"target {table.target!r}" if table.target else "target"
        raise ValueError(
            f"the {named} must be numbers here, its first value is {table.y[0]!r}; classes need logistic or svm"
        )
