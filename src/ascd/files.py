"""Data in and results out: tables in four formats are read, and every file is written whole or not at all.

==========  ====================================================================================================
LIBSVM      ``label index:value …`` a line (.svm, .libsvm, .txt, also .gz, .bz2), read sparse
CSV         a header and a column a feature (.csv, .tsv, .csv.gz); the target is the column named ``target``
parquet     the same (.parquet; needs ``pyarrow``)
npz         ``scipy.sparse.save_npz`` with an array ``y`` added, or arrays ``X`` and ``y``
==========  ====================================================================================================
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import unknown_name

FORMATS = {
    "libsvm": (".svm", ".libsvm", ".svmlight", ".txt", ".t", ".gz", ".bz2"),
    "csv": (".csv", ".tsv", ".csv.gz", ".tsv.gz"),
    "parquet": (".parquet", ".pq"),
    "npz": (".npz",),
}


class Table(NamedTuple):
    """A design, its target (None where the file holds none), the names of the features and of the target (or None)."""

    X: Any
    y: Any
    names: list[str] | None
    target: str | None = None


def read_table(
    path: Any,
    target: str | None = None,
    format: str | None = None,
    n_features: int | None = None,
    target_optional: bool = False,
    features: Sequence[str] | None = None,
) -> Table:
    """Read a data file.

    Parameters
    ----------
    path : the file
    target : column of a CSV or parquet file that holds the target; "target", "y" or "label", else the last, by default
    format : {"libsvm", "csv", "parquet", "npz"}; by default told from the file's name
    n_features : width of a LIBSVM file, where it should be more than its largest index
    target_optional : accept a table without a target (for predictions): only a column named ``target`` is taken away
    features : columns of a CSV or parquet file to keep, in this order; by default all but the target

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ascd.files import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tiny.csv"
    ...     _ = path.write_text("age,size,price\\n1,2,3\\n4,5,6\\n")
    ...     table = read_table(path, target="price")
    >>> table.names, table.y
    (['age', 'size'], array([3, 6]))
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no such file: {path}")
    kind = format or guess_format(path)
    if kind not in FORMATS:
        raise unknown_name(kind, "format", FORMATS)
    if kind == "libsvm":
        return _read_libsvm(path, n_features)
    if kind == "npz":
        return _read_npz(path, target_optional)
    return _split(_read_frame(path, kind), target, target_optional, features, path)


def guess_format(path: Any) -> str:
    """The format that a file's name tells.

    Examples
    --------
    >>> from ascd.files import guess_format
    >>> guess_format("rcv1_train.binary.bz2"), guess_format("genes.csv.gz")
    ('libsvm', 'csv')
    """
    name = Path(path).name.lower()
    for kind in ("csv", "parquet", "npz", "libsvm"):
        if name.endswith(FORMATS[kind]):
            return kind
    raise ValueError(f"cannot tell the format of {name!r} from its ending; name it: {', '.join(FORMATS)}")


@contextlib.contextmanager
def whole_file(path: Any) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its place when the block ends well, and vanishes when not.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ascd.files import whole_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "note.txt"
    ...     with whole_file(path) as draft:
    ...         _ = draft.write_text("all of it")
    ...     path.read_text()
    'all of it'
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(0o666 & ~_umask())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def whole_folder(folder: Any) -> Iterator[Path]:
    """A temporary folder whose files move to ``folder`` when the block ends well, and vanish when not.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ascd.files import whole_folder
    >>> with tempfile.TemporaryDirectory() as outer:
    ...     with whole_folder(f"{outer}/results") as drafts:
    ...         _ = (drafts / "a.txt").write_text("first")
    ...         _ = (drafts / "b.txt").write_text("second")
    ...     sorted(path.name for path in pathlib.Path(f"{outer}/results").iterdir())
    ['a.txt', 'b.txt']
    """
    folder = Path(folder)
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.is_dir())  # of the same file system
    with tempfile.TemporaryDirectory(prefix=".", dir=nearest) as name:
        drafts = Path(name)
        yield drafts
        for path in sorted(path for path in drafts.rglob("*") if path.is_file()):
            target = folder / path.relative_to(drafts)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)


def write_text(path: Any, text: str) -> Path:
    """Write a text file whole or not at all."""
    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")
    return Path(path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _read_libsvm(path: Path, n_features: int | None) -> Table:
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(str(path), n_features=n_features)
    except (ValueError, IndexError) as error:
        raise ValueError(f"{path} is not a LIBSVM file: {error}") from error
    return Table(X.tocsc(), y, None)


def _read_npz(path: Path, target_optional: bool) -> Table:
    try:
        opened = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, zipfile.BadZipFile):
        raise ValueError(f"{path} is not an npz file") from None
    if not hasattr(opened, "files"):
        raise ValueError(f"{path} holds one array; an npz file with X and y is needed")
    with opened as arrays:
        held = set(arrays.files)
        y = arrays["y"] if "y" in held else None
        X = arrays["X"] if "X" in held else None
    if X is None and {"data", "shape", "format"} <= held:
        from scipy.sparse import load_npz

        X = load_npz(path).tocsc()
    if X is None or (y is None and not target_optional):
        raise ValueError(
            f"{path} must hold X (an array, or what scipy.sparse.save_npz wrote) and y; it has {sorted(held)}"
        )
    return Table(X, y, None)


def _read_frame(path: Path, kind: str) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"reading {kind} files needs pandas: pip install ascd[cli]") from error
    if kind == "parquet":
        try:
            return pandas.read_parquet(path)
        except ImportError as error:
            raise ImportError("reading parquet files needs pyarrow: pip install ascd[parquet]") from error
        except (ValueError, OSError) as error:  # pyarrow's errors are among them
            raise ValueError(f"{path} is not a parquet file: {error}") from error
    try:
        return pandas.read_csv(path, sep="\t" if ".tsv" in path.name.lower() else ",")
    except (pandas.errors.ParserError, pandas.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a table in CSV: {error}") from error


def _split(frame: Any, target: str | None, target_optional: bool, features: Sequence[str] | None, path: Path) -> Table:
    """The target's column apart from the others."""
    names = [str(name) for name in frame.columns]
    frame.columns = names
    chosen = target if target is not None else next((n for n in ("target", "y", "label") if n in names), None)
    if chosen is None and not target_optional:
        chosen = names[-1]
    if chosen is not None and chosen not in names:
        if not target_optional:
            raise unknown_name(chosen, "target", names)
        chosen = None
    y = None if chosen is None else frame[chosen].to_numpy()
    rest = frame if chosen is None else frame.drop(columns=chosen)
    if features is not None:
        missing = [name for name in features if name not in names]
        if missing:
            raise ValueError(f"{path} lacks {len(missing)} of {len(features)} features: {', '.join(missing[:5])}")
        rest = frame[list(features)]
    words = [name for name in rest.columns if rest[name].dtype.kind not in "fiub"]
    if words:
        raise ValueError(f"{path} has columns that are not numbers: {', '.join(words[:5])}; encode or drop them")
    return Table(np.asfortranarray(rest.to_numpy(dtype=np.float64)), y, list(rest.columns), chosen)
