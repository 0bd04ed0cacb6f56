"""What the constants of the solver do: each is halved and doubled, and columns read and time are compared.

    python benchmarks/tuning.py [--only NAME,…] [--repeats N]

Geometric means over generated problems (Lasso dense and sparse, L1-logistic, Huber, a path, an SVM's dual), as ratios
to the run with all constants as they are; of the repeats the shortest processor time counts.  Numbers that compiled
code uses are left out: they would have to be compiled anew.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
import scipy.sparse as sp
from common.tables import markdown_table

import ascd
from ascd.matrix import prices
from ascd.problem import tuning as work
from ascd.solver import tuning

#: Imported by name, most of them by compiled code: setting the module's attribute would not change them.
IMPORTED = (
    "ABOVE_HALF", "ABOVE_POWER", "CONSTANT", "CURVATURE_STEPS", "LARGEST_FACTORS", "PAST_SHIFT", "RUN", "STEPS_INSIDE",
    "VISITED", "SHRINKS", "TILE", "TILE_ROWS", "ROWS_A_PART", "LEFT_BY_MEANS", "LANES", "COUPLED_AT_ONCE",
)  # fmt: skip
#: Limits, glmnet's rules for the end of a path, bounds of rounding errors: another value would not be better.
FIXED = ("DEFAULT_ROUNDS", "LARGEST_INTERCEPT", "FEW_ULPS", "ALMOST_ALL", "HARDLY_MORE", "FEWEST_PENALTIES")
#: Of the problem's numbers, those that bound what a proof may cost.
WORK = ("MOST_DUAL_FITS", "MOST_SCALES", "WORTHWHILE", "FEW_COLUMNS", "MOST_OPERATIONS", "LARGEST_PROGRAM")


def problems():
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((100, 900)) + 0.5 * rng.standard_normal((100, 1))
    text = sp.random(600, 3000, 0.01, format="csc", random_state=0)
    tall = rng.standard_normal((1000, 40))
    for name, A in (("wide", wide), ("text", text), ("tall", tall)):
        b = A[:, :20] @ rng.standard_normal(20) + rng.standard_normal(A.shape[0])
        top = float(abs(A.T @ b).max())
        yield f"lasso {name} /20", ascd.solve, ascd.Problem(A, b, penalty=ascd.L1(top / 20)), {"intercept": True}
        if name != "text":
            yield f"lasso {name} /200", ascd.solve, ascd.Problem(A, b, penalty=ascd.L1(top / 200)), {}
        signs = ascd.Problem(A, np.sign(b), "logistic", ascd.L1(float(abs(A.T @ np.sign(b)).max()) / 40))
        yield f"logistic {name}", ascd.solve, signs, {}
        yield f"huber {name}", ascd.solve, ascd.Problem(A, b, "huber", ascd.L1(top / 10)), {}
    yield (
        "path",
        ascd.path,
        ascd.Problem(wide, wide[:, 0] - wide[:, 1], penalty=ascd.L1(1.0)),
        {"n_alphas": 15, "eps": 0.05},
    )
    yield "svm", ascd.solve, ascd.DualSVM(tall[:700], np.sign(tall[:700, 0] + 0.5), C=0.1), {"tol": 1e-4}


def measure(cases, repeats: int) -> list[tuple[float, int]]:
    """Processor seconds and columns read of each."""
    found = []
    for _, solve, problem, options in cases:
        best, reads = math.inf, 0
        for _ in range(repeats):
            began = time.process_time()
            reads = solve(problem, **options).reads
            best = min(best, time.process_time() - began)
        found.append((best, reads))
    return found


def mean_ratios(now, before) -> tuple[float, float, float]:
    seconds = [math.log(a[0] / b[0]) for a, b in zip(now, before, strict=True)]
    reads = [math.log(a[1] / b[1]) for a, b in zip(now, before, strict=True)]
    return math.exp(np.mean(reads)), math.exp(np.mean(seconds)), math.exp(max(seconds))


def is_varied(home: object, name: str, value: object) -> bool:
    is_listed = name in WORK if home is work else name not in (*IMPORTED, *FIXED)
    return is_listed and name.isupper() and isinstance(value, int | float)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="parts of names of constants")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    homes = (tuning, prices, work)
    listed = [(home, name) for home in homes for name, value in vars(home).items() if is_varied(home, name, value)]
    wanted = [(home, name) for home, name in listed if any(map(name.__contains__, options.only.split(",")))]
    cases = list(problems())
    measure(cases, 1)  # compile
    as_it_is, rows = measure(cases, options.repeats), []
    for home, name in wanted:
        value, cells = getattr(home, name), []
        for factor in (0.5, 2.0):
            changed = max(1, round(factor * value)) if isinstance(value, int) else factor * value
            setattr(home, name, changed)
            try:
                cells += [f"{ratio:.2f}" for ratio in mean_ratios(measure(cases, options.repeats), as_it_is)]
            finally:
                setattr(home, name, value)
        rows.append([name, f"{value:g}", *cells])
    head = ["constant", "value", "halved: reads", "time", "worst", "doubled: reads", "time", "worst"]
    print(markdown_table(head, rows))


if __name__ == "__main__":
    main()
