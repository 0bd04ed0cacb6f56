"""Data on a device: arrays of CuPy, torch or another namespace of the array API standard, read where they are."""
