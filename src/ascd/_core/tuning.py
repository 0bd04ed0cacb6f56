"""Numbers that the rest of the library shares: threads, messages, the cache."""

from __future__ import annotations

#: Nanoseconds of work that a further thread must have: to wake one takes a part of that.  With sixteen threads on x86
#: that is some 100 µs each (``python benchmarks/reach.py --only threads``).
WORTH_A_THREAD = 2.5e5
#: Parts for each thread, at most: the first to end takes another.  Nanoseconds of work that a part must have then.
#: (A pass over 5·10⁷ sparse entries has three for each of sixteen.)
MOST_PARTS, WORTH_A_PART = 4, 1e6
#: Numbers in a part of a list that threads make together: parts of fixed size, joined in their order.
LISTED_A_PART = 1 << 13
#: Threads of a process, all runs together: more processors have not been met.
MOST_THREADS = 256
#: With fewer entries in the matrix than this, the linear algebra library (OpenBLAS) does not start threads, and they
#: need not be limited, which takes longer than such a product.
WORTH_LIMITING = 10_000
#: Products in a call of that library that are worth waking its threads for, 0.1 s of them: they stay busy for 2²⁶
#: ticks of the processor's stopwatch after it (20 ms on x86, 0.5 s on ARM).
WORTH_THE_LIBRARYS = 1e9
#: Compiling that takes longer than this many seconds is announced, where somebody asked for it.
A_MOMENT = 0.5
#: Letters of the fingerprint of the sources in the names of cached kernels: 48 bits.
DIGEST_SIZE = 12
#: Compiled kernels of another version are kept for a week.
SECONDS_KEPT = 7 * 24 * 3600.0
