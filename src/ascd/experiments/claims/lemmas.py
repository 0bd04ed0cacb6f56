"""What the lemmas and remarks say in numbers."""

from __future__ import annotations

from ascd.experiments.claims.register import Evidence, Finding, claim, verdict_of
from ascd.experiments.tuning import SLACK


@claim(
    "Lemma A.1",
    "one step of SCD raises 1/(f − f*) by at least 1/(2L‖x − x*‖₁²), one of UCD by at least 1/(2nL‖x − x*‖₂²)",
    "smallest measured rise / promised rise along SCD with step 1/L on quadratics in 12 variables; at least 1",
)
def one_step(evidence: Evidence) -> Finding:
    found = evidence.numbers("T", "progress")
    least = {"SCD": found["steepest"], "UCD": found["uniform"]}
    text = ", ".join(f"{name} {value:.2f}" for name, value in least.items())
    return Finding(f"{text}, {found['quadratics']} quadratics", verdict_of([value >= 1.0 for value in least.values()]))


@claim(
    "App. A, after Lemma A.1",
    "Δ_SCD/n ≤ Δ_UCD ≤ Δ_SCD, Δ the rise of 1/(f − f*) in a step",
    "extremes of Δ_UCD/Δ_SCD on the same runs, against 1/n and 1",
)
def rises_compare(evidence: Evidence) -> Finding:
    found = evidence.numbers("T", "progress")
    low, high = found["least_share"] * found["n"], found["largest_share"]
    text = f"Δ_UCD/Δ_SCD at least {low:.2f}/n, at most {high:.2f}"
    if low < 1.0:
        text += "; below 1/n where one steepest step nearly reaches the minimum"
    return Finding(text, verdict_of([low >= 1.0 - SLACK, high <= 1.0 + SLACK]))


@claim(
    "Lemma 4.1",
    "a step changes gradient entry i by γ⟨a_i, ∇²f(Ax̃) a_j⟩ for an x̃ on the segment",
    "the change / γ between the extremes of the curvature over the segment, logistic loss, random points and steps",
)
def mean_value(evidence: Evidence) -> Finding:
    found = evidence.numbers("T", "gradient update")
    text = f"outside by at most {max(0.0, found['worst']):.1e} of the largest curvature, {found['entries']:,} entries"
    return Finding(text, verdict_of([found["worst"] <= SLACK]))


@claim(
    "App. A, after Thm A.2",
    "the ratio's bound holds from almost any start, for t large enough",
    "largest n·‖∇‖²_∞/‖∇‖² after 10n steps of SCD from 100 normal starts, n = 20, α = 0.01",
)
def any_start(evidence: Evidence) -> Finding:
    found = evidence.numbers("T", "random starts")
    text = f"largest {found['largest']:.3f}, median {found['median']:.3f}, bound {found['bound']:.3f}"
    return Finding(text, verdict_of([found["largest"] <= found["bound"]]))
