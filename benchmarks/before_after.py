"""Two checkouts of this repository side by side: processor time and columns read, as ratios new/old by family.

    python benchmarks/before_after.py OLD NEW [--repeats N] [--only FAMILY,...] [--data FOLDER]

Each checkout runs in processes of its own, which take turns; of the repeats the shortest processor time counts.  The
problems are generated: Lasso, elastic net, L1-logistic, Huber, groups, several targets, several classes, support vector
machines, paths, cross-validation, a memory-mapped matrix, two threads, and small fits (100 x 50, a grid of 200 of
them).  With ``--data`` the Lasso and the L1-logistic regression on the npz files of a folder are added (sparse ones as
``scipy.sparse.save_npz`` writes them, with the target in ``y``).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path

from common.tables import markdown_table

#: What a process runs: every case once to compile, then so often that it takes a while; seconds and columns read.
WORKER = r"""
import json, os, sys, tempfile, time, warnings
import numpy as np, scipy.sparse as sp, ascd
warnings.simplefilter("ignore")
seconds, only, files = float(sys.argv[1]), set(filter(None, sys.argv[2].split(","))), sys.argv[3:]
rng = np.random.default_rng(0)
def dense(d, n):
    A = np.asfortranarray(rng.standard_normal((d, n)) + 0.5 * rng.standard_normal((d, 1)))
    return A, A[:, :20] @ rng.standard_normal(20) + rng.standard_normal(d)
def sparse(d, n, density):
    A = sp.random(d, n, density, format="csc", random_state=0, data_rvs=lambda size: 1.0 + rng.random(size))
    return A, A[:, :50] @ rng.standard_normal(50) + 0.1 * rng.standard_normal(d)
def top(A, b):
    return float(abs(A.T @ b).max())
small, wide, tall, text = dense(100, 50), dense(400, 6000), dense(6000, 120), sparse(3000, 20000, 0.004)
data = {"wide": (wide, (10, 100)), "tall": (tall, (10, 1000)), "text": (text, (20, 100))}
cases = {}
def add(family, name, run):
    if not only or family in only:
        cases[f"{family}: {name}"] = run
def solve(problem, **options):
    return lambda: ascd.solve(problem, **options)
def path(problem, **options):
    return lambda: ascd.path(problem, **options)
def fit(model, X, y):
    return lambda: model.fit(X, y)
for name, ((A, b), parts) in data.items():
    lam, signs = top(A, b), np.sign(b)
    for part in parts:
        add("lasso", f"{name} /{part}", solve(ascd.Problem(A, b, penalty=ascd.L1(lam / part))))
        add("enet", f"{name} /{part}", solve(ascd.Problem(A, b, penalty=ascd.L1L2(lam / part, 1.0)), intercept=True))
        strength = ascd.L1(top(A, signs) / 2 / part)
        add("logistic", f"{name} /{part}", solve(ascd.Problem(A, signs, "logistic", strength), intercept=True))
        add("huber", f"{name} /{part}", solve(ascd.Problem(A, b, "huber", ascd.L1(lam / part)), intercept=True))
        alpha = lam / len(b) / part
        add("groups", f"{name} /{part}", fit(ascd.GroupLasso(groups=5, alpha=alpha), A, b))
        Y = np.stack([b, np.roll(b, 1), b + np.roll(b, 2)], axis=1)
        add("targets", f"{name} /{part}", fit(ascd.MultiTaskLasso(alpha=alpha), A, Y))
    add("svm", name, fit(ascd.LinearSVC(C=0.01, loss="hinge", dual=True, tol=1e-4), A, signs))
    add("paths", name, path(ascd.Problem(A, b, penalty=ascd.L1(1.0)), n_alphas=20, eps=0.05))
    add("cv", name, fit(ascd.LassoCV(alphas=10, eps=0.1, cv=3), A, b))
    add("threads", name, solve(ascd.Problem(A, b, penalty=ascd.L1(lam / parts[0])), n_jobs=2))
for name, (A, b) in {"small": small, "tall": tall}.items():
    classes = np.digitize(b, np.quantile(b, [0.3, 0.6]))
    for C in (0.01, 1.0):
        add("multinomial", f"{name} l2 C={C}", fit(ascd.LogisticRegression(C=C), A, classes))
        add("multinomial", f"{name} l1 C={C}", fit(ascd.LogisticRegression(C=C, l1_ratio=1.0), A, classes))
folder = tempfile.mkdtemp()
np.save(os.path.join(folder, "wide.npy"), wide[0])
mapped = np.load(os.path.join(folder, "wide.npy"), mmap_mode="r")
add("mapped", "wide /20", lambda: ascd.Lasso(alpha=top(*wide) / 400 / 20).fit(mapped, wide[1]))
A, b = small
alpha = top(A, b - b.mean()) / 100 / 20
add("small", "lasso", fit(ascd.Lasso(alpha=alpha), A, b))
add("small", "enet", fit(ascd.ElasticNet(alpha=alpha), A, b))
add("small", "logistic", fit(ascd.LogisticRegression(C=1.0, l1_ratio=1.0), A, np.sign(b)))
add("small", "groups", fit(ascd.GroupLasso(groups=5, alpha=alpha), A, b))
add("small", "targets", fit(ascd.MultiTaskLasso(alpha=alpha), A, np.c_[b, b[::-1]]))
def grid():
    for part in np.geomspace(1.0, 100.0, 200):
        ascd.Lasso(alpha=alpha * 20 / part).fit(A, b)
add("small", "grid of 200 lassos", grid)
for file in files:
    name = file.rpartition("/")[2].removesuffix(".npz")
    X, y = sp.load_npz(file).tocsc(), np.load(file)["y"].astype(float)
    if X.nnz > 0.3 * X.shape[0] * X.shape[1]:
        X = np.asfortranarray(X.toarray())
    if len(np.unique(y)) > 2 and len(np.unique(y)) <= 20:
        y = np.where(y == y[0], 1.0, -1.0)
    y = y - y.mean() if len(np.unique(y)) > 2 else y
    for part in (10, 100):
        add("real lasso", f"{name} /{part}", solve(ascd.Problem(X, y, penalty=ascd.L1(top(X, y) / part))))
        if len(np.unique(y)) == 2:
            strength = ascd.L1(top(X, y) / 2 / part)
            add("real logistic", f"{name} /{part}", solve(ascd.Problem(X, y, "logistic", strength), intercept=True))
answers = {}
for name, run in cases.items():
    first = run()
    reads = getattr(first, "reads", None)
    if reads is None:
        reads = getattr(getattr(first, "certificate_", None), "reads", 0) or 0
    began, count = time.process_time(), 0
    while count == 0 or time.process_time() - began < seconds:
        run()
        count += 1
    answers[name] = (time.process_time() - began) / count, int(np.sum(reads))
print(json.dumps(answers))
"""


def measure(tree: Path, options: argparse.Namespace, files: list[str]) -> dict[str, tuple[float, int]]:
    """Return seconds and columns read of every case, in a process that uses this checkout."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", WORKER, str(options.seconds), options.only, *files]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def mean(ratios: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3, help="that a case is repeated for in a process")
    parser.add_argument("--only", default="", help="families, separated by commas")
    parser.add_argument("--data", type=Path, help="folder with npz files")
    options = parser.parse_args()
    files = sorted(map(str, options.data.glob("*.npz"))) if options.data else []
    best: dict[str, dict[str, float]] = {"old": {}, "new": {}}
    reads: dict[str, dict[str, int]] = {"old": {}, "new": {}}
    for _ in range(options.repeats):
        for side, tree in (("old", options.old), ("new", options.new)):
            for name, (seconds, columns) in measure(tree, options, files).items():
                best[side][name] = min(seconds, best[side].get(name, math.inf))
                reads[side][name] = columns
    rows, families = [], {}
    for name, old in best["old"].items():
        ratio, read = best["new"][name] / old, reads["new"][name] / max(reads["old"][name], 1)
        families.setdefault(name.partition(":")[0], []).append((ratio, read))
        times = [f"{1e3 * old:.3f}", f"{1e3 * best['new'][name]:.3f}", f"{ratio:.2f}"]
        rows.append([name, *times, f"{reads['old'][name]:,}", f"{reads['new'][name]:,}"])
    print(markdown_table(["case", "old, ms", "new, ms", "ratio", "columns read, old", "new"], rows), "\n")
    summary = []
    for family, found in families.items():
        times, columns = [one[0] for one in found], [one[1] for one in found if one[1] > 0.0]
        read = f"{mean(columns):.2f}" if columns else ""
        summary.append([family, str(len(found)), f"{mean(times):.2f}", f"{max(times):.2f}", read])
    print(markdown_table(["family", "cases", "time, geometric mean", "worst", "columns read"], summary))


if __name__ == "__main__":
    main()
