"""Data in and results out: tables are read, data on disk are opened, models are loaded, files are written whole.

``reading`` reads files of four formats, ``tables`` makes features of their columns, ``opening`` opens data that stay on
their disk, ``converting`` makes such data from CSV and LIBSVM files, ``models`` keeps fitted models.
"""

from ascd.io.converting import convert
from ascd.io.models import Model, load, save
from ascd.io.opening import OnDisk, open_data
from ascd.io.reading import FORMATS, Dialect, guess_format, read_table
from ascd.io.tables import Choices, LabeledData, Recipe
from ascd.io.writing import whole_file, whole_folder, write_text

__all__ = [
    "FORMATS", "Choices", "Dialect", "LabeledData", "Model", "OnDisk", "Recipe", "convert", "guess_format", "load",
    "open_data", "read_table", "save", "whole_file", "whole_folder", "write_text",
]  # fmt: skip
