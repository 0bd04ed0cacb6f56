"""Tables from files: how CSV files are written, words and numbers, missing values; files written whole."""

from __future__ import annotations

import errno
import gzip
import lzma

import numpy as np
import pytest

from ascd.io import Choices, Dialect, Recipe, read_table, whole_file, whole_folder, write_text
from ascd.io.tables import predictor

pandas = pytest.importorskip("pandas", reason="the extra 'cli' is not installed")

A = np.random.default_rng(0).standard_normal((24, 3)).round(3)
Y = (A @ [1.0, -2.0, 0.0]).round(3)
TEXT = "\n".join(["a,b,c,y", *(",".join(map(str, [*row, y])) for row, y in zip(A, Y, strict=True)), ""])
COMMAS = TEXT.replace(",", ";").replace(".", ",")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.csv", TEXT, "separator ',', header"),
        ("t.csv", TEXT.replace(",", ";"), "separator ';', header"),
        ("t.csv", TEXT.replace(",", "\t"), "separator tab, header"),
        ("t.csv", COMMAS, "separator ';', decimal comma, header"),
        ("t.csv", b"\xef\xbb\xbf" + TEXT.encode(), "separator ',', header"),
        ("t.csv", TEXT.replace("\n", "\r\n"), "separator ',', header"),
        ("t.csv", TEXT.replace(",", ", "), "separator ',', header"),
        ("t.csv.gz", gzip.compress(TEXT.encode(), mtime=0), "separator ',', header"),
        ("t.csv.xz", lzma.compress(TEXT.encode()), "separator ',', header"),
    ],
)
def test_the_same_table_however_it_is_written(write, name, content, words):
    data = read_table(write(content, name))
    np.testing.assert_array_equal(data.X, A)
    np.testing.assert_array_equal(data.y, Y)
    assert (data.names, data.target, data.notes) == (["a", "b", "c"], "y", (words,))


@pytest.mark.parametrize(
    ("content", "given", "expected", "notes"),
    [
        ("a b  y\n1 2 3\n4 5  6\n", {"sep": r"\s+"}, [[1, 2], [4, 5]], 1),
        ("a|b|y\n1|2|3\n4|5|6\n", {"sep": "|"}, [[1, 2], [4, 5]], 1),
        ("a;b;y\n4,311;1;2\n4,655;2;3\n", {}, [[4.311, 1], [4.655, 2]], 1),
        ("a;b;y\n4.311;1;14.8\n4.655;2;3\n", {}, [[4.311, 1], [4.655, 2]], 1),
        ("a;b;y\n1,234;1;2\n2,345;2;3\n", {"decimal": ",", "sep": ";"}, [[1.234, 1], [2.345, 2]], 1),
        ("größe;b;y\n1,5;1;2\n2,5;2;3\n".encode("cp1252"), {"encoding": "cp1252"}, [[1.5, 1], [2.5, 2]], 1),
        ("a,b,y\n1,2,3\n4,5,6\n".encode("utf-16"), {"encoding": "utf-16"}, [[1, 2], [4, 5]], 1),
        ("1,2,3\n4,5,6\n", {"header": False}, [[1, 2], [4, 5]], 1),
        ("NA,2,3\n4,5,6\n", {"header": False}, [[np.nan, 2], [4, 5]], 1),
        (",a,b,y\n0,1.5,2,3\n1,2.5,3,4\n", {}, [[1.5, 2], [2.5, 3]], 2),
        ("a,b,y,\n1,2,3,\n4,5,6,\n", {}, [[1, 2], [4, 5]], 2),
        ("a,b,y\n1,2,3,\n4,5,6,\n", {}, [[1, 2], [4, 5]], 1),
        ("a,a,y\n1,2,3\n4,5,6\n", {}, [[1, 2], [4, 5]], 1),
        ('"a\nx",b,y\n1,2,3\n4,5,6\n', {}, [[1, 2], [4, 5]], 1),
    ],
)  # fmt: skip
def test_what_options_and_files_say(write, content, given, expected, notes):
    data = read_table(write(content), dialect=Dialect(**given))
    np.testing.assert_array_equal(data.X, expected)
    assert len(data.notes) == notes, data.notes


@pytest.mark.parametrize(
    ("content", "given", "message"),
    [
        ("1,2,3\n4,5,6\n7,8,9\n", {}, r"has numbers \(1, 2, 3\) where a header has names.*--no-header.*--header"),
        ("name,2019,2020\nAnn,1,2\nBob,3,4\n", {}, r"\(2019, 2020\)"),
        ("id,2020,y\n1,2,3\n4,5,6\n", {}, r"\(2020\) where a header has names"),
        ("a,b,y\n1,2,3\n4,5,6\n", {"header": False}, "'column 1' has 1 of 3 values that are not numbers, the"),
        ("a;b;y\n1,5;1.5;2\n2,5;2;3\n", {}, r"decimal points \(1\.5\) and with decimal commas \(1,5\): .*--decimal"),
        ("a;b;y\n1;2;3\n4;5;6\n", {"sep": ","}, "2 samples and 0 features: is the separator right"),
        ("a\n1\n2\n", {}, "2 samples and 0 features: is the separator right"),
        ("a,b,y\n1,2,3\n1,2\n3,4,5,6\n", {}, "t.csv is not a table in CSV: .*3 fields in line 4, saw 4: is the"),
        ("a,b,y\n1,2,3,4\n5,6,7\n", {}, "t.csv is not a table in CSV: .*: is the separator ',' right"),
        ('a,b,y\n1,2,3\n"1,2,3\n', {}, "t.csv is not a table in CSV: .*EOF inside string starting at row 2"),
        ("a,b,c\n", {}, "t.csv has a header and no rows"),
        ("  \n\n", {}, "t.csv is empty"),
        ("a,b,y\n1,\0,3\n", {}, "t.csv holds bytes that no text has"),
        (
            gzip.compress(TEXT.encode(), mtime=0),
            {},
            "t.csv cannot be read as utf-8: .*; a compressed file must be named .gz",
        ),
        ("größe,y\n1,2\n".encode("cp1252"), {}, "t.csv cannot be read as utf-8: .*--encoding cp1252"),
        ("a,b,y\n1,2,3\n".encode("utf-16-le"), {}, "t.csv holds bytes that no text has"),
        ("a;b;y\n1'250;1;2\n12'500;2;3\n", {}, "text column 'a' has 2 different values, more than 0"),
        (TEXT, {"encoding": "klingon"}, "cannot be read as klingon: .*unknown encoding"),
        (TEXT, {"sep": "::"}, r"sep \(--sep\) must be one character .* got '::'"),
        ("a,b,y\nx,2,3\nz,3,4\n", {}, "text column 'a' has 2 different values, more than 0"),
        ("a,y\n1,2\ntow,3\n3,4\n5,6\n", {}, "column 'a' has 1 of 4 values that are not numbers, the first 'tow'"),
    ],
)
def test_files_that_cannot_be_read(write, content, given, message):
    with pytest.raises(ValueError, match=message):
        read_table(write(content), dialect=Dialect(**given))


def test_words_like_numbers_stay_words(write):
    """pandas can read a file in turns, of 1024 lines here: 07 must not become 7 in one of them."""
    towns = ["07"] * 1100 + ["A"] * 1300
    lines = [",".join([*"1" * 1000, town, "2"]) for town in towns]
    path = write("\n".join([",".join([*(f"x{j}" for j in range(1000)), "town", "y"]), *lines]))
    assert read_table(path, choices=Choices(levels=9)).recipe.levels == {"town": ["07", "A"]}
    for word in ("\u0661", "\uff12", "3\x1f"):  # Python reads these as numbers
        path = write(f"a,b,y\n{word},2,3\n4,5,6\n")
        assert read_table(path, choices=Choices(levels=20)).names[0].startswith("a=")


WORDS = "colour,size,sure,y\nred,1,yes,2\nblue,2,no,3\nred,3,yes,4\ngreen,4,no,5\n"


def test_text_columns_become_columns_of_0_and_1(write):
    data = read_table(write(WORDS), choices=Choices(levels=3))
    assert data.names == data.X.feature_names == ["colour=blue", "colour=green", "colour=red", "size", "sure=yes"]
    assert data.recipe.levels == {"colour": ["blue", "green", "red"], "sure": ["no", "yes"]}
    assert any("text column 'colour' as 3 columns of 0 and 1" in note for note in data.notes)
    with pytest.raises(ValueError, match=r"'colour' has 3 different values, more than 2: --levels 3 .*--without"):
        read_table(write(WORDS), choices=Choices(levels=2))
    assert read_table(write(WORDS), choices=Choices(("colour",), levels=2)).names == ["size", "sure=yes"]
    for wrong, message in ((("color",), "Did you mean 'colour'"), (("y", "y"), "column 'y' is named twice")):
        with pytest.raises(ValueError, match=message):
            read_table(write(WORDS), choices=Choices(wrong))
    with pytest.raises(ValueError, match="two columns would be called 'a=x'"):
        read_table(write("a,a=x,y\nx,1,2\nz,3,4\nw,5,6\n"), choices=Choices(levels=9))


def test_a_recipe_treats_other_data_in_the_same_way(write):
    features = ["size", "colour=07", "colour=green", "colour=red"]
    recipe = Recipe({"size": 9.0, "colour": "red"}, {"colour": ["07", "green", "red"]}, features=features, width=4)
    data = read_table(write("colour,size,extra\nred,,x\nmauve,2,y\n,3,z\n"), recipe=recipe)
    assert data.names == features
    assert data.frame["size"].tolist() == [9.0, 2.0, 3.0]
    np.testing.assert_array_equal(predictor(data, np.eye(4)), [[9, 0, 0, 1], [2, 0, 0, 0], [3, 0, 0, 1]])
    assert any("not seen" in note and "mauve" in note for note in data.notes)
    data = read_table(write("colour,size\n07,1\n07,2\n"), recipe=recipe)
    assert data.frame["colour"].tolist() == ["07", "07"], "also where all values are numbers"
    for content, message in (("size,colour\nlow,red\n", "'size' must be numbers, as in the .*'low' in row 1"),
                             ("colour\nred\n", "t.csv lacks 1 of 2 features: size")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            read_table(write(content), recipe=recipe)


GAPS = "a,b,t,y\n1,?,x,3\n2,3,x,4\nNA,5,,4\n4,7,z,\n5,inf,z,2\n"


@pytest.mark.parametrize(
    ("how", "expected", "notes"),
    [
        ({"drop": True}, [[2, 3, "x"]], 2),
        ({"impute": "mean"}, [[1, 4, "x"], [2, 3, "x"], [8 / 3, 5, "x"], [5, 4, "z"]], 2),
        ({"impute": "median"}, [[1, 4, "x"], [2, 3, "x"], [2, 5, "x"], [5, 4, "z"]], 2),
    ],
)
def test_missing_values_are_left_out_or_filled(write, how, expected, notes):
    data = read_table(write(GAPS), choices=Choices(levels=9, **how))
    assert data.frame.to_numpy().tolist() == expected
    assert sum("left out" in note or "filled" in note for note in data.notes) == notes
    assert data.X.shape == (len(expected), 3)


def test_missing_values_that_cannot_be_filled(write):
    np.testing.assert_array_equal(
        np.isnan(read_table(write("a,y\n1,2\n-999,3\n"), dialect=Dialect(na=("-999",))).X), [[False], [True]]
    )
    path = write("1 1:1 2:nan\n2 1:3 2:4\n3 1:5 2:8\n", "sparse.svm")
    kept = read_table(path, choices=Choices(drop=True))
    np.testing.assert_array_equal(kept.X.toarray(), [[3.0, 4.0], [5.0, 8.0]])
    np.testing.assert_array_equal(kept.y, [2.0, 3.0])
    with pytest.raises(ValueError, match="of a sparse table cannot be filled; --drop leaves out their rows"):
        read_table(path, choices=Choices(impute="mean"))
    for choices, message in ((Choices(impute="mode"), "unknown impute 'mode'"),
                             (Choices(impute="mean"), "column 'e' has no value at all: --without"),
                             (Choices(drop=True), "would leave out all 2 rows: every one lacks a value")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            read_table(write("a,e,y\n1,,3\n2,,4\n"), choices=choices)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 a:b\n", "is not a LIBSVM file, as its name or --format says"),
        ("a,b,y\n1,2,3\n", "--format names another: csv, parquet"),
        ("1 1:1 99999999999:2\n", r"t\.svm is not a LIBSVM file.*too large"),
        ("1 1:1 2000000000:1\n", "has an index 2,000,000,000: the offsets of so many columns take 16.0 GB"),
    ],
)
def test_libsvm_files_that_are_none(write, content, message):
    with pytest.raises(ValueError, match=message):
        read_table(write(content, "t.svm"))


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path, folder = tmp_path / "kept.txt", tmp_path / "deep" / "results"
    write_text(path, "old")
    with pytest.raises(UnicodeEncodeError), whole_file(path) as draft:
        draft.write_text("half\ud800", encoding="utf-8")
    with pytest.raises(UnicodeEncodeError), whole_folder(folder) as drafts:
        (drafts / "first.txt").write_text("half\ud800", encoding="utf-8")
    with pytest.raises(OSError, match=r"File too large: '.*kept\.txt'"), whole_file(path):
        raise OSError(errno.EFBIG, "File too large")
    assert (path.read_text(), list(tmp_path.iterdir())) == ("old", [path])
    (tmp_path / "link.txt").symlink_to(path)
    write_text(tmp_path / "link.txt", "new")
    assert ((tmp_path / "link.txt").is_symlink(), path.read_text()) == (True, "new")
