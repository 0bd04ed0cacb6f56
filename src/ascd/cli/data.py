"""Data for commands: read, reported in a few lines, and checked for missing values and unsuitable targets."""

from __future__ import annotations

import click
import numpy as np

from ascd.cli.console import say
from ascd.cli.options import MOST_LEVELS, DataOptions
from ascd.io.columns import as_target, counted, find_target, has_target
from ascd.io.encoding import LabeledData, Recipe, empty_column, missing_values, no_target
from ascd.io.opening import open_data, parquet_names
from ascd.io.readers import is_sparse_folder

IN_FILE = "leave them out of the file"
FILLED = "--drop leaves out their rows, --impute mean fills them"


def read_data(source: DataOptions) -> LabeledData:
    """Read the data file, or open data that stay on their disk."""
    if source.stays_on_disk:
        return _open(source)
    data = source.read()
    check_complete(data, source.data.name)
    return data._replace(notes=(*data.notes, *_copies_of_target(data)))


def _open(source: DataOptions) -> LabeledData:
    """Open data that are read chunk by chunk, and read their target."""
    for name, given in (("--drop", source.drop), ("--impute", source.impute)):
        if given:
            raise click.UsageError(f"{name} needs the data in memory; ascd convert {name} does it once")
    if isinstance(source.target, tuple):
        raise click.UsageError(
            f"several targets need the data in memory: leave out --memory; got {', '.join(source.target)}"
        )
    names, target = parquet_names(source.data)
    left = [name for name in names if name not in source.without]
    target = find_target(left, source.target or target, optional=False) if left else source.target
    data = open_data(source.data, target=target, without=source.without, memory=source.memory)
    if data.y is None:
        raise ValueError(f"{source.data} holds no target; Parquet files and the folders of ascd convert do")
    note = f"{data.size / 1e6:,.1f} MB, read chunk by chunk"
    is_sparse = is_sparse_folder(source.data)
    recipe = Recipe(written={"first": data.reader.index["first"]}) if is_sparse else Recipe()
    found = LabeledData(data, as_target(data.y), data.feature_names, target, (note,), recipe)
    check_targets(found, source.data.name, IN_FILE)
    return found


def _copies_of_target(data: LabeledData) -> list[str]:
    """Return a warning where a column of numbers equals the target: the fit would use the target to predict itself."""
    if data.frame is None or np.ndim(data.y) != 1 or data.y.dtype.kind not in "fiub" or len(data.y) < 2:
        return []
    numbers = data.frame.select_dtypes("number")
    first = numbers.columns[numbers.iloc[0].to_numpy() == data.y[0]]
    same = [name for name in first if np.array_equal(numbers[name].to_numpy(), data.y)]
    return [f"WARNING: column {name!r} equals the target; --without {name!r} leaves it out" for name in same[:1]]


def report_reading(data: LabeledData, label: str) -> None:
    """Print how a file was read: what was found and what was done."""
    if data.notes:
        shape = f"{counted(data.X.shape[0], 'row')}, {counted(data.X.shape[1], 'feature')}"
        target = f", target {_named(data)}" if data.target else ""
        say(f"read {label}: {shape}{target}")
        for note in data.notes:
            say(f"  {' '.join(note.split())}")  # a name may have line breaks


def target_words(data: LabeledData) -> str:
    """Return the target, or several, in words: with its name where it has one."""
    return f"the target {_named(data)}" if data.target else "the target"


def _named(data: LabeledData) -> str:
    return repr(data.target) if isinstance(data.target, str) else ", ".join(map(repr, data.target))


def check_complete(
    data: LabeledData, label: str, way: str = FILLED, without: str = "--without {!r} leaves it out"
) -> None:
    """Raise a ValueError for missing values that names the first one and what can be done."""
    samples, features = data.X.shape
    if not samples or not features:
        raise ValueError(f"{label} has {samples} samples and {features} features: there is nothing to do")
    empty = empty_column(data)
    if empty is not None:
        raise ValueError(f"{label}: column {empty!r} has no value at all: {without.format(empty)}")
    gone = missing_values(data)
    if gone.any():
        by_column = gone.reshape(len(gone), -1)
        row = int(np.argmax(by_column.any(axis=1)))
        where = f"in feature {data.frame.columns[np.argmax(gone[row])]!r}, " if data.frame is not None else "in "
        count = counted(int(gone.sum()), "missing or infinite value")
        raise ValueError(f"{label} has {count}, the first {where}row {row + 1}: {way}")
    check_targets(data, label, "--drop leaves them out")


def check_targets(data: LabeledData, label: str, way: str) -> None:
    """Raise a ValueError for samples without a target."""
    gone = 0 if data.y is None else int(np.sum(~has_target(data.y)))
    if gone and gone == len(data.y):
        raise no_target(data)
    if gone:
        raise ValueError(f"{label} has {counted(gone, 'sample')} without a target, or with an infinite one: {way}")


def one_target(model: str, count: int) -> ValueError:
    """Return the error of several targets for a model of one."""
    return ValueError(f"model {model!r} has one target; there are {count}: multi-task-lasso fits several")


def check_numeric(data: LabeledData) -> None:
    """Raise a ValueError for a target of words where numbers are needed."""
    if data.y.dtype.kind not in "fiub":
        raise ValueError(
            f"{target_words(data)} must be numbers here, its first value is {data.y[0]!r}; classes need logistic or svm"
        )


def check_counts(data: LabeledData, model: str) -> None:
    """Raise a ValueError for a target of counts that is negative."""
    lowest = int(np.argmin(data.y))
    if data.y[lowest] < 0:
        raise ValueError(
            f"{target_words(data)} must be 0 or more for model {model!r}, which fits counts; row {lowest + 1} has "
            f"{data.y[lowest]:g}: name another column with --target, or fit another model, such as --model lasso"
        )


def check_classes(data: LabeledData, any_number: bool) -> None:
    """Raise a ValueError for a target of one class, or of numbers that look like a quantity (unless ``any_number``)."""
    y = np.asarray(data.y)
    values = np.unique(y) if y.dtype.kind in "fiub" else np.unique(y.astype(str))
    if values.size < 2:
        raise ValueError(
            f"{target_words(data)} is {values[0]} in every row: a classifier needs two classes; name another with "
            "--target"
        )
    if any_number or y.dtype.kind not in "fiu" or values.size == 2:
        return
    if (values != np.round(values)).any() or values.size > max(MOST_LEVELS, y.size // 10):
        raise ValueError(
            f"{target_words(data)} has {values.size} different numbers in {y.size} samples ({values[0]:g} to "
            f"{values[-1]:g}): is it a quantity? --model lasso fits one; --classes takes each number for a class"
        )
