"""Random and hostile problems against the library's promise: the gap beside an answer is a bound.

==============  ==============================================================================
``cases``       a case: plain data and options, which prints itself as Python source
``data``        matrices, targets, weights and groups
``penalties``   parameters of penalties
``placed``      data in chunks, in tables, as other types of numbers, on a disk
``draw``        a case from a seed, by families
``forms``       a case with fewer columns or outputs, permuted, or in other units
``truth``       the objective of a case, in long double, with a bound on its own rounding error
``search``      better points: the judge's own descent (``kernels``), SciPy, scikit-learn
``calls``       what the library answers to a case; ``estimators`` and ``steps`` of ``minimize`` as well
``checks``      what must hold between the two, and which errors are no violations
``shrink``      a smaller case that still violates
``command``     cases on several processes, counts and the report
==============  ==============================================================================

``truth`` and ``search`` share nothing with the library.  ``python -m tests.fuzz --n 10000 --seed 1`` runs it.
"""
