"""The solver against its peers, side by side.

- cases: the data, real and generated; tasks: what is to be minimised on them
- gaps: how good an answer is, by the same NumPy for everybody
- peers: how each library is asked, one a file
- protocol: falling tolerances, budgets, repeats in turn
- groups: which tasks make a table, and its bars; races: run them all
- extras: what is no race: overhead, cold starts, memory
- report: tables and means
"""
