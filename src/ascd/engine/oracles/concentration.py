"""How far the mean of a sample may be from what it estimates, with a stated probability of failure.

Let y_1, …, y_m be independent with |y| ≤ 1, mean μ, sample mean ȳ and sample variance V̂ (divided by m − 1).  Each of
these holds with probability at least 1 − η:

* Bernstein, where E y² ≤ v is known:   |ȳ − μ| ≤ √(2v·ln(2/η)/m) + 2·ln(2/η)/(3m),  as |y − μ| ≤ 2;
* empirical Bernstein (Maurer and Pontil 2009, Theorem 4, both sides, a range of length 2):
  |ȳ − μ| ≤ √(2V̂·ln(4/η)/m) + 14·ln(4/η)/(3(m − 1)).

The first is smaller for few draws, the second where the variance is far below what is known of it.  ``sampled_radius``
is the smaller of both, each with half of the probability.

**Union.**  A run draws samples without knowing how many it will draw.  Sample s gets the share 6/(π²s²) of the failure
that is allowed, divided by the n entries that it estimates; the shares sum to 1.
"""

from __future__ import annotations

import math

from ascd._core.jit import helper


@helper
def share_of_failure(failure: float, sample: float, entries: int) -> float:
    """η for one entry of one sample, so that all entries of all samples fail together with ``failure`` at most.

    Examples
    --------
    >>> from ascd.engine.oracles.concentration import share_of_failure
    >>> total = sum(5 * share_of_failure(0.1, sample, 5) for sample in range(1, 100_000))
    >>> round(total, 4)
    0.1
    """
    return 6.0 * failure / (math.pi * math.pi * sample * sample * entries)


@helper
def bernstein_radius(second_moment: float, draws: int, eta: float) -> float:
    """Bernstein's radius for draws in [−1, 1] with E y² ≤ ``second_moment``."""
    log = math.log(2.0 / eta)
    return math.sqrt(2.0 * second_moment * log / draws) + 2.0 * log / (3.0 * draws)


@helper
def empirical_radius(variance: float, draws: int, eta: float) -> float:
    """The radius of Maurer and Pontil for draws in [−1, 1] with that sample variance."""
    log = math.log(4.0 / eta)
    return math.sqrt(2.0 * variance * log / draws) + 14.0 * log / (3.0 * (draws - 1.0))


@helper
def sampled_radius(variance: float, second_moment: float, draws: int, eta: float) -> float:
    """The smaller of both radii, together with probability at least 1 − η.

    Examples
    --------
    >>> from ascd.engine.oracles.concentration import sampled_radius
    >>> round(sampled_radius(0.04, 1.0, 1000, 0.01), 4)  # a small variance was seen
    0.0544
    >>> round(sampled_radius(1.0, 0.04, 1000, 0.01), 4)  # a small one was known beforehand
    0.0259
    """
    known = bernstein_radius(second_moment, draws, 0.5 * eta)
    return min(known, empirical_radius(variance, draws, 0.5 * eta))
