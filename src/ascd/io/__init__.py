"""Data in and results out: tables are read, data on disk are opened, models are loaded, files are written whole.

``csv_files`` finds how a CSV file is written, ``tables`` makes features of its columns, ``reading`` reads files of four
formats, ``models`` keeps fitted models.  Data that stay on their disk: ``opening`` opens them, ``readers`` read chunks,
``converting`` makes such data from CSV and LIBSVM files.
"""

from ascd.io.converting import convert
from ascd.io.csv_files import Dialect
from ascd.io.models import Model, load, save
from ascd.io.opening import OnDisk, open_data
from ascd.io.reading import FORMATS, guess_format, read_table
from ascd.io.tables import Choices, LabeledData, Recipe
from ascd.io.writing import whole_file, whole_folder, write_text

__all__ = [
    "FORMATS",
    "Choices",
    "Dialect",
    "LabeledData",
    "Model",
    "OnDisk",
    "Recipe",
    "convert",
    "guess_format",
    "load",
    "open_data",
    "read_table",
    "save",
    "whole_file",
    "whole_folder",
    "write_text",
]
