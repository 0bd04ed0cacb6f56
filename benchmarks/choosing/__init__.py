"""Does steepest selection pay?

- data: the sets it is tried on
- contest: the cost of an iteration, and which rule reaches the minimum first, in seconds and in column reads
- default: ``minimize(problem)`` against random and cyclic steps
- tables: how the rows are shown, and the bars
"""
