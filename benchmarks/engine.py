"""What an iteration costs: the engine against bare loops, NumPy passes and itself, as ratios from one run.

    python benchmarks/engine.py [--quick] [--only PART] [--json FILE]

Every figure is the minimum of several interleaved repeats, in seconds of the processor, so that other work on the
machine disturbs little.  The bars are those the engine was built to:

    generic      uniform, sparse data          ≤ 1.5 × the same step as a bare numba loop
    selection    ascd, a-ascd with "norm"      ≤ 3 × a NumPy pass over four float64 arrays of length n
    dense        dense 2000 × 2000, a-ascd     ≤ 1.3 × uniform
    start        import + first minimize       ≤ 8 s with an empty cache, ≤ 1.0 s with a filled one; import ≤ 0.6 s
    memory       above the data                ≤ 10 float64 vectors of length n and 4 of length d

Every row is stored in benchmarks/results/engine.json as it is measured (``common/ledger.py``); the tables of the
documentation are written from there (``make bench-tables``).
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from common.ledger import Ledger, place_of
from common.tables import measured
from price import iterations, processes
from price.tables import TABLES

PARTS = {
    "generic": iterations.generic,
    "selection": iterations.selection,
    "dense": iterations.dense,
    "start": processes.start,
    "memory": processes.memory,
}


def main(given=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller cases, fewer repeats, a file of their own")
    parser.add_argument("--only", choices=PARTS, help="run one part")
    parser.add_argument("--json", type=Path, help="where the results go")
    options = parser.parse_args(given)
    ledger = Ledger(options.json or place_of("engine", options.quick), "engine.py", given)
    measured({name: partial(part, options.quick) for name, part in PARTS.items()}, TABLES, ledger, options.only)


if __name__ == "__main__":
    main()
