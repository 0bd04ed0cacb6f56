"""The rule "awake" by lists and sorting: sweeps over what may move, short ones over the quickest of these, and a look
at all bounds where it is paid for."""

from __future__ import annotations

import math

LOOKS = 2
SLOW, SHORT = 0.25, 4.0


class Awake:
    """Prices as given; ``bounds()`` are the upper bounds now, ``measure`` and ``refresh`` belong to the oracle."""

    def __init__(self, look_prices, scan_price, share, buckets, lipschitz, bounds, measure, refresh):
        self.rng, self.lipschitz = None, lipschitz
        self.look_prices, self.scan_price, self.buckets = look_prices, scan_price, buckets
        self.whole = sum(look_prices)
        self.limit = share * self.whole
        self.bounds, self.measure, self.refresh = bounds, measure, refresh
        self.idle = [0] * len(look_prices)
        self.sweep, self.kept, self.moves = [], [], 0
        self.work = self.waste = self.spent = 0.0
        self.last = None
        self.looked = []  # (coordinate, gain, cost) of every look of this sweep
        self.rate, self.awake, self.aside, self.short_cost = {}, [], None, 0.0

    def judge(self, x):
        j, before = self.last
        price = self.look_prices[j]
        cost = 2 * price if x[j] != before else price
        self.work += cost
        if x[j] != before:
            self.moves, self.idle[j] = self.moves + 1, 0
        else:
            self.waste += price
            self.idle[j] = min(self.idle[j] + 1, LOOKS)
        gain = self.lipschitz[j] / 2 * (x[j] - before) ** 2
        self.looked.append((j, gain, cost))
        self.rate[j] = gain / cost
        if self.idle[j] < LOOKS:
            self.kept.append(j)

    def short_list(self):
        """Those to sweep again before all others; none where a sweep over all is due."""
        gain, cost = (sum(look[place] for look in self.looked) for place in (1, 2))
        if self.aside is None:
            self.awake, aside, self.short_cost = self.kept, [], 0.0
        else:
            aside, self.short_cost = self.aside, self.short_cost + cost
            others = [2 * self.look_prices[j] for j in aside]
            waiting = sum(self.rate[j] * price for j, price in zip(aside, others, strict=True))
            if gain / cost * sum(others) < waiting or self.short_cost > SHORT * sum(others):
                return []
        quick = [j for j in self.kept if self.rate[j] >= SLOW * gain / cost]
        if self.aside is None and len(quick) == len(self.kept):
            return []
        self.aside = aside + [j for j in self.kept if j not in quick]
        return quick

    def next_sweep(self, t):
        still, was_short = not self.kept or not self.moves, self.aside is not None
        short = [] if still else self.short_list()
        self.looked, kept, self.kept, self.moves = [], self.kept, [], 0
        if short:
            self.sweep = short
            return
        self.aside = None
        self.sweep = [j for j in self.awake if self.idle[j] < LOOKS] if was_short else kept
        still = not self.sweep if was_short else still
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
