"""Parts of ``benchmarks/reach.py``."""
