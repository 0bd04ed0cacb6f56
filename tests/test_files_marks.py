"""Decimal marks and marks between thousands: what a file shows decides, what it does not show is said."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
from command_line import run

from ascd.io.models import load as load_model
from ascd.io import Choices, Dialect, read_table
from ascd.files.marks import find_marks, kind_of

pytestmark = pytest.mark.usefixtures("interpreted")
WHOLE = [[4311.0, 379.0], [4655.0, 464.0]]
PARTED = [[4.311, 379.0], [4.655, 464.0]]


def mirrored(text):
    """Commas for points and points for commas."""
    return text.translate(str.maketrans(".,", ",."))


@pytest.mark.parametrize("sep", [";", "\t"])
@pytest.mark.parametrize("mirror", [str, mirrored])
def test_what_nothing_decides_is_read_as_decimals_and_said(write, sep, mirror):
    path = write(mirror("a;b;y\n4.311;379;14.828\n4.655;464;16.285\n").replace(";", sep))
    table = read_table(path)
    assert table.X.tolist() == PARTED
    example, option = mirror("4.311"), mirror(",")
    assert table.notes[1] == (
        f"columns 'a', 'y': {example} is read as 4.311, not as 4311, because nothing in the file tells decimals from "
        f"thousands; --decimal {option} reads it as 4311"
    )
    other = read_table(path, dialect=Dialect(decimal=option))
    assert (other.X.tolist(), len(other.notes)) == (WHOLE, 1)
    same = read_table(path, dialect=Dialect(decimal=mirror(".")))
    assert (same.X.tolist(), len(same.notes)) == (PARTED, 1)


@pytest.mark.parametrize("mirror", [str, mirrored])
@pytest.mark.parametrize("shown", ["1,5", "1.250,30", "1.250.000", "0,125", "1234,567", "-2,5e3"])
def test_another_column_decides(write, mirror, shown):
    table = read_table(write(mirror(f"a;b;y\n4.311;379;{shown}\n4.655;464;7\n")))
    assert table.X.tolist() == WHOLE
    decimal = {",": "comma", ".": "point"}[mirror(",")]
    assert table.notes[1] == (
        f"column 'a': {mirror('4.311')} is read as 4311, not as 4.311, because {mirror(shown)} in column 'y' shows the "
        f"decimal {decimal}; --decimal {mirror('.')} reads it as 4.311"
    )


def test_evidence_may_stand_far_below(write):
    rows = "".join(f"{4 + k % 3}.311;{k}\n" for k in range(900))
    assert read_table(write(f"a;y\n{rows}")).X[0, 0] == 4.311
    assert read_table(write(f"a;y\n{rows}7;1,5\n")).X[0, 0] == 4311.0


def test_points_of_plain_files_are_not_discussed(write):
    assert len(read_table(write("a,b,y\n4.311,379,14.828\n4.655,464,16.285\n")).notes) == 1
    assert len(read_table(write("a;b;y\n4.311;379;14.8\n4.655;464;16.285\n")).notes) == 1, "14.8 shows a decimal point"


def test_quoted_commas_beside_commas_as_separators(write):
    table = read_table(write('a,b,y\n"1,5",379,"14,82"\n"2,5",464,"16,285"\n'))
    assert table.X.tolist() == [[1.5, 379.0], [2.5, 464.0]]
    assert table.notes == ("separator ',', decimal comma, header",)
    table = read_table(write('a,b,y\n"4,311",379,1\n"4,655",464,2\n'))
    assert table.X.tolist() == WHOLE
    assert "4,311 is read as 4311, not as 4.311" in table.notes[1]
    assert "--decimal , reads it as 4.311" in table.notes[1]


def test_dates_and_decimals_are_not_stripped_of_their_points(write):
    """Where points stand between thousands, pandas takes them away everywhere."""
    path = write("day;price;share;y\n02.05.2020;1.250,30;1.5;1\n03.05.2020;4;2.5;2\n")
    table = read_table(path, choices=Choices(levels=5))
    assert table.names == ["day=03.05.2020", "price", "share"]
    assert table.X.to_numpy().tolist() == [[0.0, 1250.3, 1.5], [1.0, 4.0, 2.5]]
    assert "decimal commas, but column 'share' has 1.5, read with a point" in " ".join(table.notes)


def test_kinds_of_cells():
    found = {cell: kind_of(cell)[0] for cell in ("4.311", "0.311", "4.3", "1,250,000", "1,250.5", "12", "1.2.3", "a.b")}
    assert found == {
        "4.311": "either", "0.311": "decimal", "4.3": "decimal", "1,250,000": "groups", "1,250.5": "decimal",
        "12": "plain", "1.2.3": "", "a.b": "",
    }  # fmt: skip
    assert find_marks([["1", "word, word"], ["2", "x,y"]], ";", None).decimal == ".", "words show nothing"


def numbers(mark):
    """y = 2a + b, with values of a that show no decimal mark."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(1000, 9999, 20), rng.integers(1, 9, 20)
    return [f"{str(one)[0]}{mark}{str(one)[1:]};{two};{2 * one + two}" for one, two in zip(a, b, strict=True)]


def test_a_model_reads_new_files_as_its_own(capsys, write, tmp_path):
    train, model = write("a;b;y\n" + "\n".join(numbers(".")), "train.csv"), tmp_path / "m.npz"
    code, out, _ = run(capsys, "fit", train, "--decimal", ",", "--alpha", 0.01, "--out", model)
    assert code == 0, out
    assert load_model(model).header["data"]["recipe"]["written"] == {
        "sep": ";", "decimal": ",", "header": True, "na": [],
    }  # fmt: skip
    code, out, error = run(capsys, "predict", model, write("a;b\n4.311;2\n", "new.csv"))
    assert (code, round(float(out.split()[1]))) == (0, 8624)
    assert "new.csv: read as the model's data were: separator ';', decimal comma, '.' between thousands" in error
    assert "because the model's data had decimal commas; --decimal . reads it as 4.311" in error
    out = run(capsys, "predict", model, tmp_path / "new.csv", "--decimal", ".")[1]
    assert round(float(out.split()[1])) == 11, "an option wins"
    code, out, error = run(capsys, "predict", model, write("a,b\n4311.5,2\n", "other.csv"))
    assert (code, round(float(out.split()[1]))) == (0, 8625), "a file that contradicts the model is read as it is"
    assert "other.csv: the model's data had the separator ';' and the decimal mark ','" in error


def test_a_model_without_names_takes_numbers_as_data_and_names_by_position(capsys, write, tmp_path):
    model, lines = tmp_path / "m.npz", numbers("")
    train = write("\n".join(lines), "train.csv")
    assert run(capsys, "fit", train, "--no-header", "--alpha", 0.01, "--out", model)[0] == 0
    code, bare, error = run(capsys, "predict", model, train)
    assert code == 0, error
    assert "R² 1.0000" in error
    named = write("a;b;y\n" + "\n".join(lines), "named.csv")
    code, out, error = run(capsys, "predict", model, named)
    assert (code, out) == (0, bare)
    assert "the model's data had no header" in error
    assert "R² 1.0000" in error


def test_names_that_are_numbers_and_words_for_gaps_are_remembered(capsys, write, tmp_path):
    model = tmp_path / "m.npz"
    rows = [line.replace(";", ",") for line in numbers("")]
    train = write("2019,2020,2021\n" + "\n".join([*rows, "-999,3,4"]), "train.csv")
    options = ("--header", "--na", "-999", "--impute", "mean", "--alpha", 0.01)
    assert run(capsys, "fit", train, *options, "--out", model)[0] == 0
    new = write("2019,2020\n4311,2\n-999,2\n", "new.csv")
    code, out, error = run(capsys, "predict", model, new)
    assert code == 0, error
    assert 0.0 < float(out.split()[2]) < 20000.0
    assert 0.0 < float(out.split()[1]) < 20000.0


def test_the_separator_that_finds_the_model_s_columns(capsys, write, tmp_path):
    """Text with semicolons in every line: the guess would cut there."""
    model = tmp_path / "m.npz"
    rows = [f"k;{k % 2},{k},{2 * k}" for k in range(12)]
    train = write("kind;of,a,y\n" + "\n".join(rows), "train.csv")
    assert run(capsys, "fit", train, "--sep", ",", "--alpha", 0.01, "--out", model)[0] == 0
    code, out, error = run(capsys, "predict", model, train)
    assert code == 0, error
    assert len(out.splitlines()) == 13
