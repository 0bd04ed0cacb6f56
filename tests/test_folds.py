"""Folds side by side: who has which threads, and who hears of an interruption."""

from __future__ import annotations

import threading
import time

import pytest

from ascd._core.threads import threads_here
from ascd.estimators._folds import side_by_side
from ascd.results.progress import Round, tell_onlooker


def test_threads_of_other_folds_hear_of_an_interruption():
    """They get no signal: they are told in their next round, and do not go on to the end of a path."""
    heard = threading.Event()

    def goes_on():
        try:
            for _ in range(1000):
                tell_onlooker(Round(0, 0, 0.0, 0.0))
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


@pytest.mark.parametrize(
    ("samples", "n_jobs", "threads"), [(10, 2, [1, 1, 2]), (900_000, 2, [2, 2, 2]), (900_000, 4, [1, 1, 1])]
)
def test_folds_of_many_samples_share_all_threads_in_turns(samples, n_jobs, threads):
    found, lost = side_by_side([threads_here] * 3, n_jobs, False, samples)
    assert lost is None
    assert found == threads
