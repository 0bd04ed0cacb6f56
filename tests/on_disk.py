"""A small table and its target, and the files that hold it."""

from __future__ import annotations

import numpy as np
import pytest

from ascd.io import convert

RNG = np.random.default_rng(0)
A = RNG.standard_normal((50, 12)) * (RNG.random((50, 12)) < 0.5)
B = A[:, 0] - 2.0 * A[:, 7] + 0.1 * RNG.standard_normal(50)
VECTOR, WEIGHT = RNG.standard_normal(50), RNG.random(50)
COLUMNS = np.array([7, 8, 0, 3])


def npy(folder, order="C", dtype=np.float64):
    path = folder / f"{order}-{np.dtype(dtype).name}.npy"
    np.save(path, np.asarray(A > 0.0 if dtype is bool else 3.0 * A, order=order).astype(dtype, order=order))
    return path


def write_parquet(path, row_group_size=None, **columns):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    import pyarrow.parquet as pq

    path.parent.mkdir(exist_ok=True)
    pq.write_table(pyarrow.table(columns), path, row_group_size=row_group_size)
    return path


def parquet(folder):
    for number, rows in enumerate(np.array_split(np.arange(50), 2)):
        columns = {f"x{j}": A[rows, j] for j in range(12)}
        write_parquet(folder / "parts" / f"{number}.parquet", 9, **columns, price=B[rows])
    return folder / "parts"


def csv(folder):
    rows = "\n".join(",".join(map(repr, (*row.tolist(), float(y)))) for row, y in zip(A, B, strict=True))
    (folder / "table.csv").write_text(",".join([*(f"x{j}" for j in range(12)), "price"]) + "\n" + rows + "\n")
    return folder / "table.csv"


def libsvm(folder):
    lines = (
        f"{y!r} " + " ".join(f"{j + 1}:{float(row[j])!r}" for j in np.flatnonzero(row))
        for row, y in zip(A, B.tolist(), strict=True)
    )
    (folder / "table.svm").write_text("\n".join(lines) + "\n")
    return folder / "table.svm"


def converted(folder, make, monkeypatch):
    """In groups of a few rows."""
    monkeypatch.setattr("ascd.io.converting.PORTION", 2e-3 if make is csv else 5e-4)
    convert(make(folder), folder / "groups.parquet", memory="1MiB")
    return folder / "groups.parquet"


def write(path, text):
    path.write_text(text)
    return path
