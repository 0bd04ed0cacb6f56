"""What reading costs, in nanoseconds on one core: the solver chooses between columns and their products by these.

They need not be exact: where one is wrong by a factor of two, so is the time at most (see ``solver.subproblem``).
``python benchmarks/tuning.py`` halves and doubles each of them; its table is in docs/benchmarks.md.
"""

from __future__ import annotations

#: One product of two entries inside a matrix product; one entry in a sweep.
DENSE_PRODUCT, DENSE_ENTRY = 0.15, 1.0
#: The same of sparse columns; and to list an entry by rows.
SPARSE_PRODUCT, SPARSE_ENTRY, LISTED = 1.6, 2.0, 7.0
#: A look at a row that has entries of a working set.
FILLED_ROW = 4.0
#: A visit of a coordinate in a sweep; the calls from Python that products take.
VISIT, CALLS = 20.0, 3e5
#: The loss of a sample with its slope and curvature.
SAMPLE = 5.0
#: Data of fewer entries are converted to float64 columns: that takes less than compiling for what they are.
SMALL_DATA = 4_000_000
