"""What reading costs, in nanoseconds on one core: the solver chooses between columns and their products by these.

They need not be exact: where one is wrong by a factor of two, so is the time at most (see ``solver.subproblem``).
``python benchmarks/tuning.py`` halves and doubles each of them; its table is in docs/benchmarks.md.
"""

from __future__ import annotations

#: One product of two entries inside a matrix product; one entry in a sweep.
DENSE_PRODUCT, DENSE_ENTRY = 0.15, 1.0
#: The same of sparse columns; and to list an entry by rows.
SPARSE_PRODUCT, SPARSE_ENTRY, LISTED = 1.6, 2.0, 7.0
#: A visit of a coordinate in a sweep; the calls from Python that products take.
VISIT, CALLS = 20.0, 3e5
#: Products of numbers that take less time than a few calls from Python.
CHEAP = 300_000
#: Entries gathered at a time, the size of the work space of a dense product (2 MiB, a core's cache); columns multiplied
#: at a time, so that their part of sparse products stays in the cache while all rows pass.
BLOCK, PASSING = 1 << 18, 128
