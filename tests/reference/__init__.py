"""The method of "Approximate Steepest Coordinate Descent", written down naively.

This is the executable specification the library is tested against: plain loops, dense arrays,
no caching, and no import of the library.  Every formula follows the paper with its slips
corrected (E1, E2, ... are the rows of the errata); the ``printed_*`` functions keep the printed
forms, so that tests can show that they fail.

    F(x) = f(x) + sum_j Psi_j(x_j),    f(x) = sum_k s_k loss(b_k, (A x)_k),    A of shape d x n

Notation: N_j = ||sqrt(diag(s)) a_j||, M bounds the curvature of the loss, L_j = M N_j^2.
"""

from __future__ import annotations

from reference.descent import Result, descend, initial_intervals, line_minimiser, take_step
from reference.losses import Huber, Logistic, Squared, SquaredHinge, make_loss
from reference.oracles import (
    check_oracle_contract,
    gradient_oracle,
    move_intervals,
    oracle_exact,
    oracle_norm,
    oracle_random,
    oracle_simulated,
    oracle_sketch,
    printed_move_intervals,
    printed_oracle_contract,
)
from reference.penalties import L1, L2, Box, ElasticNet, Penalty, Zero
from reference.problem import Problem
from reference.rules import (
    active_set,
    active_set_by_peeling,
    argmax_set,
    select,
    smallest_active_set,
    smallest_active_set_bruteforce,
    uniform_pick,
)
from reference.steepness import (
    bounds,
    bounds_one,
    model,
    model_minimiser,
    model_progress,
    printed_gs_q_rule,
    printed_gs_r_bounds,
    printed_gs_rule,
    printed_model,
    score_one,
    scores,
)
from reference.theory import (
    competitive_ratio,
    geometric_sum,
    lower_bound_problem,
    printed_geometric_sum,
    tau_ascd,
    tau_scd,
    tau_ucd,
)

__all__ = [
    "L1",
    "L2",
    "Box",
    "ElasticNet",
    "Huber",
    "Logistic",
    "Penalty",
    "Problem",
    "Result",
    "Squared",
    "SquaredHinge",
    "Zero",
    "active_set",
    "active_set_by_peeling",
    "argmax_set",
    "bounds",
    "bounds_one",
    "check_oracle_contract",
    "competitive_ratio",
    "descend",
    "geometric_sum",
    "gradient_oracle",
    "initial_intervals",
    "line_minimiser",
    "lower_bound_problem",
    "make_loss",
    "model",
    "model_minimiser",
    "model_progress",
    "move_intervals",
    "oracle_exact",
    "oracle_norm",
    "oracle_random",
    "oracle_simulated",
    "oracle_sketch",
    "printed_geometric_sum",
    "printed_gs_q_rule",
    "printed_gs_r_bounds",
    "printed_gs_rule",
    "printed_model",
    "printed_move_intervals",
    "printed_oracle_contract",
    "score_one",
    "scores",
    "select",
    "smallest_active_set",
    "smallest_active_set_bruteforce",
    "take_step",
    "tau_ascd",
    "tau_scd",
    "tau_ucd",
    "uniform_pick",
]
