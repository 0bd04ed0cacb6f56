"""CSV files as people have them: separator, decimal mark, header, gaps and words are found, shown and overridden."""

from __future__ import annotations

import bz2
import gzip

import numpy as np
import pytest

pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")

from ascd.io import Choices, Dialect, Recipe, read_table  # noqa: E402
from ascd.io.columns import counted  # noqa: E402

PLAIN = "a,b,y\n1.5,2,3\n2.5,3,4\n"
NUMBERS = [[1.5, 2.0], [2.5, 3.0]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (PLAIN, "separator ',', header"),
        (PLAIN.replace(",", ";"), "separator ';', header"),
        (PLAIN.replace(",", "\t"), "separator tab, header"),
        (PLAIN.replace(",", "|"), "separator '|', header"),
        (PLAIN.replace(",", "  "), "separator spaces, header"),
        ("a;b;y\n1,5;2;3\n2,5;3;4\n", "separator ';', decimal comma, header"),
        ("a\tb\ty\n1,5\t2\t3\n2,5\t3\t4\n", "separator tab, decimal comma, header"),
        ('"a","b","y"\n"1.5","2","3"\n"2.5","3","4"\n', "separator ',', header"),
        ("a, b, y\r\n1.5, 2, 3\r\n2.5, 3, 4\r\n", "separator ',', header"),
        ("\ufeff" + PLAIN, "separator ',', header"),
        (PLAIN.encode("utf-16"), "separator ',', header, encoding utf-16"),
        (",a,b,y\n0,1.5,2,3\n1,2.5,3,4\n", "separator ',', header"),
    ],
)
def test_the_way_it_is_written_is_found_out_and_shown(write, content, words):
    table = read_table(write(content))
    np.testing.assert_array_equal(table.X, NUMBERS)
    np.testing.assert_array_equal(table.y, [3, 4])
    assert (table.names, table.target) == (["a", "b"], "y")
    assert table.notes[0] == words


def test_thousands_and_the_encoding_of_windows(write):
    table = read_table(write("größe;y\n1.234,5;2\n10.000,25;3\n".encode("cp1252")))
    assert table.names == ["größe"]
    np.testing.assert_array_equal(table.X, [[1234.5], [10000.25]])
    table = read_table(write('a,y\n"1,234.5",2\n"2,000.0",3\n'))
    np.testing.assert_array_equal(table.X, [[1234.5], [2000.0]])


@pytest.mark.parametrize(("ending", "opener"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_compressed_files_are_looked_into(write, ending, opener):
    table = read_table(write(opener(b"a;y\n1,5;2\n2,5;3\n"), f"t.csv{ending}"))
    np.testing.assert_array_equal(table.X, [[1.5], [2.5]])


def test_a_header_of_numbers_is_questioned_and_either_answer_is_taken(write):
    path = write("1,2,3\n4,5,6\n7,8,9\n")
    with pytest.raises(ValueError, match=r"has numbers \(1, 2, 3\) where a header has names.*--no-header.*--header"):
        read_table(path)
    as_data, as_names = (read_table(path, dialect=Dialect(header=header)) for header in (False, True))
    assert (as_data.X.shape, as_data.names, as_data.target) == ((3, 2), ["column 1", "column 2"], "column 3")
    assert (as_names.X.shape, as_names.names) == ((2, 2), ["1", "2"])
    assert read_table(path, "1", dialect=Dialect(header=False)).target == "column 1"


def test_years_as_names_beside_words_are_questioned_too(write):
    with pytest.raises(ValueError, match=r"\(2019, 2020\)"):
        read_table(write("name,2019,2020\nAnn,1,2\nBob,3,4\n"))


@pytest.mark.parametrize(
    ("content", "given", "message"),
    [
        ("a;b;y\n1;2;3\n4;5;6\n", ",", r"2 samples and 0 features: .*'a;b;y' is one column; .*--sep ';'"),
        ("a\tb\n1\t2\n", ",", r"1 sample and 0 features.*--sep '\\t'"),
        ("a\n1\n2\n", None, r"2 samples and 0 features: .* are one column, .* name it with --sep"),
    ],
)
def test_a_single_column_suggests_the_separator(write, content, given, message):
    with pytest.raises(ValueError, match=message):
        read_table(write(content), dialect=Dialect(sep=given))


def test_files_without_rows_say_so(write):
    with pytest.raises(ValueError, match=r"t\.csv has a header of 3 columns and no rows"):
        read_table(write("a,b,c\n"))
    with pytest.raises(ValueError, match=r"t\.csv is empty"):
        read_table(write("  \n\n"))


def test_what_is_given_overrides_what_is_found(write):
    path = write("a;y\n1,234;2\n2,345;3\n")
    assert read_table(path).X[0, 0] == 1.234
    assert read_table(path, dialect=Dialect(decimal=".", thousands=",")).X[0, 0] == 1234.0


GAPS = "a,b,y\n1,?,3\n2,3,4\nNA,5,4\n4,7,\n"


def test_missing_values_are_known_by_their_usual_words(write):
    table = read_table(write(GAPS))
    np.testing.assert_array_equal(np.isnan(table.X), [[0, 1], [0, 0], [1, 0], [0, 0]])
    assert np.isnan(table.y[3])
    other = read_table(write("a,y\n1,2\n-999,3\n"), na=["-999"])
    assert np.isnan(other.X[1, 0])


def test_rows_with_gaps_are_left_out_or_filled(write):
    path = write(GAPS)
    dropped = read_table(path, choices=Choices(drop=True))
    np.testing.assert_array_equal(dropped.X, [[2.0, 3.0]])
    assert "3 of 4 rows left out: a value is missing" in dropped.notes
    filled = read_table(path, choices=Choices(impute="mean"))
    np.testing.assert_allclose(filled.X, [[1, 4], [2, 3], [1.5, 5]])  # the row without a target is gone
    assert filled.recipe.fills == {"a": 1.5, "b": 4.0}
    assert "2 missing values filled by the column's mean" in filled.notes
    with pytest.raises(ValueError, match="unknown impute 'mode'"):
        read_table(path, choices=Choices(impute="mode"))


WORDS = "colour,size,sure,y\nred,1,yes,2\nblue,2,no,3\nred,3,yes,4\ngreen,4,no,5\n"


def test_text_columns_become_columns_of_0_and_1(write):
    table = read_table(write(WORDS), choices=Choices(levels=3))
    assert table.names == ["colour=blue", "colour=green", "colour=red", "size", "sure=yes"]
    np.testing.assert_array_equal(table.X.to_numpy()[:, 2], [1, 0, 1, 0])
    np.testing.assert_array_equal(table.X.to_numpy()[:, 4], [1, 0, 1, 0])
    assert table.recipe.levels == {"colour": ["blue", "green", "red"], "sure": ["no", "yes"]}
    assert any("text column 'colour' as 3 columns of 0 and 1" in note for note in table.notes)


def test_too_many_words_are_refused_with_a_way_out(write):
    with pytest.raises(
        ValueError, match=r"text column 'colour' has 3 different values, more than 2: --levels 3 .*--without"
    ):
        read_table(write(WORDS), choices=Choices(levels=2))
    table = read_table(write(WORDS), choices=Choices(levels=2, without=("colour",)))
    assert table.names == ["size", "sure=yes"]
    with pytest.raises(ValueError, match=r"unknown column 'color'\. Did you mean 'colour'"):
        read_table(write(WORDS), choices=Choices(without=("color",)))


def test_a_word_among_numbers_is_shown_with_its_row(write):
    with pytest.raises(ValueError, match="column 'a' has 1 of 4 values that are not numbers, the first 'tow' in row 2"):
        read_table(write("a,y\n1,2\ntow,3\n3,4\n5,6\n"), choices=Choices(levels=20))


def test_a_recipe_treats_other_data_in_the_same_way(write):
    recipe = Recipe({"size": 9.0, "colour=blue": 0.0, "colour=red": 0.0}, {"colour": ["blue", "green", "red"]})
    table = read_table(
        write("size,colour,extra\n,red,x\n2,mauve,y\n"),
        target_optional=True,
        features=["colour=red", "size", "colour=blue"],
        recipe=recipe,
    )
    np.testing.assert_array_equal(table.X.to_numpy(), [[1.0, 9.0, 0.0], [0.0, 2.0, 0.0]])
    assert any("not seen" in note and "mauve" in note for note in table.notes)


def test_an_npz_of_objects_is_refused_without_advice_to_unpickle(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, X=np.ones((2, 2)), y=np.array(["a", None], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="y holds Python objects") as caught:
        read_table(path)
    assert "pickle" not in str(caught.value).lower()


def test_gaps_of_arrays_and_sparse_tables(tmp_path):
    from scipy import sparse

    X, y = np.array([[1.0, np.nan], [3.0, 4.0], [5.0, 8.0]]), np.array([1.0, 2.0, 3.0])
    np.savez(tmp_path / "dense.npz", X=X, y=y)
    filled = read_table(tmp_path / "dense.npz", choices=Choices(impute="median"))
    assert filled.X[0, 1] == 6.0
    np.testing.assert_array_equal(read_table(tmp_path / "dense.npz", choices=Choices(drop=True)).y, [2.0, 3.0])
    sparse.save_npz(tmp_path / "sparse.npz", sparse.csc_matrix(X))
    with np.load(tmp_path / "sparse.npz") as held:
        np.savez(tmp_path / "sparse.npz", **held, y=y)
    kept = read_table(tmp_path / "sparse.npz", choices=Choices(drop=True))
    np.testing.assert_array_equal(kept.X.toarray(), X[1:])
    with pytest.raises(ValueError, match="of a sparse table cannot be filled; --drop leaves out their rows"):
        read_table(tmp_path / "sparse.npz", choices=Choices(impute="mean"))


TABLE = "a;b;y\n1;2;3\n4;5;6\n7;8;9\n"


@pytest.mark.parametrize(
    ("above", "skipped"), [("# a logger\n# v2\n\n", 3), ("sep=;\n", 1), ('"SEP=;"\n', 1), ("\n", 1), ("", 0)]
)
def test_lines_above_the_table_are_left_out(write, above, skipped):
    table = read_table(write(above + TABLE))
    assert table.names == ["a", "b"]
    np.testing.assert_array_equal(table.X, [[1, 2], [4, 5], [7, 8]])
    told = f", {counted(skipped, 'line')} above the table left out" if skipped else ""
    assert table.notes == (f"separator ';', header{told}",)


def test_a_header_may_begin_with_the_sign_of_comments(write):
    assert read_table(write("# made by hand\n#a;b;y\n1;2;3\n4;5;6\n")).names == ["#a", "b"]
    assert read_table(write("#a,b,y\n1,2,3\n4,5,6\n")).names == ["#a", "b"]


def test_a_separator_at_the_end_of_each_line_makes_no_column(write):
    table = read_table(write("a,b,y,\n1,2,3,\n4,5,6,\n"))
    assert (table.names, table.y.tolist()) == (["a", "b"], [3, 6])
    assert "1 column without name and values left out" in table.notes


def test_a_line_of_another_length_is_told_by_its_number(write):
    with pytest.raises(
        ValueError, match=r"line 4 has 4 fields, the lines before it have 3: is the separator ',' right"
    ):
        read_table(write("a,b,y\n1,2,3\n1,2\n3,4,5,6\n"))


def test_infinite_values_are_gaps_too(write):
    path = write("a,b,y\n1,inf,3\n2,5,6\n3,-inf,4\n4,7,1\n")
    np.testing.assert_array_equal(read_table(path, choices=Choices(drop=True)).X, [[2, 5], [4, 7]])
    filled = read_table(path, choices=Choices(impute="mean"))
    np.testing.assert_array_equal(filled.X[:, 1], [6, 5, 6, 7])
    assert "2 missing values filled by the column's mean" in filled.notes


def test_one_column_is_told_as_what_it_is(write):
    with pytest.raises(ValueError, match="3 samples and 0 features: its lines, such as 'a', are one column"):
        read_table(write("a\n1\n2\n3\n"))


def test_line_ends_of_old_machines_and_bytes_that_are_no_text(write, tmp_path):
    for end in ("\n", "\r\n", "\r"):
        path = tmp_path / "ends.csv"
        path.write_bytes(TABLE.replace("\n", end).encode())
        np.testing.assert_array_equal(read_table(path).X, [[1, 2], [4, 5], [7, 8]])
    with pytest.raises(ValueError, match=r"t\.csv holds bytes that no text has: is it a CSV file\?"):
        read_table(write("a,b,y\n1,\0,3\n"))
