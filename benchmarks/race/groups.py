"""Which tasks make a table, to which gaps, and the bars and aims for the geometric mean of ours / best peer."""

from __future__ import annotations

from dataclasses import dataclass

from race import block_tasks
from race.cases import FOR_LABELS, RAW

SVM_CASES = ("rcv1_sample", "news20", "w8a", "a9a", "golub", "correlated 0.5", "flipped", "tiny")
BLOCK_CASES = ("rcv1_sample", "mice_snp", "riboflavin", "golub", "correlated 0.5", "easy sparse", "tiny")
CLASS_CASES = ("news20", "a9a", "golub", "riboflavin", "correlated 0.5", "easy sparse", "tiny")
CV_CASES = ("rcv1_sample", "mice_snp", "riboflavin", "golub", "arcene", "a9a", "correlated 0.5", "tiny")


@dataclass
class Group:
    """Tasks of one kind: λ_max/part for each part (C for support vector machines), to each target."""

    title: str
    kind: str
    targets: tuple[float, ...]
    parts: tuple[float, ...] = (10.0, 20.0, 100.0)
    only: tuple[str, ...] = ()
    raw: bool = False  # whether the uncentred dense sets take part
    bars: tuple[float, ...] = ()  # one a target
    aims: tuple[float, ...] = ()


GROUPS = {
    "lasso": Group("Lasso, one λ", "lasso", (1e-6, 1e-10), raw=True, bars=(0.6, 0.3), aims=(0.33, 0.1)),
    "path": Group("Lasso path, 100 λ", "path", (1e-5,), (100.0,), bars=(0.6,), aims=(0.25,)),
    "enet": Group("Elastic net, l1_ratio ½", "enet", (1e-6, 1e-10), bars=(0.7, 0.7), aims=(0.33, 0.33)),
    "logistic": Group("L1-logistic", "logistic", (1e-6, 1e-10), bars=(0.7, 0.7), aims=(0.33, 0.33)),
    "cv": Group("LassoCV, 5 folds × 100 λ", "cv", (1e-5,), (100.0,), only=CV_CASES, bars=(0.5,), aims=(0.2,)),
    **{
        kind: Group(
            f"{'Multi-task Lasso' if kind in block_tasks.TASKS else 'Group Lasso'}, {kind}",
            kind,
            (1e-6, 1e-10),
            only=BLOCK_CASES,
            bars=(0.6, 0.3),
            aims=(0.25, 0.1),
        )
        for kind in (*block_tasks.TASKS, *block_tasks.GROUPED)
    },
    **{
        kind: Group(
            f"Sparse group Lasso, {kind}", kind, (1e-6, 1e-10), only=BLOCK_CASES, bars=(0.3, 0.3), aims=(0.1, 0.1)
        )
        for kind in block_tasks.SPARSE
    },
    "multinomial l1": Group(
        "Multinomial logistic, L1",
        "multinomial l1",
        (1e-4, 1e-6),
        (5.0, 20.0),
        CLASS_CASES,
        bars=(0.6, 0.6),
        aims=(0.25, 0.25),
    ),
    "multinomial l2": Group(
        "Multinomial logistic, L2",
        "multinomial l2",
        (1e-4, 1e-6),
        (1.0, 100.0),
        CLASS_CASES,
        bars=(0.6, 0.6),
        aims=(0.25, 0.25),
    ),
    "svm": Group(
        "LinearSVC, dual hinge",
        "svm",
        (1e-4, 1e-6),
        (0.01, 1.0, 100.0),
        only=SVM_CASES,
        bars=(0.6, 0.6),
        aims=(0.3, 0.3),
    ),
}


def takes(group, name):
    """Whether a case belongs to a group."""
    if group.only:
        return name in group.only
    return name not in FOR_LABELS and (group.raw or not name.endswith(RAW))
