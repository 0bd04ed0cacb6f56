"""The claims made in passing: steps, scores, the price of a step, caching."""

from __future__ import annotations

from ascd.experiments.claims.register import HOLDS, NOT, PART, Evidence, Finding, claim, verdict_of
from ascd.experiments.curves import Curve
from ascd.experiments.tuning import ALMOST, EQUAL


@claim(
    "Sec. 7, details",
    "with a fixed step the convergence is slower for all algorithms than with line search",
    "height with 1/L minus height with 1/L_j (which is exact line search for a ridge problem), Fig. 2a data",
)
def fixed_is_slower(evidence: Evidence) -> Finding:
    fixed, exact = evidence.panel("2a").curves, evidence.panel("S-step").curves
    lost = {label: fixed[label].mean_log - exact[label].mean_log for label in fixed}
    text = ", ".join(f"{label} {value:+.2f}" for label, value in lost.items())
    return Finding(text, verdict_of([value > 0 for value in lost.values()]))


@claim(
    "Sec. 7, details",
    "the different GS rules perform almost identically",
    "range of the heights of GS-s, GS-r, GS-q for SCD and for ASCD (synthetic Lasso), at most 0.15",
)
def scores(evidence: Evidence) -> Finding:
    curves = evidence.panel("B-scores").curves
    ranges = {}
    for label in ("SCD", "ASCD"):
        values = [curve.mean_log for name, curve in curves.items() if name.startswith(f"{label} ")]
        ranges[label] = max(values) - min(values)
    text = ", ".join(f"{label} {value:.2f}" for label, value in ranges.items())
    return Finding(f"range of heights: {text}", verdict_of([value <= ALMOST for value in ranges.values()]))


@claim(
    "Sec. 8 (iii)",
    "the scheme can be implemented at no extra cost per iteration",
    "seconds of a step against UCD's, at most 1.3 on dense data and at most 3 on sparse with lazy selection",
)
def no_extra_cost(evidence: Evidence) -> Finding:
    dense, sparse = evidence.panel("B-dense").curves, evidence.panel("B-selection").curves
    price = {f"dense {label}": _price(dense[label], dense["UCD"]) for label in ("ASCD", "a-ASCD")}
    for label in ("a-ASCD, every bound scanned", "a-ASCD, lazy"):
        price[f"sparse {label}"] = _price(sparse[label], sparse["UCD"])
    text = ", ".join(f"{label} {value:.2f}×" for label, value in price.items())
    outcomes = [price["dense ASCD"] <= 1.3, price["dense a-ASCD"] <= 1.3, price["sparse a-ASCD, lazy"] <= 3.0]
    return Finding(text, verdict_of(outcomes))


def _price(curve: Curve, other: Curve) -> float:
    return float((curve.seconds[-1] - curve.seconds[0]) / (other.seconds[-1] - other.seconds[0]))


@claim(
    "Sec. 7, highlight 3",
    "a-ASCD computes the active set slightly faster than ASCD",
    "seconds of a step, a-ASCD / ASCD, below 1 in Fig. 2a, 2b, 3a, 3b (a-ASCD selects lazily where n is large)",
)
def heuristic_is_cheaper(evidence: Evidence) -> Finding:
    prices = {}
    for name in ("2a", "2b", "3a", "3b"):
        curves = evidence.panel(name).curves
        prices[name] = _price(curves["a-ASCD"], curves["ASCD"])
    text = ", ".join(f"{name}: {value:.2f}×" for name, value in prices.items())
    return Finding(text, verdict_of([value < 1.0 for value in prices.values()]))


@claim(
    "Sec. 7, oracles",
    "the oracle g⁴ is extremely cheap: the norms of the columns are computed once",
    "text Lasso, a-ASCD with g⁴: columns read a step (1 is the step's own); seconds against exact products, below 1",
)
def crude_is_cheap(evidence: Evidence) -> Finding:
    curves = evidence.panel("B-oracles").curves
    crude, exact = curves["g⁴ as printed"], curves["g¹ exact"]
    steps = float(crude.epochs[-1]) * crude.n
    reads = float(crude.reads[-1] - crude.reads[0]) / steps
    price = _price(crude, exact)
    return Finding(f"{reads:.2f} columns read a step; {price:.2f}×", verdict_of([reads <= 1.0 + 1e-9, price < 1.0]))


@claim(
    "Sec. 4, caching",
    "exact products for the active set, cached, presumably work well",
    "height of a-ASCD with cached products minus that with g³, text Lasso",
)
def caching(evidence: Evidence) -> Finding:
    curves = evidence.panel("B-oracles").curves
    gained = curves["g³ with cached products"].mean_log - curves["g³ norm"].mean_log
    return Finding(f"{gained:+.2f}", HOLDS if gained <= -EQUAL else PART if gained <= EQUAL else NOT)
