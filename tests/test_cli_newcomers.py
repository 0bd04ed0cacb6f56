"""Files as new users bring them, from R, spreadsheets and shops, and what they try first."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
from command_line import run

from ascd.cli import ERROR, USAGE
from ascd.io import Choices, Dialect, Recipe, read_table

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.mark.parametrize("mark", [" ", "\u00a0", "\u202f", "'", "\u2019"])
@pytest.mark.parametrize("decimal", [",", "."])
def test_spaces_and_apostrophes_between_thousands(write, mark, decimal):
    rows = f"New York;1{mark}250{decimal}50;1\nSan Jose;12{mark}500;2\nBern;7{decimal}25;3\n"
    table = read_table(write(f"town;price;y\n{rows}"), choices=Choices(levels=5))
    assert table.names == ["town=Bern", "town=New York", "town=San Jose", "price"]
    assert table.X.to_numpy()[:, 3].tolist() == [1250.5, 12500.0, 7.25]


@pytest.mark.parametrize(
    "cells", [("10%", "20%"), ("$1.50", "$2"), ("1,50 €", "3 €"), ("(500)", "(20)"), ("\u22121.5", "\u22122")]
)
def test_numbers_with_signs_around_them_are_told_apart(write, cells):
    table = read_table(write(f"a;y\n{cells[0]};1\n{cells[1]};2\n"), choices=Choices(levels=5))
    assert any("is a number with other characters; remove them to use it so" in note for note in table.notes)
    plain = read_table(write("a;y\nsize 10;1\nsize 20;2\n"), choices=Choices(levels=5))
    assert not any("other characters" in note for note in plain.notes)


@pytest.mark.parametrize("sep", [",", " ", "\t", ";"])
def test_names_of_rows_as_r_writes_them(write, sep):
    text = '"a" "b" "y"\n"r1" 1.5 2 3\n"r2" 2 3 5\n"r3" 4 5 6\n'.replace(" ", sep)
    table = read_table(write(text))
    assert (table.names, table.target) == (["a", "b"], "y")
    assert table.X.tolist() == [[1.5, 2.0], [2.0, 3.0], [4.0, 5.0]]
    assert "the first column has no name: left out, as names of the rows" in table.notes


@pytest.mark.parametrize("end", range(4))
def test_letters_beyond_ascii_at_the_end_of_a_file(write, end):
    table = read_table(write("a;t;y\n1;ü;2\n2;€;3\n" + f"3;ß{chr(233) * end};4"), choices=Choices(levels=9))
    assert table.notes[0] == "separator ';', header"


def test_columns_of_one_name_are_told_apart(write):
    table = read_table(write("a,a,y\n1,2,3\n4,5,6\n"))
    assert table.names == ["a", "a.1"]
    assert "several columns are called 'a': the second is 'a.1' here" in table.notes
    table = read_table(write("a,a,a.1,y\n1,2,3,4\n5,6,7,8\n"))
    assert table.names == ["a", "a.2", "a.1"]
    assert "several columns are called 'a': the second is 'a.2' here" in table.notes


@pytest.mark.parametrize(("header", "name"), [("a,a,y", "a.1"), ("a,,y", "Unnamed: 1")])
def test_words_like_numbers_of_a_column_without_a_name_of_its_own(write, header, name):
    recipe = Recipe(levels={name: ["07", "B", "C"]}, written={"sep": ",", "header": True})
    features = ["a", f"{name}=07", f"{name}=B", f"{name}=C"]
    table = read_table(write(f"{header}\n1,07,3\n2,07,4\n"), features=features, recipe=recipe)
    assert table.X.to_numpy().tolist() == [[1, 1, 0, 0], [2, 1, 0, 0]]


def test_lines_of_unequal_lengths_have_a_separator(write):
    table = read_table(write("a,b,y\n1,2,3\n4,5\n6\n7\n"))
    assert table.notes[0] == "separator ',', header"


def test_a_column_that_is_left_out_twice(capsys, houses, tmp_path):
    code, _, error = run(capsys, "fit", houses, "--without", "a", "--without", "a", "--out", tmp_path / "m.npz")
    assert code == USAGE
    assert "column 'a' is named twice" in error


def test_words_where_the_model_has_numbers(capsys, write, houses, tmp_path):
    model = tmp_path / "m.npz"
    assert run(capsys, "fit", houses, "--alpha", 0.1, "--out", model)[0] == 0
    head = "a,b,c,d,e,f\n"
    for rows in ("1,2,low,4,5,6\n1,2,high,4,5,6\n", "1,2,3,4,5,6\n1,2,4,4,5,6\n1,2,low,4,5,6\n"):
        code, _, error = run(capsys, "predict", model, write(head + rows))
        assert code == ERROR
        assert "t.csv: column 'c' must be numbers, as in the model's data; row" in error
        assert "--without" not in error
    rows = "1,2,low,4,5,6\n1,2,3,4,5,6\n"
    code, _, error = run(capsys, "predict", model, write(head + rows), "--na", "low")
    assert "1 missing or infinite value, the first in feature 'c'" in error


def test_files_of_other_kinds_are_told(capsys, write, tmp_path):
    from ascd.io import guess_format

    with pytest.raises(ValueError, match=r"'t\.xlsx' is a spreadsheet, which is not read: save the sheet"):
        guess_format("t.xlsx")
    code, _, error = run(capsys, "fit", write("a,b,y\n1,2,3\n", "t.txt"), "--out", tmp_path / "m.npz")
    assert code == ERROR
    assert "is not a LIBSVM file, as its name or --format says" in error
    assert "--format names another: csv, parquet, npz" in error


def test_a_libsvm_file_with_more_features_than_the_model(capsys, write, letters, tmp_path):
    model = tmp_path / "m.npz"
    assert run(capsys, "fit", letters, "--model", "logistic", "--out", model)[0] == 0
    code, _, error = run(capsys, "predict", model, write("1 1:1 9:2\n", "wide.svm"))
    assert code == ERROR
    assert "the model has 5 features; wide.svm has 9" in error


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.ones((3, 2, 2)), "y": np.ones(3)}, r"X must be a table of numbers, rows by features; it has shape"),
        ({"X": np.array([["a", "b"]]), "y": np.ones(1)}, "X must be a table of numbers"),
        ({"X": np.ones((3, 2)), "y": np.ones(4)}, r"y must have one entry a row of X, 3; it has shape \(4,\)"),
        ({"X": np.ones((3, 2)), "y": np.float64(1.0)}, "y must have one entry a row of X, 3"),
    ],
)
def test_arrays_that_are_no_table(tmp_path, arrays, message):
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "t.npz")


def test_a_target_of_one_column_is_one_target(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.ones((3, 2)), y=np.ones((3, 1)))
    assert read_table(tmp_path / "t.npz").y.shape == (3,)


def test_a_first_row_of_data_shows_marks_too(write):
    table = read_table(write("1,5;4.311;2\n2;5.123;3\n7;6.789;4\n"), dialect=Dialect(header=False))
    assert table.X[0].tolist() == [1.5, 4311.0]


def test_more_folds_than_samples(capsys, houses, tmp_path):
    code, _, error = run(capsys, "fit", houses, "--cv", 41, "--out", tmp_path / "m.npz")
    assert code == USAGE
    assert "--cv must be at most the number of samples, 40; got 41" in error


def test_a_folder_where_a_file_is_needed(capsys, houses, tmp_path):
    assert run(capsys, "convert", houses, tmp_path / "folder")[0] == 0
    code, _, error = run(capsys, "race", tmp_path / "folder", "--out", tmp_path / "race")
    assert code == USAGE
    assert "is no file that this command reads, which needs the data in memory; fit and path read folders" in error
    code, _, error = run(capsys, "convert", houses, tmp_path / "folder")
    assert "(force=True, --force)" in error
