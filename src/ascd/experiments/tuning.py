"""Numbers by which experiments are made and their claims judged; what is run, and how large, stands in ``table``."""

from __future__ import annotations

# ---- runs

#: Records a run: points of a curve.
RECORDS_A_RUN = 120
#: Seconds after which the search for the minimum ends, compiling included; its gap tells how good it is.
SEARCH_SECONDS = {"quick": 30.0, "full": 120.0}
#: Iterations of Fig. 1 that are drawn; the mean is over more.
SHOWN = 2000
#: Points of a segment at which a curvature is looked at.
POINTS = 201
#: Comparisons of sums of some thousand terms in floating point.
COMPARISON_ROUNDING = 1e-9

# ---- verdicts

#: Heights do not count what happens below this relative suboptimality: nobody needs it, and one curve that reaches
#: rounding would outweigh all else.
SMALLEST_EXCESS = 1e-6
#: Curves whose heights differ by less than this (0.05: 12 %) count as equal.
EQUAL = 0.05
#: "Almost nothing can be gained", "almost identical".
ALMOST = 0.15
#: Rounding, and the grid of ``POINTS`` on which a curvature is looked at.
SLACK = 1e-6
#: A simulated mean may lie this far below its limit by chance.
NOISE = 0.02
