"""How far the solver reaches: threads, storage as it comes, data on disk and on a cluster.

    python benchmarks/reach.py [--only threads,storage,disk,dask] [--scale SHARE] [--jobs 2,16] [--repeats N]
    python benchmarks/reach.py --only threads [--fits dense,LassoCV]
    python benchmarks/reach.py --only dask --figures rounds          counts, no times
    python benchmarks/reach.py --only dask --figures others [--limit SECONDS]       Spark and dask-ml

``--scale`` makes the generated data smaller.  Ratios are of runs in turns in one process; fits end at equal gaps.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from reaching import disk, on_dask, storage, threads

PARTS = {"threads": threads.run, "storage": storage.run, "disk": disk.run, "dask": on_dask.run}


def main(given=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts to run, of {', '.join(PARTS)}")
    parser.add_argument("--scale", type=float, default=1.0, help="of the data's size")
    parser.add_argument("--jobs", default=str(min(2, os.cpu_count() or 1)), help="numbers of threads")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--fits", default="", help="of the part threads: only fits with one of these words in the name")
    figures = "rounds,overhead,workers,others"
    parser.add_argument("--figures", default=figures, help=f"of the part dask: some of {figures}")
    parser.add_argument("--limit", type=float, default=180.0, help="seconds for a fit by others")
    options = parser.parse_args(given)
    if not 0.0 < options.limit < float("inf"):
        parser.error(f"--limit must be a positive number of seconds; got {options.limit:g}")
    options.jobs = [int(word) for word in options.jobs.split(",")]
    options.here = Path(__file__).parent
    for name in options.only.split(","):
        if name not in PARTS:
            parser.error(f"--only knows {', '.join(PARTS)}; got {name}")
        PARTS[name](options)


if __name__ == "__main__":
    main()
