"""The cost model in nanoseconds on one core, sizes of caches and blocks, and what rounding leaves of products.

The solver chooses between columns and their products by these costs.  They need not be exact: where one is wrong by a
factor of two, so is the time at most (see ``solver.subproblem``).
"""

from __future__ import annotations

# ---- nanoseconds

#: One product of two entries inside a dense matrix product; reading and using a dense entry in a sweep.
DENSE_PRODUCT, DENSE_ENTRY = 0.15, 1.0
#: The same of sparse columns; and to list an entry by rows.
SPARSE_PRODUCT, SPARSE_ENTRY, LISTED = 1.6, 2.0, 7.0
#: A visit of a coordinate in a sweep; the calls from Python that products take.
VISIT, CALLS = 20.0, 3e5
#: The loss of a sample with its derivative and curvature; of a loss with exp and log in it, 28 for the logistic.
SAMPLE, CURVED_SAMPLE = 5.0, 25.0
#: A number of a sum over samples that is little more than read; a visit of a coordinate's penalty and interval.
SUMMED, COORDINATE = 1.5, 5.0

# ---- data in memory

#: Data of fewer entries are converted to float64 columns: that takes less than compiling for what they are.
SMALL_DATA = 4_000_000
#: Entries gathered at a time, the size of the work space of a dense product (2 MiB, a core's cache).
BLOCK = 1 << 18
#: Rows that dense products are summed over at a time, at least: what is summed is read and written once for them.
ROWS = 512
#: Bytes of rows that are copied, or read from a file, at a time.
BLOCK_BYTES = 32 << 20
#: Compiled: columns whose sums stay in the cache (8 KiB each kind) while the rows of a block pass, and rows of these
#: that are read before the next columns are, half a megabyte of them.
TILE, TILE_ROWS = 1024, 64
#: What is left of a product of columns is rounding up to this share of what their means took from it: it is a sum
#: whose relative error is d·2⁻⁵³ at most.  A column of whose square no more is left is constant.
LEFT_BY_MEANS = 1e-12
#: The same where means are taken from entries before they are squared: a rounding error is squared too.
CONSTANT_CENTRED = 1e-24

# ---- data that are read where they are

#: What the cache of columns may take of the data's size, and always (in bytes).
NEAR_SHARE, NEAR_FLOOR = 0.08, 8_000_000
#: What it may always take (in bytes) where columns come from other machines, which should happen once.
NEAR_FETCHED = 256_000_000
#: Of the memory allowed for data on a disk: the cache of columns, it and others that replace it for a moment, and a
#: piece that is read, of which there are three.  With these a fit whose working set needs half of the memory stays
#: within it (``python benchmarks/reach.py --only disk``, λ_max/100).
FILE_NEAR, FILE_ROOM, FILE_PIECE = 0.55, 0.6, 1 / 32
#: Columns whose products with each other all come with a pass over tall data in chunks (32 MB of them).
AT_ONCE = 2000
#: Without a cluster, chunks of a collection stay in memory if they take at most this share of what is free.
MEMORY_SHARE = 0.5
#: An array that more workers need in a round than this goes out once, unless it is a small message (in bytes).
SENT_TO_EACH, SMALL_MESSAGE = 2, 100_000
#: Seconds that a cluster without workers gets to start one.
WORKERS_AWAITED = 300.0

# ---- data on a device

#: What may be put beside the data, as a share of them, and in bytes always.
DEVICE_SHARE, DEVICE_FLOOR = 0.02, 16 << 20
#: Arrays on a device with fewer entries are copied to the host: a pass over them there takes less time than a launch.
DEVICE_SMALL = 200_000
