"""scikit-learn's own tests, run against our estimators: ``make peer-suites``.

``swap.py`` puts our classes in the place of scikit-learn's, ``expected.py`` lists the tests that are expected to fail,
with a reason each, ``verdict.py`` compares, ``__main__.py`` runs and prints.
"""
