"""The problem F(x) = f(Ax) + Σ Ψ_j(x_j): losses, penalties, their conjugates, and what is proved of a point."""

from ascd.problem.problem import Problem as Problem
