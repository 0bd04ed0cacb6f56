"""``python -m ascd.demo``: the paper's synthetic Lasso by uniform, steepest and approximate steepest selection.

It prints the objective and the size of the active set over the epochs and draws both (``demo_output/demo.png``).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from ascd.datasets import make_synthetic
from ascd.minimize import minimize
from ascd.oracles import Exact
from ascd.penalties import L1
from ascd.problem import Problem
from ascd.trace import Trace

#: name → options of ``minimize``.  SCD gets its gradient from exact Gram entries, so that it ends in seconds.
METHODS: dict[str, dict[str, object]] = {
    "UCD (uniform)": {"rule": "uniform"},
    "SCD (steepest)": {"rule": "steepest", "oracle": Exact()},
    "ASCD": {"rule": "ascd", "oracle": "norm"},
}
ROWS = 11


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description="Three selection rules on the paper's synthetic Lasso.")
    parser.add_argument("--epochs", type=int, default=20, help="number of passes (n steps each)")
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="folder for the picture")
    options = parser.parse_args()
    problem, description = synthetic_lasso()
    print(f"{description}\nfixed step 1/L, GS-s, started from the true gradient, {options.epochs} epochs\n")
    traces = run(problem, options.epochs)
    print(table(traces, problem.n_features))
    print(f"\npicture: {draw(traces, description, options.out)}")


def synthetic_lasso() -> tuple[Problem, str]:
    """The problem of the paper's Fig. 2b, with the parameters that the paper leaves open."""
    data = make_synthetic(n_samples=1000, n_features=5000, n_nonzero=50, noise=1.0, rng=0)
    strength = float(np.abs(data.A.T @ data.b).max()) / 20.0
    return Problem(data.A, data.b, penalty=L1(strength)), "synthetic Lasso, d = 1000, n = 5000, λ = λ_max/20"


def run(problem: Problem, epochs: int) -> dict[str, Trace]:
    """One trace a method, recorded ten times an epoch."""
    n = problem.n_features
    common = {"step": "fixed", "init": "gradient", "max_iter": epochs * n, "tol": 0.0, "record": n // 10, "rng": 0}
    return {name: minimize(problem, **common, **parts).trace for name, parts in METHODS.items()}  # type: ignore[arg-type]


def table(traces: dict[str, Trace], n: int) -> str:
    """Objective and active set at evenly spaced epochs."""
    lines = ["epoch  " + "".join(f"{name:>32}" for name in traces)]
    lines.append("       " + "".join(f"{'objective':>20}{'active':>12}" for _ in traces))
    some = next(iter(traces.values()))
    for row in np.linspace(0, len(some) - 1, ROWS).astype(int):
        cells = "".join(f"{trace.objective[row]:20.4f}{int(trace.active[row]):12d}" for trace in traces.values())
        lines.append(f"{some.iteration[row] / n:5.1f}  {cells}")
    lines.append("seconds" + "".join(f"{trace.seconds[-1]:32.2f}" for trace in traces.values()))
    return "\n".join(lines)


def draw(traces: dict[str, Trace], title: str, folder: Path) -> str:
    """The picture's path, or why there is none."""
    try:
        import matplotlib
    except ImportError:
        return "none, matplotlib is not installed (pip install ascd[plot])"
    matplotlib.use("agg")
    from ascd.plotting import plot_traces

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "demo.png"
    plot_traces(traces, title=title).figure.savefig(path, dpi=120)
    return str(path)


if __name__ == "__main__":
    main()
