"""Parameters of estimators: their defaults stand in the class, their constraints and texts in one table here.

An estimator declares its parameters as the fields of a dataclass.  ``@estimator`` makes ``__init__`` of them, puts
their constraints into ``_parameter_constraints`` (checked by scikit-learn's code in ``fit``) and their texts into the
docstring.  A parameter that a subclass does not have is declared there as ``ClassVar`` with its fixed value.
"""

from __future__ import annotations

import inspect
import re
import textwrap
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from numbers import Integral, Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sklearn import get_config

try:  # the one private interface of scikit-learn that is used
    from sklearn.utils._param_validation import Interval as Interval
    from sklearn.utils._param_validation import StrOptions as StrOptions
    from sklearn.utils._param_validation import validate_parameter_constraints
except ImportError as changed:
    reason = f"scikit-learn has changed inside ({changed}): estimators do not check their parameters"
    warnings.warn(reason, RuntimeWarning, stacklevel=2)

    def Interval(*_: Any, **__: Any) -> None:
        """Return no constraint, in place of one."""

    StrOptions = validate_parameter_constraints = Interval

if TYPE_CHECKING:
    from typing_extensions import Self as Self
    from typing_extensions import dataclass_transform
else:
    Self = Any

    def dataclass_transform(**_):
        return lambda decorator: decorator


Class = TypeVar("Class", bound=type)
Function = TypeVar("Function", bound=Callable[..., Any])
NON_NEGATIVE = Interval(Real, 0, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
UNIT_INTERVAL = Interval(Real, 0, 1, closed="both")
COUNT = Interval(Integral, 1, None, closed="left")


class Parameter(NamedTuple):
    """Constraints as scikit-learn writes them, the type in words, and what the parameter does."""

    allowed: list[Any]
    kind: str
    text: str = ""


def without_effect(*allowed: Any) -> Parameter:
    """A parameter that is taken for scikit-learn's sake."""
    return Parameter(list(allowed), "object", "Accepted as in scikit-learn, without effect.")


#: Parameters that mean the same in every estimator that has them.
SHARED: dict[str, Parameter] = {
    "alpha": Parameter([NON_NEGATIVE], "float", "Strength of the penalty; 0 is none."),
    "l1_ratio": Parameter([UNIT_INTERVAL], "float in [0, 1]", "Share of the L1 penalty; the rest is an L2 penalty."),
    "C": Parameter([Interval(Real, 0, None, closed="right")], "float", "Inverse strength of the penalty; inf is none."),
    "fit_intercept": Parameter(["boolean"], "bool", "Fit a constant, which has no penalty."),
    "precompute": without_effect("boolean", "array-like", StrOptions({"auto"})),
    "copy_X": without_effect("boolean"),
    "selection": without_effect(StrOptions({"cyclic", "random"})),
    "verbose": without_effect("verbose"),
    "dual": without_effect("boolean"),
    "intercept_scaling": without_effect(POSITIVE),
    "max_iter": Parameter(
        [COUNT, None], "int",
        "Most iterations of the solver (epochs for the rules of ``ascd.minimize``), 1000 for None.",
    ),
    "tol": Parameter(
        [NON_NEGATIVE], "float",
        "The fit ends when the duality gap is at most ``tol`` times the objective at zero coefficients; with an L2 "
        "penalty alone also, as far as float64 allows, when the relative error of the coefficients is at most √tol.",
    ),
    "warm_start": Parameter(["boolean"], "bool", "Start from the coefficients of the last fit."),
    "positive": Parameter(["boolean"], "bool", "Only non-negative coefficients."),
    "random_state": Parameter(
        ["random_state"], "int or RandomState instance",
        "The seed where ``solver`` is a rule of ``ascd.minimize``; the production solver has no randomness.",
    ),
    "penalty_weights": Parameter(
        ["array-like", None], "array of shape (n_features,)",
        "Multiplies the penalty of each coefficient; 0 leaves it unpenalised.",
    ),
    "bounds": Parameter(
        [tuple, list, None], "pair (lower, upper)",
        "Numbers or arrays with lower ≤ 0 ≤ upper, between which each coefficient stays.",
    ),
    "standardize": Parameter(
        ["boolean"], "bool",
        "Penalise the coefficients of standardised features, as R's glmnet does by default: each coefficient is "
        "multiplied by its feature's standard deviation before the penalty is applied.  No copy is made, a sparse "
        "matrix stays sparse, and ``coef_`` is in the units of the data.  Constant features count as if their "
        "deviation were 1.",
    ),
    "n_jobs": Parameter([Integral, None], "int", "Threads for passes over the data."),
    "solver": Parameter(
        [str, Mapping], "str or dict",
        '"auto" is the production solver; the name of a rule (for example "a-ascd") or a dict such as '
        '``{"rule": "ascd", "oracle": "norm"}`` fits with ``ascd.minimize``.',
    ),
    "class_weight": Parameter(
        [dict, StrOptions({"balanced"}), None], 'dict or "balanced"',
        'Multiplies the weights of the samples by a factor of their class; "balanced" gives all classes the same '
        "weight.",
    ),
    "groups": Parameter(
        [Integral, "array-like"], "int, sizes, labels or lists of features",
        "A number means that many neighbours each; integers that add up to the number of features are sizes of groups "
        "of neighbours; one label a feature, or one list of features a group.",
    ),
    "weights": Parameter(
        ["array-like", StrOptions({"sqrt"}), None], 'array with one number a group, or "sqrt"',
        'Factors of the norms; "sqrt" is the root of the group\'s size, None is 1 each.',
    ),
    "eps": Parameter([POSITIVE], "float", "Smallest alpha of the grid, relative to the largest."),
    "alphas": Parameter([COUNT, "array-like"], "int or array", "Number of alphas, or their values."),
    "Cs": Parameter([COUNT, "array-like"], "int or array", "How many between 1e-4 and 1e4, or which."),
    "cv": Parameter(["cv_object"], "int, splitter or iterable", "5 folds for None (stratified for classes)."),
    "progress": Parameter(["boolean"], "bool", "Show a progress bar (needs ``rich`` outside of notebooks)."),
    "choose": Parameter(
        [StrOptions({"best", "1se"})], '{"best", "1se"}',
        "The strength of the last fit: the one with the smallest mean error (the best mean score), or the strongest "
        "within one standard error of it (glmnet's lambda.1se), which gives a simpler model.",
    ),
}  # fmt: skip
#: Where scikit-learn takes max_iter=0.
FROM_ZERO = Parameter(
    [Interval(Integral, 0, None, closed="left"), None], "int",
    "Most iterations of the solver; after 0 the fit ends where it starts, with a warning.",
)  # fmt: skip
#: Arguments of ``fit`` and of the path functions.
ARGUMENTS: dict[str, Parameter] = {
    "X": Parameter(
        [], "array, sparse matrix, frame or table of shape (n_samples, n_features)",
        "Most models copy it, unless it is column-major or CSC float64; of more than 4 million (stored) entries it may "
        "also be row-major or CSR, and float32, int8, uint8 or bool.",
    ),
    "y": Parameter([], "array of shape (n_samples,), or (n_samples, n_targets) where several targets are allowed"),
    "sample_weight": Parameter([], "array of shape (n_samples,) or a number", "Non-negative weights."),
    "offset": Parameter(
        [], "array of shape (n_samples,)",
        "Known parts of the linear predictor, added to X·coef + intercept; not for more than two classes.",
    ),
    "model": Parameter([], "estimator", "Which; of a classifier ``Cs`` are followed, of a regression ``alphas``."),
    "params": Parameter([], "dict", "For the splitter and the scorer, with scikit-learn's metadata routing."),
    "n_alphas": Parameter([], "int", "Older name for a number as ``alphas``."),
    "coef_init": Parameter([], "array of shape (n_features,)", "Where the first fit starts."),
    "return_n_iter": Parameter([], "bool", "Return iterations as well."),
    "check_input": without_effect(),
    "Xy": without_effect(),
}  # fmt: skip
RATIOS = Parameter(
    [UNIT_INTERVAL, "array-like"], "float or list of floats", "Share of the L1 penalty; the best of several."
)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def estimator(cls: Class) -> Class:
    """Make ``__init__``, the constraints and the docstring of an estimator from its annotated parameters.

    ``_own`` of the class and its bases replaces entries of ``SHARED``, and ``_fitted`` describes fitted attributes.
    """
    made: Any = dataclass(eq=False, repr=False, kw_only=True)(cls)
    known, fitted = dict(SHARED), dict[str, str]()
    for base in reversed(made.__mro__):
        known |= vars(base).get("_own", {})
        fitted |= vars(base).get("_fitted", {})
    declared = {one.name: one.default for one in sorted(fields(made), key=lambda one: bool(one.kw_only))}
    made._parameter_constraints = {name: known[name].allowed for name in declared}
    made.__doc__ = _with_parameters(made.__doc__, {name: (known[name], declared[name]) for name in declared}, fitted)
    return made  # type: ignore[no-any-return]


def check_parameters(model: Any) -> None:
    """Raise an error that names the first parameter with a value of the wrong type or range."""
    if not get_config()["skip_parameter_validation"]:
        allowed = model._parameter_constraints
        given = dict(zip(allowed, map(partial(getattr, model), allowed), strict=True))
        validate_parameter_constraints(allowed, given, caller_name=type(model).__name__)


def documented(function: Function) -> Function:
    """Add the texts of its parameters to the docstring of a function, or of a method that returns self."""
    signature = inspect.signature(function)
    given = [one for one in signature.parameters.values() if one.name != "self"]
    known = {**SHARED, **ARGUMENTS}
    about = {one.name: (known[one.name], None if one.name == "params" else one.default) for one in given}
    function.__doc__ = _with_parameters(function.__doc__ or "", about)
    return function


def _with_parameters(
    doc: str, about: Mapping[str, tuple[Parameter, Any]], fitted: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Insert sections about parameters and fitted attributes before the first other one."""
    lines = ["Parameters", "----------"]
    for name, (parameter, default) in about.items():
        said = f'"{default}"' if isinstance(default, str) else repr(default)
        lines.append(f"{name} : {parameter.kind}" + ("" if default is inspect.Parameter.empty else f", default={said}"))
        lines += textwrap.wrap(parameter.text, 116, initial_indent="    ", subsequent_indent="    ")
    if fitted:
        lines += ["", "Attributes", "----------", *(f"{name} : {text}" for name, text in fitted.items() if text)]
    doc = inspect.cleandoc(doc)
    first = re.search(r"^[A-Z][a-z]+\n-+\n", doc, flags=re.MULTILINE)
    place = first.start() if first else len(doc)
    return doc[:place].rstrip() + "\n\n" + "\n".join(lines) + "\n\n" + doc[place:]
