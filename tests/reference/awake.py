"""The rule "awake" by lists and sorting: sweeps over what may move, and a look at all bounds where it is paid for."""

from __future__ import annotations

import math

LOOKS = 2


class Awake:
    """Prices as given; ``bounds()`` are the upper bounds now, ``measure`` and ``refresh`` belong to the oracle."""

    def __init__(self, look_prices, scan_price, share, buckets, bounds, measure, refresh):
        self.rng = None
        self.look_prices, self.scan_price, self.buckets = look_prices, scan_price, buckets
        self.whole = sum(look_prices)
        self.limit = share * self.whole
        self.bounds, self.measure, self.refresh = bounds, measure, refresh
        self.idle = [0] * len(look_prices)
        self.sweep, self.kept, self.moves = [], [], 0
        self.work = self.waste = self.spent = 0.0
        self.last = None

    def judge(self, x):
        j, before = self.last
        price = self.look_prices[j]
        if x[j] != before:
            self.work += 2 * price
            self.moves, self.idle[j] = self.moves + 1, 0
        else:
            self.work, self.waste = self.work + price, self.waste + price
            self.idle[j] = min(self.idle[j] + 1, LOOKS)
        if self.idle[j] < LOOKS:
            self.kept.append(j)

    def next_sweep(self, t):
        still = not self.kept or not self.moves
        self.sweep, self.kept, self.moves = self.kept, [], 0
        if still or self.work >= self.scan_price:
            self.spent, self.work = self.spent + self.work, 0.0
            self.measure()
            upper = self.bounds()
            asleep = [j for j, u in enumerate(upper) if u > 0.0 and self.idle[j] >= LOOKS]
            if sum(self.look_prices[j] for j in asleep) + self.waste <= self.limit:
                self.wake(upper)
            elif still or self.spent >= self.whole:
                self.refresh()
                self.waste = self.spent = 0.0
                self.wake(self.bounds())
        self.sweep = self.sweep or [t % len(self.look_prices)]

    def wake(self, upper):
        largest = max(upper)
        self.sweep = [j for j, u in enumerate(upper) if u > 0.0]
        for j, u in enumerate(upper):
            self.idle[j] = LOOKS if not u > 0.0 else 0 if self.idle[j] >= LOOKS else self.idle[j]
        for i in range(len(self.sweep) - 1, 0, -1):  # Fisher and Yates
            other = int(self.rng.random() * (i + 1))
            self.sweep[i], self.sweep[other] = self.sweep[other], self.sweep[i]
        if 0.0 < largest < math.inf:
            self.sweep.sort(key=lambda j: min(int(math.log2(largest / upper[j])), self.buckets - 1))

    def select(self, x, t, rng):
        self.rng = rng
        if self.last is not None:
            self.judge(x)
        if not self.sweep:
            self.next_sweep(t)
        j = self.sweep.pop(0)
        self.last = j, x[j]
        return j
