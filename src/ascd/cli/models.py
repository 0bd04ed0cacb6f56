"""Model files: coefficients, intercept, classes, feature names and the certificate, in a plain npz.

An npz of numbers and text with a JSON header can be read anywhere and runs no code when it is opened; a pickle is
neither.  A loaded model predicts by itself, it needs no estimator.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.files import whole_file
from ascd.files.arrays import DAMAGED_ARCHIVE
from ascd.files.refusals import absent
from ascd.files.targets import word_of

VERSION = 1


class Model(NamedTuple):
    """What a fit leaves behind.

    ``header`` holds the estimator's name, its parameters, the certificate and versions; ``coef`` has a row a class (or
    one); ``classes`` is empty for regressors.
    """

    header: dict[str, Any]
    coef: Array
    intercept: Array
    classes: Array
    names: Array

    def feature_names(self) -> list[str]:
        """Names, or numbers where there are none."""
        return [str(name) for name in self.names] or [f"feature {j}" for j in range(self.coef.shape[1])]

    def row_title(self, number: int) -> str:
        """What a row of the coefficients speaks for: a class, one of several targets, or nothing to tell."""
        if self.classes.size:
            return f"class {self.classes[number if self.coef.shape[0] > 1 else -1]}"
        return f"target {self.target_names()[number]}" if self.coef.shape[0] > 1 else ""

    def target_names(self) -> list[str]:
        """Names of the targets, or numbers where there are none."""
        known = self.header["data"].get("target")
        if isinstance(known, list) and len(known) == self.coef.shape[0]:
            return [str(name) for name in known]
        return [str(number) for number in range(self.coef.shape[0])]

    def decision(self, X: Any) -> Array:
        """X·coefᵀ + intercept."""
        if X.shape[1] != self.coef.shape[1]:
            raise ValueError(f"the model has {self.coef.shape[1]} features; the data have {X.shape[1]}")
        return np.asarray(X @ self.coef.T) + self.intercept

    def predict(self, X: Any) -> Array:
        """Values (a column a target, where there are several), or classes."""
        scores = self.decision(X)
        if self.classes.size:
            chosen = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
            return self.classes[chosen]
        if scores.shape[1] > 1:
            return scores
        link = np.exp if self.header["estimator"] == "PoissonRegressor" else np.asarray
        return np.asarray(link(scores[:, 0]))

    def probabilities(self, X: Any) -> Array:
        """One column a class."""
        if not self.header["estimator"].startswith("LogisticRegression"):
            raise ValueError(f"{self.header['estimator']} has no probabilities; logistic regression has")
        scores = self.decision(X)
        if scores.shape[1] == 1:
            scores = np.hstack([np.zeros(scores.shape), scores])
        share: Array = np.exp(scores - scores.max(axis=1, keepdims=True))
        return share / share.sum(axis=1, keepdims=True)


def as_classes(y: Any) -> Any:
    """Labels of classes: numbers that are not whole, which scikit-learn takes for quantities, become text.

    Examples
    --------
    >>> from ascd.cli.models import as_classes
    >>> as_classes([1.5, 2.0]).tolist(), as_classes([1.0, 2.0]).tolist()
    (['1.5', '2'], [1.0, 2.0])
    """
    y = np.asarray(y)
    if y.dtype.kind != "f" or (y == np.round(y)).all():
        return y
    return np.array([word_of(value) for value in y], dtype=object)


def model_of(estimator: Any, header: dict[str, Any], names: list[str] | None) -> Model:
    """A fitted estimator as a model."""
    coef = np.atleast_2d(estimator.coef_)
    intercept = np.broadcast_to(np.asarray(estimator.intercept_, dtype=float), coef.shape[0]).copy()
    classes = np.asarray(getattr(estimator, "classes_", []))
    if classes.dtype.kind == "O":  # words: as text, which needs no pickle
        classes = classes.astype(str)
    return Model(header, coef, intercept, classes, np.array(names or [], dtype=str))


def save_model(model: Model, path: Any) -> Path:
    """Write a model file whole."""
    text = json.dumps({"format": "ascd model", "version": VERSION, **model.header})
    with whole_file(path) as draft, draft.open("wb") as file:
        np.savez_compressed(
            file,
            header=np.array(text),
            coef=model.coef,
            intercept=model.intercept,
            classes=model.classes,
            names=model.names,
        )
    return Path(path)


def load_model(path: Any) -> Model:
    """Read a model file."""
    if not Path(path).is_file():
        raise absent(Path(path))
    try:
        with np.load(path, allow_pickle=False) as held:
            header = json.loads(str(held["header"]))
            arrays = [held[name] for name in ("coef", "intercept", "classes", "names")]
            known = header.get("format"), header.get("version")
    except (KeyError, TypeError, ValueError, AttributeError, *DAMAGED_ARCHIVE):
        # numpy's own words advise to unpickle the file, which would run whatever stands in it
        raise ValueError(f"{path} is not a model file of `ascd fit`") from None
    if known != ("ascd model", VERSION):
        raise ValueError(f"{path} is not a model file that this version reads: {known[0]!r}")
    return Model(header, *arrays)
