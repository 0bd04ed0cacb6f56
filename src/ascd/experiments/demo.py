"""The demo behind ``ascd demo`` and ``make demo``: a fit with its certificate, a race of rules, and a page.

Everything is embedded or generated: scikit-learn's diabetes data for the fit, the paper's synthetic Lasso (Fig. 2b,
with the parameters that the paper leaves open) for the race.  The race asks the paper's question: how many columns does
a rule read, and how long does it take, to come within 1e-6 of the minimum?
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ascd.datasets import make_synthetic
from ascd.io import whole_folder
from ascd.problem.problem import Problem
from ascd.racing import Entrant, Outcome, make_problem, race, silently
from ascd.racing.outcome import CURVES, rounded_up
from ascd.report import Section, Table, draw_charts, write_page

FIT_TITLE = "A Lasso on scikit-learn's diabetes data, with proof"
FIT_HEAD = ("alpha", "nonzero", "R²", "objective", "above the minimum", "columns read")
ALPHAS = (2.0, 0.5, 0.05)
#: SCD gets its gradient from exact Gram entries, so that it ends in seconds.
METHODS = {
    "UCD (uniform)": Entrant("uniform", "norm", "gs-s"),
    "SCD (steepest)": Entrant("steepest", "exact", "gs-s"),
    "ASCD": Entrant("ascd", "norm", "gs-s"),
    "a-ASCD": Entrant("a-ascd", "norm", "gs-s"),
}
RACE_TITLE = "The paper's synthetic Lasso by four selection rules"
SAME = "All rules take the same steps of length 1/L and differ in which coordinate comes next. "


def fits() -> list[tuple[str, ...]]:
    """Lassos of three strengths on the diabetes data, each with what is proved about it."""
    from sklearn.datasets import load_diabetes

    from ascd.estimators import Lasso

    X, y = load_diabetes(return_X_y=True)
    rows: list[tuple[str, ...]] = []
    for alpha in ALPHAS:
        model = Lasso(alpha=alpha).fit(X, y)
        proof = model.certificate_
        shown = (f"{model.score(X, y):.4f}", f"{proof.objective:.4f}", f"≤ {rounded_up(proof.gap)} (proved)")
        rows.append((f"{alpha:g}", f"{np.count_nonzero(model.coef_)} of {X.shape[1]}", *shown, str(proof.columns_read)))
    return rows


def synthetic_data(n_samples: int = 1000, n_features: int = 5000) -> tuple[Any, Problem]:
    """The data and the problem of the paper's Fig. 2b."""
    data = make_synthetic(n_samples, n_features, n_nonzero=50, noise=1.0, rng=0)
    return data.A, make_problem(data.A, data.b, "lasso", "max/20")


def contest(epochs: int = 200, given: tuple[Any, Problem] | None = None, show: Any = silently) -> Outcome:
    """The race, with the paper's fixed step 1/L from the true gradient; ``show`` as in ``racing.race``."""
    X, problem = synthetic_data() if given is None else given
    return race(problem, METHODS, "fixed", "gradient", epochs, show=show, beside=(X, "lasso"))


def publish(outcome: Outcome, rows: list[tuple[str, ...]], folder: Path) -> list[Path]:
    """The page, and pictures where matplotlib is there; returns their paths, the page first."""
    chart = outcome.chart(RACE_TITLE)
    table = Table("fits", FIT_TITLE, FIT_HEAD, rows)
    sections = [outcome.table(), Section("race", "The race", SAME + CURVES, (chart,)), table]
    with whole_folder(folder) as drafts:
        made = [write_page(drafts / "report.html", "ascd: a demonstration", sections)]
        with suppress(ImportError):
            made += draw_charts([chart], drafts / "demo")
    return [folder / path.name for path in made]
