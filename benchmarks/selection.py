"""Does approximate steepest selection pay in seconds?  Everything counted, all methods in one run, as ratios.

    python benchmarks/selection.py [--data FOLDER] [--quick] [--case NAME] [--problem NAME] [--json FILE]
                                   [--only iteration|race|default]

- iteration: time of an iteration against ``uniform`` (bar: a-ascd ≤ 3)
- race: Lasso to relative suboptimality 1e-4 with coordinate steps; wall-clock and column reads of the best ASCD
  configuration against ``uniform`` and ``cyclic``, reading the start gradient and refreshing included (bars on the
  RCV1-v2 sample: ≤ 1/3 of uniform's and 1/2 of cyclic's time, ≤ 1/5 of uniform's reads)
- default: ``minimize(problem)`` as it comes against ``uniform`` and ``cyclic``, four kinds of problems (bars: 0.33 of
  uniform's and 0.5 of cyclic's time in the geometric mean, 1.1 of the better at worst, 0.2 of uniform's reads)

The data folder holds npz files (``scipy.sparse.load_npz`` gives the design, "y" the target); without it, synthetic
data stand in and are named so.  Every row is stored in benchmarks/results/selection.json as it is measured
(``common/ledger.py``); the tables of the documentation are written from there (``make bench-tables``).
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from choosing.contest import contest, iteration
from choosing.data import FOLDER
from choosing.default import defaults
from choosing.tables import TABLES
from common.ledger import Ledger, place_of
from common.tables import measured


def main(given=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=FOLDER, help="folder with npz files")
    parser.add_argument("--quick", action="store_true", help="fewer cases and repeats, a file of their own")
    parser.add_argument("--only", choices=TABLES, help="run one part")
    parser.add_argument("--case", default="", help="iterations and races of the cases whose name has this")
    parser.add_argument("--problem", default="", help="defaults on the problems whose name has this")
    parser.add_argument("--json", type=Path, help="where the results go")
    options = parser.parse_args(given)
    shared = (options.data, options.quick)
    parts = {
        "iteration": partial(iteration, *shared, options.case),
        "race": partial(contest, *shared, options.case),
        "default": partial(defaults, *shared, options.case, options.problem),
    }
    ledger = Ledger(options.json or place_of("selection", options.quick), "selection.py", given)
    measured(parts, TABLES, ledger, options.only)


if __name__ == "__main__":
    main()
