"""Data in and results out: tables are read, data on disk are opened, models are loaded, files are written whole.

``dialect`` finds how a CSV file is written, ``columns`` tells numbers from words, ``encoding`` makes features of them,
``reading`` reads files of four formats, ``groups`` reads groups of features, ``models`` keeps fitted models.  Data that
stay on their disk: ``opening`` opens them, ``readers`` read chunks, ``converting`` makes such data from CSV and LIBSVM
files.
"""

from ascd.io.converting import convert
from ascd.io.dialect import Dialect
from ascd.io.encoding import Choices, LabeledData, Recipe
from ascd.io.groups import groups_of, read_groups
from ascd.io.models import Model, load, save
from ascd.io.opening import OnDisk, open_data
from ascd.io.reading import FORMATS, guess_format, read_table
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
    "groups_of",
    "guess_format",
    "load",
    "open_data",
    "read_groups",
    "read_table",
    "save",
    "whole_file",
    "whole_folder",
    "write_text",
]
