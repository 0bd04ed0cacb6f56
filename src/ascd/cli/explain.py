"""``ascd fit --explain``: which features a model uses, and how sure that is.

The model is fitted again to random halves of the samples (stability selection, Meinshausen and Bühlmann 2010).  A
feature whose coefficient has the same sign in nearly all of these fits does not depend on which samples happened to be
there.  The sizes are those of an effect, coefficient times the feature's standard deviation, which can be compared.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.cli.console import advancing, say, show_table
from ascd.io.models import Model
from ascd.io.tables import LabeledData, counted

#: Shares of the fits from which on a feature is called stable, or fair.
STABLE, FAIR = 0.9, 0.6
#: Features that are printed, drawn, and named in a sentence; samples that are needed.
MOST_SHOWN, MOST_DRAWN, MOST_NAMED, FEWEST_SAMPLES = 15, 40, 8, 10
HEAD = ("feature", "coefficient", "effect", "5 % to 95 % of fits", "same sign in", "how sure")
MEANING = (
    "Effect: coefficient times the feature's standard deviation. The range and “same sign in” are over fits to random "
    "halves of the samples with the same penalty: a feature is stable from 90 % on and fair from 60 % on; below that, "
    "other data may well leave it out. Of features that say nearly the same, a sparse model takes one, and "
    "not always the same."
)


class Evidence(NamedTuple):
    """One feature: its coefficient, effect, the range of the effect, and the share of fits with the same sign."""

    name: str
    coefficient: float
    effect: float
    low: float
    high: float
    share: float

    @property
    def verdict(self) -> str:
        """Return how sure, in a word."""
        return "stable" if self.share >= STABLE else "fair" if self.share >= FAIR else "weak"

    def row(self) -> tuple[str, ...]:
        """Return the cells of a table."""
        coefficient, effect, low, high = (
            f"{value:+.{digits}g}" if value else "0" for value, digits in zip(self[1:5], (4, 3, 3, 3), strict=True)
        )
        return self.name, coefficient, effect, f"{low} to {high}", f"{100.0 * self.share:.0f} %", self.verdict


def page_beside(model_file: Path) -> Path:
    """Return the path of the page that belongs to a model file."""
    return model_file.with_name(f"{model_file.stem}-explained.html")


def examine(estimator: Any, fitted: Model, data: LabeledData, resamples: int) -> dict[str, list[Evidence]]:
    """Fit the halves; return what is known of the features, by classes ("" where there is one only)."""
    from ascd.estimators._data import moments

    coefs = _resampled(estimator, data, resamples, bool(fitted.classes.size))
    deviations = np.sqrt(moments(data.X, None)[1])
    names = fitted.feature_names()
    return {
        fitted.row_title(number): evidence(coef, coefs[:, number, :], deviations, names)
        for number, coef in enumerate(fitted.coef)
    }


def explain(fitted: Model, found: dict[str, list[Evidence]], resamples: int, out: Path) -> dict[str, Any]:
    """Print a table a class, write a page with plots beside the model; return the same for machines."""
    from ascd.reproduction.page import Section, draw_intervals, write_page

    sections = []
    for number, (title, rows) in enumerate(found.items()):
        cells, conclusion, of_row = [one.row() for one in rows], sentence(rows, resamples), f", {title}" * bool(title)
        show_table(HEAD, cells[:MOST_SHOWN], f"\nHow sure: {resamples} fits to random halves of the samples{of_row}")
        say(f"{conclusion}\n")
        svg = draw_intervals(rows[:MOST_DRAWN], "effect: coefficient × standard deviation")
        sections.append(Section(f"features-{number}", f"Which features{of_row}", conclusion, svg=svg))
        sections.append(Section(f"numbers-{number}", f"In numbers{of_row}", head=HEAD, rows=cells, note=MEANING))
    where = fitted.header["data"]
    lead = f"{where['samples']:,} samples, {where['features']:,} features, target {where['target'] or 'y'}."
    title = f"{fitted.header['estimator']} on {where['file']}, explained"
    page = write_page(page_beside(out), title, sections, lead=[lead])
    say(f"wrote {page}")
    evidences = {title or "all features": [one._asdict() for one in rows] for title, rows in found.items()}
    return {"resamples": resamples, "page": page, **evidences}


def evidence(coef: Array, resampled: Array, deviations: Array, names: list[str]) -> list[Evidence]:
    """Return the features that some fit uses, the surest and then the largest first.

    Examples
    --------
    >>> import numpy as np
    >>> fits = np.array([[1.0, 0.0], [2.0, -0.1], [3.0, 0.0]])
    >>> [(one.name, round(one.share, 2)) for one in evidence(np.array([2.0, 0.0]), fits, np.ones(2), ["a", "b"])]
    [('a', 1.0), ('b', 0.33)]
    """
    plus, minus = (resampled > 0).mean(axis=0), (resampled < 0).mean(axis=0)
    share = np.where(coef > 0, plus, np.where(coef < 0, minus, np.maximum(plus, minus)))
    low, high = np.quantile(resampled * deviations, [0.05, 0.95], axis=0)
    numbers = np.stack([coef, coef * deviations, low, high, share], axis=1).tolist()
    used = np.flatnonzero((coef != 0.0) | (plus + minus > 0.0))
    found = [Evidence(names[j], *numbers[j]) for j in used]
    levels = ("stable", "fair", "weak")
    return sorted(found, key=lambda one: (levels.index(one.verdict), -abs(one.effect), -one.share))


def sentence(rows: list[Evidence], resamples: int) -> str:
    """Return the conclusion."""
    if not rows:
        return "No feature is used, neither by the model nor by a fit to a half: the penalty is too strong."
    stable = [one.name for one in rows if one.verdict == "stable"]
    if not stable:
        return f"No feature keeps its sign in 90 % of the {resamples} fits: the choice depends on the samples at hand."
    number, keep = f"{len(stable)} of {counted(len(rows), 'used feature')}", "keep their" if stable[1:] else "keeps its"
    named = ", ".join(stable[:MOST_NAMED]) + " …" * (len(stable) > MOST_NAMED)
    return f"{number} {keep} sign in at least 90 % of the {resamples} fits: {named}."


def _resampled(estimator: Any, data: LabeledData, resamples: int, is_classifier: bool) -> Array:
    """Return the coefficients of all fits, of shape (resamples, n_outputs, n_features).

    The estimator has the options of the fitted one, and what cross-validation has chosen.
    """
    from sklearn.utils import resample

    from ascd import estimators

    n = len(data.y)
    if n < FEWEST_SAMPLES:
        raise ValueError(f"--explain needs at least {FEWEST_SAMPLES} samples to draw halves from; there are {n}")
    given = estimator.get_params()
    plain = getattr(estimators, type(estimator).__name__.removesuffix("CV"))()
    plain.set_params(**{name: given[name] for name in plain.get_params() if name in given})
    for name in ("alpha", "C", "l1_ratio"):
        if hasattr(estimator, f"{name}_"):
            plain.set_params(**{name: getattr(estimator, f"{name}_")})
    strata, found = data.y if is_classifier else None, []
    if is_classifier:  # C weighs the sum over the samples: half of them, twice the weight
        plain.set_params(C=plain.C * n / (n // 2))
    with advancing(f"fitting {resamples} halves") as advance, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about convergence: the fits are summarised, not kept
        for number in range(resamples):
            drawn = resample(range(n), replace=False, n_samples=n // 2, random_state=number, stratify=strata)
            half = data.rows(np.array(drawn))
            plain.fit(half.X, half.y)
            found.append(np.atleast_2d(plain.coef_).copy())
            advance((number + 1) / resamples)
    return np.array(found)
