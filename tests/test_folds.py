"""Folds side by side: who has which threads, and who hears of an interruption."""

from __future__ import annotations

import threading
import time

import pytest

from ascd._core.threads import threads_here
from ascd.estimators.cross_validation import side_by_side
from ascd.results import Round, onlooker


def test_threads_of_other_folds_hear_of_an_interruption():
    """They get no signal: they are told in their next round, and do not go on to the end of a path."""
    heard = threading.Event()

    def goes_on():
        try:
            for _ in range(1000):
                onlooker.get()(Round(0, 0, 0.0, 0.0))
                time.sleep(0.01)
        except KeyboardInterrupt:
            heard.set()
            raise

    def interrupted():
        time.sleep(0.05)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        side_by_side([interrupted, goes_on], 2, False)
    assert heard.wait(5.0)


def test_the_last_folds_share_all_threads():
    assert side_by_side([threads_here] * 3, 2, False) == [1, 1, 2]
    assert side_by_side([threads_here] * 3, 1, False) == [1, 1, 1]
    assert side_by_side([threads_here] * 2, 4, False) == [2, 2]
