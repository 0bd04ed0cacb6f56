"""The paper, reproduced: its figures, claims and theorems, the demo, and the pages that show them.

===================  ===========================================================================================
``theory.py``        the theorems as functions (``ascd.theory``)
``datasets.py``      the paper's generator, text-like data, and the problems of the figures (``ascd.datasets``)
``panels.py``        what is run: one entry a panel, and its jobs
``measurements.py``  one job → numbers, a function a kind
``figures.py``       results → curves → charts with captions
``claims.py``        results → claims, each tested, measured and judged
``reproduce.py``     all jobs in several processes, results on disk, and what ``ascd reproduce`` writes
``demo.py``          ``ascd demo``: a fit with its proof, the race, and a page
``page.py``          charts, drawn by matplotlib or on one self-contained HTML page; script and style are in ``assets/``
===================  ===========================================================================================

Pictures, report and claims are made from the results file alone.
"""
