"""The rule "working-set" by lists and sorting: sweeps over coordinates that may move, short ones over those with the
largest rates, and a scan of all bounds where it is paid for."""

from __future__ import annotations

import math

VISITS = 2
SLOW, SHORT = 0.25, 4.0


class Sweeps:
    """Prices as given; ``bounds()`` are the upper bounds now, ``measure`` and ``refresh`` belong to the oracle."""

    def __init__(self, visit_costs, scan_price, share, buckets, lipschitz, bounds, measure, refresh):
        self.rng, self.lipschitz = None, lipschitz
        self.visit_costs, self.scan_price, self.buckets = visit_costs, scan_price, buckets
        self.whole = sum(visit_costs)
        self.limit = share * self.whole
        self.bounds, self.measure, self.refresh = bounds, measure, refresh
        self.idle = [0] * len(visit_costs)
        self.sweep, self.kept, self.moves = [], [], 0
        self.work = self.waste = self.spent = 0.0
        self.last = None
        self.visits = []  # (coordinate, gain, cost) of every visit of this sweep
        self.rate, self.working, self.aside, self.short_cost = {}, [], None, 0.0

    def record_visit(self, x):
        j, before = self.last
        price = self.visit_costs[j]
        cost = 2 * price if x[j] != before else price
        self.work += cost
        if x[j] != before:
            self.moves, self.idle[j] = self.moves + 1, 0
        else:
            self.waste += price
            self.idle[j] = min(self.idle[j] + 1, VISITS)
        gain = self.lipschitz[j] / 2 * (x[j] - before) ** 2
        self.visits.append((j, gain, cost))
        self.rate[j] = gain / cost
        if self.idle[j] < VISITS:
            self.kept.append(j)

    def short_list(self):
        """Coordinates to sweep again before all others; none where a sweep over all is due."""
        gain, cost = (sum(visit[place] for visit in self.visits) for place in (1, 2))
        if self.aside is None:
            self.working, aside, self.short_cost = self.kept, [], 0.0
        else:
            aside, self.short_cost = self.aside, self.short_cost + cost
            others = [2 * self.visit_costs[j] for j in aside]
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
        self.visits, kept, self.kept, self.moves = [], self.kept, [], 0
        if short:
            self.sweep = short
            return
        self.aside = None
        self.sweep = [j for j in self.working if self.idle[j] < VISITS] if was_short else kept
        still = not self.sweep if was_short else still
        if still or self.work >= self.scan_price:
            self.spent, self.work = self.spent + self.work, 0.0
            self.measure()
            upper = self.bounds()
            entering = [j for j, u in enumerate(upper) if u > 0.0 and self.idle[j] >= VISITS]
            if sum(self.visit_costs[j] for j in entering) + self.waste <= self.limit:
                self.renew(upper)
            elif still or self.spent >= self.whole:
                self.refresh()
                self.waste = self.spent = 0.0
                self.renew(self.bounds())
        self.sweep = self.sweep or [t % len(self.visit_costs)]

    def renew(self, upper):
        largest = max(upper)
        self.sweep = [j for j, u in enumerate(upper) if u > 0.0]
        for j, u in enumerate(upper):
            self.idle[j] = VISITS if not u > 0.0 else 0 if self.idle[j] >= VISITS else self.idle[j]
        for i in range(len(self.sweep) - 1, 0, -1):  # Fisher and Yates
            other = int(self.rng.random() * (i + 1))
            self.sweep[i], self.sweep[other] = self.sweep[other], self.sweep[i]
        if 0.0 < largest < math.inf:
            self.sweep.sort(key=lambda j: min(int(math.log2(largest / upper[j])), self.buckets - 1))

    def select(self, x, t, rng):
        self.rng = rng
        if self.last is not None:
            self.record_visit(x)
        if not self.sweep:
            self.next_sweep(t)
        j = self.sweep.pop(0)
        self.last = j, x[j]
        return j
