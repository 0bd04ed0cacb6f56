"""Races: several rules, oracles and steepnesses on one problem, as a table, a chart and a page.

``problems.py`` makes a problem from data, ``runs.py`` runs the rules until they come within an accuracy of the
certified minimum, ``beside.py`` runs scikit-learn on the same problem, ``outcome.py`` says what came of it.
"""

from ascd.racing.outcome import Arrival, Outcome
from ascd.racing.problems import CONTESTS, check_strength, make_problem
from ascd.racing.runs import Entrant, entrants, race, search_minimum, silently

__all__ = [
    "CONTESTS",
    "Arrival",
    "Entrant",
    "Outcome",
    "check_strength",
    "entrants",
    "make_problem",
    "race",
    "search_minimum",
    "silently",
]
