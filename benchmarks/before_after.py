"""Two checkouts of this repository side by side: time and columns read, as ratios new/old.

    python benchmarks/before_after.py OLD NEW [--repeats N] [--data FOLDER]

Each checkout answers in processes of its own, which take turns; of the repeats the shortest processor time counts.  The
problems are generated: Lasso, elastic net, L1-logistic, Huber, an SVM's dual, paths, dense and sparse, tiny and not.
With ``--data`` those of a folder with npz files (X, y) are added.
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
WORKER = """
import json, sys, time
import numpy as np, scipy.sparse as sp, ascd
rng = np.random.default_rng(0)
def dense(d, n):
    A = rng.standard_normal((d, n)) + 0.5 * rng.standard_normal((d, 1))
    return A, A[:, :20] @ rng.standard_normal(20) + rng.standard_normal(d)
def sparse(d, n, density):
    A = sp.random(d, n, density, format="csc", random_state=0, data_rvs=lambda size: 1.0 + rng.random(size))
    return A, A[:, :50] @ rng.standard_normal(50) + 0.1 * rng.standard_normal(d)
def top(A, b):
    return float(abs(A.T @ b).max())
tiny, wide, tall, text = dense(50, 20), dense(400, 6000), dense(6000, 120), sparse(3000, 20000, 0.004)
cases = {}
data = {"tiny": (tiny, (10,)), "wide": (wide, (10, 100)), "tall": (tall, (10, 1000)), "text": (text, (20, 100))}
for name, ((A, b), parts) in data.items():
    for part in parts:
        cases[f"lasso {name} /{part}"] = ascd.solve, ascd.Problem(A, b, penalty=ascd.L1(top(A, b) / part)), {}
    strength = top(A, np.sign(b)) / 2 / parts[0]
    cases[f"logistic {name} /{parts[0]}"] = ascd.solve, ascd.Problem(A, np.sign(b), "logistic", ascd.L1(strength)), {}
A, b = wide
cases["lasso wide intercept"] = ascd.solve, ascd.Problem(A, b + 5, penalty=ascd.L1(top(A, b) / 20)), {"intercept": True}
cases["enet wide"] = ascd.solve, ascd.Problem(A, b, penalty=ascd.L1L2(top(A, b) / 20, 1.0)), {}
cases["path wide"] = ascd.path, ascd.Problem(A, b, penalty=ascd.L1(1.0)), {"n_alphas": 30, "eps": 0.03}
A, b = text
cases["path text"] = ascd.path, ascd.Problem(A, b, penalty=ascd.L1(1.0)), {"n_alphas": 20, "eps": 0.05}
A, b = tall
cases["huber tall"] = ascd.solve, ascd.Problem(A, b, "huber", ascd.L1(10.0)), {"intercept": True}
cases["svm dual"] = ascd.solve, ascd.DualSVM(A[:2000, :50], np.sign(b[:2000]), C=0.01), {"tol": 1e-4}
for path in sys.argv[2:]:
    with np.load(path, allow_pickle=True) as file:
        if not {"X", "y"} <= set(file):
            continue
        A, b = np.asfortranarray(file["X"], dtype=float), file["y"].astype(float)
    b = b - b.mean()
    cases[f"lasso {path.rpartition('/')[2]}"] = ascd.solve, ascd.Problem(A, b, penalty=ascd.L1(top(A, b) / 20)), {}
answers = {}
for name, (solve, problem, options) in cases.items():
    first = solve(problem, **options)
    began, count = time.process_time(), 0
    while time.process_time() - began < float(sys.argv[1]):
        solve(problem, **options)
        count += 1
    answers[name] = (time.process_time() - began) / count, first.reads
print(json.dumps(answers))
"""


def measure(tree: Path, seconds: float, files: list[str]) -> dict[str, tuple[float, int]]:
    """Seconds and columns read of every case, in a process that uses this checkout."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", WORKER, str(seconds), *files]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="that a case is repeated for in a process")
    parser.add_argument("--data", type=Path, help="folder with npz files")
    options = parser.parse_args()
    files = sorted(map(str, options.data.glob("*.npz"))) if options.data else []
    best: dict[str, dict[str, float]] = {"old": {}, "new": {}}
    reads: dict[str, dict[str, int]] = {"old": {}, "new": {}}
    for _ in range(options.repeats):
        for side, tree in (("old", options.old), ("new", options.new)):
            for name, (seconds, columns) in measure(tree, options.seconds, files).items():
                best[side][name] = min(seconds, best[side].get(name, math.inf))
                reads[side][name] = columns
    rows, ratios = [], []
    for name, old in best["old"].items():
        ratios.append(best["new"][name] / old)
        times = [f"{1e3 * old:.3f}", f"{1e3 * best['new'][name]:.3f}", f"{ratios[-1]:.2f}"]
        rows.append([name, *times, f"{reads['old'][name]:,}", f"{reads['new'][name]:,}"])
    print(markdown_table(["case", "old, ms", "new, ms", "ratio", "columns read, old", "new"], rows))
    print(f"\ngeometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, worst {max(ratios):.2f}")


if __name__ == "__main__":
    main()
