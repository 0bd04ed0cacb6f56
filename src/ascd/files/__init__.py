"""Data in and results out: tables in four formats are read, and every file is written whole or not at all.

==============  ==================================================================================================
LIBSVM          ``label index:value …`` a line (.svm, .libsvm, .txt, also .gz, .bz2), read sparse
CSV             a column a feature (.csv, .tsv, also .gz, .bz2, .xz); the target is the column ``target``
parquet         the same (.parquet; needs ``pyarrow``)
npz             ``scipy.sparse.save_npz`` with an array ``y`` added, or arrays ``X`` and ``y``
==============  ==================================================================================================

``reading.py`` opens a file of each format, ``arrays.py`` an npz file, ``refusals.py`` says what is wrong with one.
``dialect.py`` finds out how a CSV file is written, with ``separators.py`` and ``marks.py`` (decimals, thousands),
``columns.py`` turns named columns into numbers, with ``targets.py``, ``gaps.py`` (missing values) and ``mixed.py``
(words as codes beside numbers), ``groups.py`` reads groups of features, ``writing.py`` writes.

Data that stay on their disk: ``opening.py`` opens them; ``npy.py``, ``parquet.py``, ``zarr_arrays.py`` and
``folders.py`` read pieces; ``converting.py`` writes such a folder from ``portions.py`` of a CSV or LIBSVM file, and
``placing.py`` puts it into its place.
"""

from ascd.files.columns import Choices, Recipe, Table
from ascd.files.converting import convert
from ascd.files.dialect import Dialect
from ascd.files.groups import groups_of, read_groups
from ascd.files.opening import OnDisk, open_data
from ascd.files.reading import FORMATS, guess_format, read_table
from ascd.files.writing import whole_file, whole_folder, write_text

__all__ = [
    "FORMATS",
    "Choices",
    "Dialect",
    "OnDisk",
    "Recipe",
    "Table",
    "convert",
    "groups_of",
    "guess_format",
    "open_data",
    "read_groups",
    "read_table",
    "whole_file",
    "whole_folder",
    "write_text",
]
