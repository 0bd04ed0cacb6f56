"""Data on a device: passes, fits and paths, against the processor and against FISTA in torch.

    python benchmarks/gpu.py [--library cupy|torch] [--small] [--only pass,fits,...] [--seconds 180]

Data are generated on the device.  Rows are printed as they are done, each beside its bar; one that fails prints its
error, and none begins after ``--seconds``.  ``--small`` has data of a few MB, to try the program.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import traceback
from types import SimpleNamespace

import numpy as np
from on_gpu.peers import fista
from on_gpu.places import design, find_place, make_data, seconds_of
from on_gpu.products import compare

import ascd
from ascd.matrix import costs

BEGAN = time.perf_counter()
#: 2.4 GB in float64.
PEERS_SIZE = (5000, 60_000)


def show(row, found, bar=""):
    print(f"{time.perf_counter() - BEGAN:7.1f} | {row:44} | {found:78} | {bar}", flush=True)


def as_problem(place, X, y, loss="squared", strength=1.0):
    return ascd.Problem(design(X), y, loss, ascd.L1L2(strength, 0.0))


def fit(place, X, y, strength, tol, loss="squared"):
    """From the first pass to the certificate."""
    problem = as_problem(place, X, y, loss, strength)
    return problem, ascd.solve(problem, tol=tol)


def strongest(place, X, y, loss="squared"):
    """The smallest penalty that gives zero coefficients."""
    slope = y if loss == "squared" else 0.5 * y
    return float(np.abs(design(X).dots(np.arange(X.shape[1]), slope)).max())


def fit_rows(place, data, tol, shares, bars, loss="squared", repeats=4):
    """The shortest of four fits each: the first compiles for these shapes, and takes memory from the device."""
    X, y = data
    top = strongest(place, X, y, loss)
    for share, bar in zip(shares, bars, strict=True):
        seconds, (problem, found) = seconds_of(place, lambda s=share: fit(place, X, y, top / s, tol, loss), repeats)
        passes = problem.design.bytes_read / problem.design.nbytes
        text = f"{seconds:.3f} s, {passes:.1f} passes, {found.n_iter} rounds, {np.count_nonzero(found.x)} nonzero"
        gap = found.gap / found.zero_objective
        show(f"{loss} {label(X)}, top/{share}, gap {tol:g}", f"{text}, gap {gap:.1e} ({found.status})", bar)


def label(X):
    return f"{X.shape[0]}×{X.shape[1]} {str(X.dtype).rpartition('.')[2]}"


def warm(o):
    """Everything is compiled: small data, the host's model and the device's, both losses."""
    began = time.perf_counter()
    size = (300, 800) if o.small else (2000, 3000)
    X, y = make_data(o.place, *size, np.float32, true=size[0] // 5)
    for loss, target in (("squared", y), ("logistic", np.where(y > 0, 1.0, -1.0))) if o.logistic else (("squared", y),):
        top = strongest(o.place, X, target, loss)
        fit(o.place, X, target, top / 5, 1e-6, loss)
        fit(o.place, X, target, top / (100 if loss == "squared" else 20), 1e-6, loss)
    show("warm-up, compiling", f"{time.perf_counter() - began:.1f} s")


def passes(o):
    X, _ = o.large()
    source = design(X)
    vector = np.random.default_rng(0).standard_normal(X.shape[0])
    every = np.arange(X.shape[1])
    seconds, _ = seconds_of(o.place, lambda: source.dots(every, vector), 3)
    half = X[:, : X.shape[1] // 8] if o.place.name != "torch" else X[:, : X.shape[1] // 8].clone()
    size = source.nbytes // 8
    target = o.place.empty((half.shape[1], half.shape[0]), np.dtype(str(X.dtype).rpartition(".")[2]))

    def copy():
        target[:] = half.T

    copying, _ = seconds_of(o.place, copy, 3)
    rate, limit = source.nbytes / seconds / 1e9, 2 * size / copying / 1e9
    text = f"{seconds * 1e3:.2f} ms, {rate:.0f} GB/s, copy {limit:.0f} GB/s: {rate / limit:.0%}"
    show(f"a pass over {source.nbytes / 1e9:.1f} GB", text, "≥ 85 %, aim 95 %")
    seconds, _ = seconds_of(o.place, lambda: source.column_stats(1.0, vector[None, :]), 2)
    show("the first pass (norms, sums, products)", f"{seconds * 1e3:.2f} ms")


def products(o):
    X, _ = o.large()
    count = 500 if o.small else 16_000
    exact, short, away = compare(o.place, X, count)
    text = f"exact {exact * 1e3:.0f} ms, short {short * 1e3:.0f} ms, off by {away:.1e} of the diagonal at most"
    show(f"products of {count} columns of {label(X)}", text)


def fits(o):
    bars = ["0.25 s, 6 passes", "0.25 s, 6 passes", "1.5 s, 12 passes"]
    fit_rows(o.place, o.large(), 1e-6, (10, 20, 100), bars)


def path(o):
    X, y = o.large()
    problem = as_problem(o.place, X, y)
    top = strongest(o.place, X, y)
    seconds, found = seconds_of(
        o.place, lambda: ascd.path(problem, alphas=top * np.geomspace(1, 0.05, 60)[1:], tol=1e-5), 2
    )
    passed = problem.design.bytes_read / problem.design.nbytes / 2
    worst = found.gaps.max() / found.zero_objective
    show(f"path of 60 to top/20, {label(X)}", f"{seconds:.3f} s, {passed:.1f} passes, largest gap {worst:.1e}", "2 s")


def logistic(o):
    X, y = o.large()
    fit_rows(o.place, (X, np.where(y > 0, 1.0, -1.0)), 1e-6, (20,), ["0.6 s"], loss="logistic")


def precise(o):
    size = (300, 800) if o.small else (10_000, 20_000)
    data = make_data(o.place, *size, np.float64)
    fit_rows(o.place, data, 1e-10, (10, 20, 100), ["0.1 s", "0.2 s", "5 s"])


def peers(o):
    size = (300, 1500) if o.small else PEERS_SIZE
    X, y = make_data(o.place, *size, np.float64)
    strength, ours = against_fista(o, X, y)
    A = np.asfortranarray(o.place.to_host(X))

    def on_host():
        return ascd.solve(ascd.Problem(A, y, "squared", ascd.L1L2(strength, 0.0), n_jobs=-1), tol=1e-6, n_jobs=-1)

    seconds, _ = seconds_of(o.place, on_host, 2)
    show("our solver on the host, all cores", f"{seconds:.3f} s: {seconds / ours:.1f} times the device's", "≥ 10 times")


def fista_large(o):
    """A float32 FISTA did not get there in 200 s: so many steps are enough to compare."""
    against_fista(o, *o.large(), repeats=1, most=1000)


def against_fista(o, X, y, repeats=2, most=20_000):
    """At λ_max/20, to a gap of 1e-6; the penalty, and our seconds."""
    strength, tol = strongest(o.place, X, y) / 20, 1e-6
    ours, (_, found) = seconds_of(o.place, lambda: fit(o.place, X, y, strength, tol), 4)
    show(f"ours, {label(X)}, top/20", f"{ours:.3f} s, gap {found.gap / found.zero_objective:.1e}")
    try:
        import torch

        there = torch.from_dlpack(X) if o.place.name == "cupy" else torch.as_tensor(X)
        target = torch.as_tensor(y, device=there.device, dtype=there.dtype)
        seconds, (gap, steps) = seconds_of(o.place, lambda: fista(there, target, strength, tol, most), repeats)
        ratio = f"{seconds / ours:.1f} times ours"
        show("FISTA with restart in torch", f"{seconds:.3f} s, {steps} steps, gap {gap:.1e}: {ratio}", "≥ 10 times")
    except ImportError as error:
        show("FISTA with restart in torch", str(error))
    return strength, ours


FIRST = """
import time, sys
sys.path.insert(0, {here!r})
from on_gpu.places import find_place, make_data
import numpy as np, ascd
from ascd import Lasso
place = find_place({name!r})
X, y = make_data(place, 2000, 5000, np.float32)
began = time.perf_counter()
Lasso(alpha=float(np.abs(y).max()) / 10).fit(X, y)
print(round(time.perf_counter() - began, 2))
"""


def first(o):
    code = FIRST.format(here=str(__file__).rpartition("/")[0] or ".", name=o.place.name)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    found = ended.stdout.strip().splitlines()[-1:] or ended.stderr.strip().splitlines()[-1:]
    show("first fit in a process, after the import", f"{(found or ['?'])[0]} s", "≤ 3 s")


ROWS = {
    "warm": warm, "pass": passes, "products": products, "fits": fits, "path": path, "logistic": logistic,
    "fista": fista_large, "precise": precise, "peers": peers, "first": first,
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", choices=["cupy", "torch"])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only", default=",".join(ROWS), help=f"rows, of {', '.join(ROWS)}")
    parser.add_argument("--seconds", type=float, default=3600.0, help="no row begins after so many")
    parser.add_argument("--size", default="100000,200000", help="samples and features of the large data")
    options = parser.parse_args()
    chosen = options.only.split(",")
    costs.DEVICE_SMALL = 0
    place, kept = find_place(options.library), []
    samples, features = (400, 2000) if options.small else (int(word) for word in options.size.split(","))

    def large():
        if not kept:
            began = time.perf_counter()
            kept.append(make_data(place, samples, features, np.float32))
            show(f"data of {4e-9 * samples * features:.1f} GB", f"made in {time.perf_counter() - began:.1f} s")
        return kept[0]

    o = SimpleNamespace(place=place, small=options.small, large=large, logistic="logistic" in chosen)
    print(place.describe(), flush=True)
    for name in chosen:
        if time.perf_counter() - BEGAN > options.seconds:
            show(name, "not run: no time left")
            continue
        if name in ("precise", "peers", "first"):
            kept.clear()
        try:
            ROWS[name](o)
        except Exception as error:
            show(name, f"FAILED: {type(error).__name__}: {error}")
            traceback.print_exc(limit=-6)


if __name__ == "__main__":
    main()
