"""Options that would change nothing are refused: who gives one believes that it matters.

Which options a kind of data reads stands in ``USED``; which ones a model takes stands in ``estimating.MODELS``.
"""

from __future__ import annotations

import click

from ascd.cli.options import Source, given_options
from ascd.files import guess_format

WRITTEN = ("sep", "decimal", "header", "na")
NAMED = ("target", "without", "levels")
GAPS = ("drop", "impute")
GENERATED, ON_DISK = "generated data", "data that are read piece by piece"
#: Kind of data → options that have an effect on it, or that are refused with a sentence of their own.
USED: dict[str, frozenset[str]] = {
    "csv files": frozenset(("data", "format", *WRITTEN, *NAMED, *GAPS, "memory")),
    "parquet files": frozenset(("data", "format", *NAMED, *GAPS)),
    "libsvm files": frozenset(("data", "format", *GAPS)),
    "npz files": frozenset(("data", "format", *GAPS)),
    ON_DISK: frozenset(("data", "target", "without", "memory", *GAPS)),
    "csv files on a cluster": frozenset(("data", "format", *WRITTEN, "target", "without", "memory", *GAPS)),
    "parquet files on a cluster": frozenset(("data", "format", "target", "without", "memory", *GAPS)),
    GENERATED: frozenset(("data",)),
}


def refuse_unused(source: Source, kind: str = "") -> None:
    """Refuse an option that has no effect on this kind of data; by default the kind is that of the file."""
    kind = kind or f"{source.format or guess_format(source.data)} files"
    for name in sorted(source.asked - USED[kind]):
        needed = " and ".join(other for other in USED if name in USED[other] and " on a " not in other)
        raise click.UsageError(
            f"{_shown(name)} has no effect on {kind} ({source.data}): it is for {needed}; leave it out"
        )


def refuse_without(name: str, needed: str, is_there: bool) -> None:
    """Refuse an option that has an effect beside something else only."""
    if name in given_options() and not is_there:
        raise click.UsageError(f"{_shown(name)} has no effect without {needed}: add that, or leave {_shown(name)} out")


def refuse_both(source: Source) -> None:
    """Refuse two ways of mending gaps at once: the first leaves nothing to the second."""
    if source.drop and source.impute:
        raise click.UsageError(
            f"--drop and --impute {source.impute} exclude each other: --drop leaves out the rows that are to be filled"
        )


def _shown(name: str) -> str:
    """An option as it is given: its first spelling, or of a switch that is off the one that puts it off."""
    context = click.get_current_context()
    option = next(one for one in context.command.params if one.name == name)
    return (option.secondary_opts if context.params.get(name) is False and option.secondary_opts else option.opts)[0]
