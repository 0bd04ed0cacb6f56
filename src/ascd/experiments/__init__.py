"""The paper's experiments, and some beyond it: run → results files → pictures, report and claims.

==============  ================================================================================================
``table.py``    what is run: one entry a panel (data, problem, rules, oracles, step, start, epochs, seeds)
``jobs.py``     an entry at a size → jobs, each a name, a kind and parameters that JSON can hold
``data.py``     the designs and targets that the parameters speak of
``measure.py``  one job → numbers, a function a kind; ``theorems.py`` and ``lemmas.py`` have those of the theory
``store.py``    results on disk, one file a job, written whole or not at all: a run resumes where it stopped
``conduct.py``  all jobs, side by side, with progress
``curves.py``   results → curves: suboptimality, means over seeds
``charts.py``   curves → the charts that pictures and report share, with captions
``claims/``     results → claims, each tested, measured and judged
``reproduce``   all of it, as ``ascd reproduce`` does; ``demo.py`` is ``ascd demo``, ``warming.py`` compiles for it
==============  ================================================================================================

The steps do not know each other: pictures, report and claims are made from the results file alone.
"""
