"""What the theorems say in numbers."""

from __future__ import annotations

import numpy as np

from ascd.experiments.claims.register import UNTESTED, Evidence, Finding, claim, verdict_of
from ascd.experiments.table import RESOLUTION, WATCHED
from ascd.experiments.tuning import NOISE


@claim(
    "Thm 2.1",
    "SCD on smooth functions: f(x_t) − f* ≤ 2LR₁²/t",
    "largest measured error / bound on quadratics in 12 variables, whose R₁ is known exactly",
)
def smooth_rate(evidence: Evidence) -> Finding:
    found = evidence.numbers("T", "rates")
    return Finding(f"{found['smooth']:.3g} on {found['quadratics']} quadratics", verdict_of([found["smooth"] <= 1.0]))


@claim(
    "Sec. 2.1",
    "SCD under strong convexity: the error falls by 1 − μ₁/L a step",
    "largest measured error / (1 − μ₁/L)^t, μ₁ computed exactly over all sign vectors",
)
def strong_rate(evidence: Evidence) -> Finding:
    found = evidence.numbers("T", "rates")
    return Finding(f"{found['strong']:.3g} on {found['quadratics']} quadratics", verdict_of([found["strong"] <= 1.0]))


@claim(
    "Thm 2.2, A.2",
    "from the worst start, n·‖∇‖²_∞/‖∇‖² ≤ 3 + 3α, and at most 4 for α = 0.01",
    "3n steps of SCD for n from 3 to 100 and α from 0.01 to 0.5",
)
def lower_bound(evidence: Evidence) -> Finding:
    rows = evidence.numbers("T", "family")["rows"]
    worst = max(row["ratio"] / row["bound"] for row in rows)
    largest = max(row["ratio"] for row in rows if row["alpha"] == 0.01)
    text = f"ratio / (3 + 3α) at most {worst:.3f}; at most {largest:.3f} for α = 0.01"
    return Finding(text, verdict_of([worst <= 1.0 + 1e-9, largest <= 4.0]))


@claim("Lemma A.3", "the cycling constant is at least 1 − 3α/n (erratum E10)", "computed for the same n and α")
def cycling_constant(evidence: Evidence) -> Finding:
    rows = evidence.numbers("T", "family")["rows"]
    margin = min((row["constant"] - row["low"]) * row["n"] / row["alpha"] for row in rows)
    return Finding(f"smallest (c − (1 − 3α/n))·n/α = {margin:.3f}", verdict_of([margin >= 0.0]))


@claim(
    "Sec. 2.2",
    "on functions of s of n coordinates SCD gains a factor of about n/s over UCD",
    "τ_SCD/τ_UCD divided by n/s along SCD, n = 100, s from 5 to 100; about is within [1, 4]",
)
def speed_up(evidence: Evidence) -> Finding:
    rows = evidence.numbers("T", "speed-up")["rows"]
    low = min(row["low"] / row["expected"] for row in rows)
    high = max(row["high"] / row["expected"] for row in rows)
    return Finding(f"between {low:.2f} and {high:.2f}", verdict_of([low >= 1.0 - 1e-9, high <= 4.0]))


@claim(
    "Fig. 4",
    "from x₀ = 1, too, the ratio stays below the bound in the steady state, almost reached after 2n steps",
    "n·max|g|²/Σ|g|² after 2n steps against 3 + 3α, and its change from then on",
)
def steady_state(evidence: Evidence) -> Finding:
    found = evidence.numbers("4", "SCD")
    ratio = np.array(found["ratio"])
    later = ratio[2 * len(found["sorted"][0]) :]
    drift = float(np.abs(later - later[-1]).max() / later[-1])
    text = f"largest ratio from 2n on {later.max():.3f}, bound {found['bound']:.3f}; it changes by at most {drift:.1%}"
    return Finding(text, verdict_of([bool(later.max() <= found["bound"]), drift <= 0.1]))


def _watched(evidence: Evidence, problem: str) -> dict[str, dict[str, float]]:
    names = [" ".join(entry) for entry in WATCHED if entry[0] == problem]
    return {name: evidence.numbers("T", name) for name in names}


@claim(
    "Lemma 3.1",
    "the steepest coordinate is always in the active set",
    "every step of ASCD with scores above rounding, four oracles on ridge and two on a Lasso, exact scores recomputed",
)
def contained(evidence: Evidence) -> Finding:
    runs = {**_watched(evidence, "ridge"), **_watched(evidence, "lasso")}
    missing = sum(run["steepest_missing"] for run in runs.values())
    return Finding(f"missing in {missing:.0f} of {_steps(runs)}", verdict_of([missing == 0]))


@claim(
    "Thm 3.2",
    "τ_UCD ≤ τ_ASCD ≤ τ_SCD at every iterate",
    "every step of ASCD on ridge with scores above rounding, oracles g³, g⁴ (safe), simulated g² and reference",
)
def sandwich(evidence: Evidence) -> Finding:
    return _sandwich(_watched(evidence, "ridge"))


@claim(
    "Sec. 5, App. D",
    "the same for composite problems with GS-q",
    "every step of ASCD on a Lasso with GS-q and scores above rounding, oracles g³ and simulated g²",
)
def composite_sandwich(evidence: Evidence) -> Finding:
    return _sandwich(_watched(evidence, "lasso"))


def _sandwich(runs: dict[str, dict[str, float]]) -> Finding:
    broken = sum(run["below_uniform"] + run["above_steepest"] for run in runs.values())
    gains = ", ".join(f"{name.split(' ', 2)[2]} {run['gain_over_uniform']:.2f}" for name, run in runs.items())
    return Finding(f"broken in {broken:.0f} of {_steps(runs)}; mean τ_ASCD/τ_UCD: {gains}", verdict_of([broken == 0]))


def _steps(runs: dict[str, dict[str, float]]) -> str:
    """How many steps counted, and how many were left out."""
    steps, left_out = (sum(run[key] for run in runs.values()) for key in ("steps", "left_out"))
    text = f"{steps:,.0f} steps"
    return f"{text} ({left_out:,.0f} left out, their scores below {RESOLUTION:g} of the first)" if left_out else text


@claim(
    "Sec. 3",
    "with exact products and the true start ASCD is identical to SCD",
    "largest relative difference of the objectives over the epochs",
)
def exact_is_steepest(evidence: Evidence) -> Finding:
    found = evidence.numbers("T", "exact")["largest_difference"]
    return Finding(f"{found:.1e}", verdict_of([found <= 1e-9]))


@claim(
    "Sec. 4",
    "the oracles' bounds always contain the gradient",
    "exact scores against their bounds at every step, safe oracles (g⁴ with the corrected radius)",
)
def safe_bounds(evidence: Evidence) -> Finding:
    runs = {**_watched(evidence, "ridge"), **_watched(evidence, "lasso")}
    outside = sum(run["bounds_violated"] for run in runs.values())
    return Finding(f"{outside:.0f} violations", verdict_of([outside == 0]))


@claim(
    "Sec. 4, g⁴",
    "δ = ‖a_i‖‖a_j‖ is a valid error for a uniform guess in ±‖a_i‖‖a_j‖ (erratum E4)",
    "gradient entries outside the printed intervals, counted at the records of Fig. 3a, 3b, 3c",
)
def printed_radius(evidence: Evidence) -> Finding:
    counts = {}
    for name in ("3a", "3b", "3c"):
        curves = evidence.panel(name).curves
        counts[name] = sum(curves[label].violations for label in ("ASCD", "a-ASCD"))
    text = ", ".join(f"{name}: {count:,.0f}" for name, count in counts.items())
    return Finding(f"violations — {text}", verdict_of([sum(counts.values()) == 0]))


@claim(
    "Alg. 1, pick",
    "ASCD with the pick as printed is never worse than UCD (erratum E3)",
    "suboptimality at the end, printed pick / UCD, unknown start, fixed step, ridge",
)
def printed_pick(evidence: Evidence) -> Finding:
    curves = evidence.panel("B-picks").curves
    ratio = {label: curves[label].end / curves["UCD"].end for label in ("printed pick", "uniform pick")}
    text = ", ".join(f"{label} {value:.3g}" for label, value in ratio.items())
    return Finding(f"against UCD: {text}", verdict_of([ratio["printed pick"] <= 1.05]))


@claim(
    "Thm 6.1, Fig. 1",
    "the mean competitive ratio is at least its equilibrium value",
    "simulated mean minus the formula, T_∞ = 50, 100, 400; chance allows −0.02",
)
def competitive_ratio(evidence: Evidence) -> Finding:
    runs = {T: evidence.numbers("1", f"T = {T}") for T in (50, 100, 400)}
    gaps = {T: run["mean"] - run["limit"] for T, run in runs.items()}
    text = ", ".join(f"T_∞ = {T}: {gap:+.4f}" for T, gap in gaps.items())
    return Finding(text, verdict_of([gap >= -NOISE for gap in gaps.values()]))


@claim(
    "Thm 6.1",
    "ρ_∞ ≥ 1 − (n − s)/T_∞, sharp for T_∞ > 2n; hence ρ_∞ ≥ 0.8 for T_∞ ≥ 5n",
    "formula and simulated mean for T_∞ = 400 and T_∞ = 5n = 500",
)
def ratio_bound(evidence: Evidence) -> Finding:
    runs = {400: evidence.numbers("1", "T = 400"), 500: evidence.numbers("T", "T = 5n")}
    text = ", ".join(
        f"T_∞ = {T}: bound {run['bound']:.3f}, formula {run['limit']:.3f}, mean {run['mean']:.3f}"
        for T, run in runs.items()
    )
    outcomes = [run["mean"] >= run["bound"] - NOISE and run["limit"] >= run["bound"] for run in runs.values()]
    return Finding(text, verdict_of([*outcomes, runs[500]["limit"] >= 0.8]))


@claim(
    "Sec. 6.1",
    "T̂ = Θ(1/δ) without strong convexity; δ = exp(−Θ(n/s)) is needed with it",
    "not tested: the estimate gives orders without constants, and assumes one error for all pairs",
)
def estimates(evidence: Evidence) -> Finding:
    return Finding("–", UNTESTED)
