"""Does steepest selection pay?

- data: the sets it is tried on
- prices: an iteration beside ``uniform``'s, growth with n, memory
- contest: who reaches the minimum first, in seconds and in column reads
- tables: how the rows are shown, and the bars
"""
