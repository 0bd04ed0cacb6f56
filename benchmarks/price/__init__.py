"""What an iteration of the engine costs.

- iterations: against bare loops, NumPy passes and ``uniform``; bare: those loops
- processes: the first run of a fresh process, peak memory
- tables: how the rows are shown, and the bars
"""
