"""Random and hostile problems against the library's promise: the gap beside an answer is a bound.

==============  ==============================================================================
``cases``       a case: plain data and options, which prints itself as Python source
``draw``        a case from a seed
``truth``       the objective of a case, in long double, with a bound on its own rounding error
``search``      better points: coordinate descent, Newton steps, SciPy, scikit-learn
``calls``       what the library answers to a case
``checks``      what must hold between the two
``errors``      which errors are no violations
``shrink``      a smaller case that still violates
``report``      counts a family, as a table
``block_…``     the same for groups of columns, several targets and several classes
``likely``      intervals that hold with a probability
``offsets``     problems with an offset
``stored…``     paths over files
``placed``      data in parts, in tables, as other kinds of numbers, on a disk
==============  ==============================================================================

``truth`` and ``search``, those of blocks too, share nothing with the library.
``python -m tests.fuzz --n 10000 --seed 1`` runs it.
"""
