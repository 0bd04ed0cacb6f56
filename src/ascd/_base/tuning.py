"""Numbers that the rest of the library shares: threads, messages, the cache."""

from __future__ import annotations

#: Fewer columns than this stay on one thread: handing them to others takes longer than reading them.
WORTH_SHARING = 4096
#: With fewer entries in the matrix than this, the linear algebra library (OpenBLAS) does not start threads, and they
#: need not be held back, which takes longer than such a product.
WORTH_LIMITING = 10_000
#: Compiling that takes longer than this many seconds is announced, where somebody asked for it.
A_MOMENT = 0.5
#: Valid names that an error lists.
MOST_NAMES = 40
#: Letters of the fingerprint of the sources in the names of cached kernels: 48 bits.
DIGEST_SIZE = 12
#: Compiled kernels of another version are kept for a week.
SECONDS_KEPT = 7 * 24 * 3600.0
