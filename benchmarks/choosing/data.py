"""The data: npz files of a folder where they are, and a generated stand-in for text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

SEED = 0
GENERATED = "text-like (generated)"
FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"


def load(folder, name, ones=False, dense=False):
    """A data set by name; None where its file is absent."""
    path = folder / f"{name}.npz"
    if not path.exists():
        return None
    A, y = sp.load_npz(path).tocsc(), np.load(path)["y"].astype(float)
    if name == "news20":
        y = np.where(y <= np.median(y), 1.0, -1.0)  # twenty classes in two halves
    if ones:
        A = A.copy()
        A.data[:] = 1.0
    return (np.asfortranarray(A.toarray()) if dense else A), y - (y.mean() if dense else 0.0)


def text_like(rng):
    """A stand-in for text: column sizes fall off like words' frequencies."""
    d, n = 20_000, 40_000
    counts = np.minimum(d // 4, np.maximum(1, (d / (1.0 + np.arange(n))).astype(int) + rng.integers(1, 40, n)))
    rows = np.concatenate([rng.choice(d, size=c, replace=False) for c in counts])
    A = sp.csc_array((rng.random(rows.size), rows, np.concatenate([[0], np.cumsum(counts)])), shape=(d, n))
    x = np.zeros(n)
    x[rng.choice(2000, 100, replace=False)] = rng.standard_normal(100)
    return A, np.sign(A @ x + 0.3 * rng.standard_normal(d))


def cases(folder, quick, wanted="", more=False):
    """(name, (A, y)) of every data set that is there and whose name contains ``wanted``, then the generated one.

    ``more`` are two with few features and many samples.
    """
    real = {
        "rcv1_sample": {},
        "rcv1_sample, values 1": {"ones": True},
        "news20": {},
        "dorothea": {},
        "mice_snp, dense": {"dense": True},
    }
    if more:
        real |= {"w8a": {}, "a9a": {}}
    for name, options in real.items():
        if wanted not in name or (quick and name != "rcv1_sample"):
            continue
        data = load(folder, name.split(",")[0], **options)
        if data is None:
            print(f"  {name}: not found in the data folder")
        else:
            yield name, data
    if wanted in GENERATED:
        yield GENERATED, text_like(np.random.default_rng(SEED))
