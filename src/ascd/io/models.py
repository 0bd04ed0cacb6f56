"""Model files: coefficients, intercept, classes, feature names, certificate, and how the data were read.

An npz of numbers and text with a JSON header can be read anywhere and runs no code when it is opened; a pickle does.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.io.reading import absent
from ascd.io.tables import Choices, LabeledData, Recipe, check_complete, is_number, label, predictor
from ascd.io.writing import whole_file

VERSION = 3
UNFILLED = "a model that was fitted with --impute fills them"


class Model(NamedTuple):
    """A fitted model.

    Parameters
    ----------
    header : the estimator's name, its parameters, the certificate, versions, and how the data were read
    coef : array of shape (n_outputs, n_features); one output for regression and two classes
    intercept : array of shape (n_outputs,)
    classes : labels; empty for regression
    names : names of the features; empty where the data had none
    """

    header: dict[str, Any]
    coef: Array
    intercept: Array
    classes: Array
    names: Array

    def __repr__(self) -> str:
        where = self.header["data"]
        return f"Model({self.header['estimator']} of {where['file']}, {where['features']} features)"

    @property
    def recipe(self) -> Recipe:
        """How the data were read; the classes are levels of a target of words."""
        stored = {**self.header["data"]["recipe"], "features": self.names.tolist() or None, "width": self.coef.shape[1]}
        found = Recipe(**stored)
        target = self.header["data"]["target"]
        if target is not None and self.classes.dtype.kind == "U" and not all(map(is_number, self.classes)):
            found = found._replace(levels={**found.levels, target: self.classes.tolist()})
        return found

    def feature_names(self) -> list[str]:
        """Return names of the features, or numbers where there are none."""
        return [str(name) for name in self.names] or [f"feature {j}" for j in range(self.coef.shape[1])]

    def row_title(self, number: int) -> str:
        """Return which class a row of the coefficients is for; "" for a regression."""
        return f"class {self.classes[number if len(self.coef) > 1 else -1]}" if self.classes.size else ""

    def decision(self, X: Any) -> Array:
        """Return X·coefᵀ + intercept, of shape (n_samples, n_outputs); X is a DataFrame, array or sparse matrix."""
        if hasattr(X, "iloc"):
            if not self.names.size:
                raise ValueError("the model's features have no names: give an array with the columns in their order")
            X = label(X.copy(), "X", self.header["data"]["target"], Choices(), self.recipe)
            check_complete(X, "X", UNFILLED)
        if isinstance(X, LabeledData):
            if X.frame is not None:
                return predictor(X, self.coef.T) + self.intercept
            X = X.X
        if X.shape[1] != self.coef.shape[1]:
            raise ValueError(f"the model has {self.coef.shape[1]} features; the data have {X.shape[1]}")
        return np.asarray(X @ self.coef.T) + self.intercept

    def predict(self, X: Any) -> Array:
        """Return values, or classes.

        Columns of a DataFrame are matched by their names; words are those of the fit, and no value may be missing.
        """
        scores = self.decision(X)
        if self.classes.size:
            chosen = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
            return np.asarray(self.classes[chosen])
        link = np.exp if self.header["estimator"].startswith("PoissonRegressor") else np.asarray
        return np.asarray(link(scores[:, 0]))

    def predict_proba(self, X: Any) -> Array:
        """Return probabilities of the classes, of shape (n_samples, n_classes)."""
        if not self.header["estimator"].startswith("LogisticRegression"):
            raise ValueError(f"{self.header['estimator']} has no probabilities; logistic regression has")
        from scipy.special import softmax

        scores = self.decision(X)
        if scores.shape[1] == 1:
            scores = np.hstack([np.zeros(scores.shape), scores])
        return np.asarray(softmax(scores, axis=1))


def model_of(estimator: Any, header: dict[str, Any], names: list[str] | None) -> Model:
    """Return a fitted estimator as a model."""
    coef = np.atleast_2d(estimator.coef_)
    intercept = np.broadcast_to(np.asarray(estimator.intercept_, dtype=float), coef.shape[0]).copy()
    classes = np.asarray(getattr(estimator, "classes_", []))
    if classes.dtype.kind == "O":  # words: as text, which needs no pickle
        classes = classes.astype(str)
    return Model(header, coef, intercept, classes, np.array(names or [], dtype=str))


def save(model: Model, path: Any) -> Path:
    """Write a model file completely or not at all."""
    text = json.dumps({"format": "ascd model", "version": VERSION, **model.header})
    with whole_file(path) as draft, draft.open("wb") as file:
        np.savez_compressed(file, header=np.array(text), **{name: getattr(model, name) for name in Model._fields[1:]})
    return Path(path)


def load(path: Any) -> Model:
    """Read a model file that ``ascd fit`` wrote.

    Examples
    --------
    >>> import tempfile, pathlib, pandas, ascd
    >>> from ascd.cli import main
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data, out = pathlib.Path(folder) / "flats.csv", pathlib.Path(folder) / "flats.npz"
    ...     _ = data.write_text("town,area,rent\\nBern,50,900\\nUlm,50,700\\nBern,80,1200\\nUlm,90,1100\\n")
    ...     _ = main(["fit", str(data), "--alpha", "0.01", "--out", str(out), "--json"])  # doctest: +ELLIPSIS
    ...     model = ascd.load(out)
    {...}
    >>> [round(float(rent), -1) for rent in model.predict(pandas.DataFrame({"area": [60], "town": ["Ulm"]}))]
    [800.0]
    """
    if not Path(path).is_file():
        raise absent(Path(path))
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as stored:
            header = json.loads(str(stored["header"]))
            arrays = [stored[name] for name in Model._fields[1:]]
            known = header.get("format"), header.get("version")
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error):
        # numpy's own words advise to unpickle the file, which would run whatever it holds
        raise ValueError(f"{path} is not a model file of `ascd fit`") from None
    if known != ("ascd model", VERSION):
        raise ValueError(f"{path} is not a model file that this version reads, {known[1]}: run `ascd fit` again")
    return Model(header, *arrays)
