"""Data on a GPU: arrays and sparse matrices of CuPy, and arrays of other libraries on the same memory."""
