"""The tables of selection.  The contest has two, seconds and reads: a row a data set and λ, a column a method."""

from __future__ import annotations

from functools import partial

from common.tables import Table

METHODS = ("uniform", "cyclic", "a-ascd norm", "u-ascd norm", "block norm", "block reference")


def _iteration(row):
    own, base = 1e9 * row["seconds"], 1e9 * row["uniform"]
    times = [f"{own:.0f} ns", f"{base:.0f} ns", f"{own / base:.2f}"]
    return [f"{row['case']}, λmax/{row['part']}", row["rule"], *times]


def _contest(row, what, digits):
    """Every method's seconds or reads, in brackets as a part of uniform's; for the others how far they stayed away."""
    uniform = row["methods"]["uniform"][what]
    cells = [f"{row['case']}, λmax/{row['part']}"]
    for method in METHODS:
        found = row["methods"].get(method)
        if found is None:
            cells.append("-")
        elif found[what] is None:
            cells.append(f"{found['left']:.0e} left" if found.get("left") is not None else "not reached")
        else:
            share = f" ({found[what] / uniform:.2f})" if uniform else ""
            cells.append(f"{found[what]:.{digits}f}{share}")
    return cells


def _default(row):
    """Seconds of each, then the quotients; for a method that did not arrive in its time how far it stayed away."""
    cells = [f"{row['case']}, λmax/{row['part']}", row["problem"]]
    for method in ("uniform", "cyclic", "default"):
        found = row["methods"][method]
        late = f"> {found['spent']:.1f} ({found['left']:.0e} left)" if not found["seconds"] else ""
        cells.append(late or f"{found['seconds']:.3f}")
    return [*cells, *(f"{quotient:.2f}" for quotient in row["quotients"].values())]


TABLES = {
    "iteration": Table(
        "time of an iteration against uniform's (bar 3 for a-ascd)",
        ("case", "part", "rule"),
        ("case", "rule", "an iteration", "uniform", "quotient"),
        _iteration,
    ),
    "race": Table(
        "Lasso to relative suboptimality 1e-4, coordinate steps, everything counted: seconds (of uniform's)",
        ("case", "part"),
        ("case", *METHODS),
        partial(_contest, what="seconds", digits=3),
    ),
    "default": Table(
        "minimize(problem) as it comes, to relative suboptimality 1e-4, everything counted: seconds and quotients",
        ("case", "problem", "part"),
        ("case", "problem", "uniform", "cyclic", "default", "of uniform", "of cyclic", "of the better", "reads"),
        _default,
    ),
}
#: The same rows in column reads, a column read once counting 1/n.
READS = TABLES["race"]._replace(cells=partial(_contest, what="reads", digits=2))
