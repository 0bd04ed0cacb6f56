"""Files as nobody should write them, each read as it is meant or refused in a sentence, by every command that reads."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile

import numpy as np
import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
from command_line import run

from ascd.cli import ERROR
from ascd.io import Choices, convert, open_data, read_table, separators

pytestmark = pytest.mark.usefixtures("interpreted")

A = np.random.default_rng(0).standard_normal((24, 3)).round(3)
Y = (A @ [1.0, -2.0, 0.0]).round(3)
ROWS = [",".join(map(str, [*row, y])) for row, y in zip(A, Y, strict=True)]
TEXT = "\n".join(["a,b,c,y", *ROWS, ""])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", TEXT.encode("utf-16")),
        ("t.csv", TEXT.encode("utf-16-le")),
        ("t.csv", TEXT.encode("utf-16-be")),
        ("t.csv", TEXT.encode("utf-32")),
        ("t.csv", b"\xef\xbb\xbf" + TEXT.encode()),
        ("t.csv", TEXT.replace("\n", "\r").encode()),
        ("t.csv", TEXT.replace("\n", "\n\n").encode()),
        ("t.csv", TEXT.replace("\n", ",\n").encode()),
        ("t.csv", f"# made by hand\n# twice\n{TEXT}".encode()),
        ("t.csv", TEXT.replace(",", ";").replace(".", ",").encode()),
        ("t.csv", TEXT.replace(",", "   ").encode()),
        ("t.csv.gz", gzip.compress(TEXT.encode())),
        ("t.csv.bz2", bz2.compress(TEXT.encode())),
        ("t.csv.xz", lzma.compress(TEXT.encode())),
    ],
)
def test_the_same_table_however_it_is_written(tmp_path, capsys, name, content):
    (tmp_path / name).write_bytes(content)
    table = read_table(tmp_path / name)
    np.testing.assert_array_equal(table.X, A)
    np.testing.assert_array_equal(table.y, Y)
    assert run(capsys, "convert", tmp_path / name, tmp_path / "folder")[0] == 0
    np.testing.assert_array_equal(open_data(tmp_path / "folder").y, Y)


def test_a_line_longer_than_what_is_looked_at_first(tmp_path, monkeypatch):
    monkeypatch.setattr(separators, "SAMPLE", 1 << 11)
    numbers = np.random.default_rng(0).integers(0, 9, (6, 600))
    head = ";".join([*(f"f{j}" for j in range(599)), "y"])
    assert len(head) > separators.SAMPLE
    lines = [head, *(";".join(f"{value},5" for value in row) for row in numbers)]
    (tmp_path / "wide.csv").write_text("\n".join(lines), encoding="utf-8")
    table = read_table(tmp_path / "wide.csv")
    assert table.notes[0] == "separator ';', decimal comma, header"
    np.testing.assert_array_equal(table.X, numbers[:, :-1] + 0.5)


READING = ("fit", "path", "race", "convert", "predict")
REFUSED = {
    "1e400": (f"{TEXT}1e400,1,1,1\n", "infinite value", READING),
    "inf": (f"{TEXT}inf,1,1,1\n", "infinite value", READING),
    "infinite target": (f"{TEXT}1,1,1,inf\n", "", ("fit", "path", "race", "convert")),
    "ragged": (f"{TEXT}1,2,3,4,5\n", "t.csv: line 26 has 5 fields, the lines before it have 4", READING),
    "open quote": (f'{TEXT}"1,2,3,4\n', "a quote that is opened in row 26 of the file is never closed", READING),
    "one column": ("y\n1\n2\n3\n", "3 samples and 0 features: its lines, such as 'y', are one column", READING),
    "colons": (TEXT.replace(",", ":"), "24 samples and 0 features: its lines, such as 'a:b:c:y'", READING),
    "text": (f"{TEXT}abc,1,1,1\n", "'abc'", READING),
    "no target": ("a,b,c,y\n1,2,3,\n2,3,4,\n", "", ("fit", "path", "race", "convert")),
    "gzip": (gzip.compress(TEXT.encode()), "it is compressed by gzip: unpack it, or rename it", READING),
    "nothing": ("", "t.csv is empty", READING),
    "header": ("a,b,c,y\n", "t.csv has a header of 4 columns and no rows", READING),
}
TOLD = {
    "infinite target": ("1 sample without a target, or with an infinite one", "no finite value in row 25"),
    "no target": ("the target 'y' has no value at all: name another column", "no finite value in row 1"),
}


@pytest.fixture
def place(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.csv").write_text(TEXT, encoding="utf-8")
    assert run(capsys, "fit", "good.csv", "--alpha", 0.01, "--out", "m.npz")[0] == 0
    return tmp_path


@pytest.mark.parametrize("case", REFUSED)
def test_every_command_says_what_is_wrong(place, capsys, case):
    content, sentence, commands = REFUSED[case]
    (place / "t.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    before = sorted(path.name for path in place.iterdir())
    for command in commands:
        more = {"predict": ["m.npz", "t.csv"], "convert": ["t.csv", "new"]}.get(command, ["t.csv"])
        code, out, error = run(capsys, command, *more, *(["--out", "n.npz"] if command == "fit" else []))
        assert (code, out) == (ERROR, ""), command
        assert (sentence or TOLD[case][command == "convert"]) in error
        assert error.count("\n") == 1
    assert sorted(path.name for path in place.iterdir()) == before


@pytest.mark.parametrize("option", ["--drop", "--impute"])
def test_a_target_without_values_cannot_be_mended(place, capsys, option):
    (place / "t.csv").write_text(REFUSED["no target"][0], encoding="utf-8")
    code, _, error = run(capsys, "fit", "t.csv", option, *(["mean"] if option == "--impute" else []), "--out", "n.npz")
    assert code == ERROR
    assert "the target 'y' has no value at all: name another column with --target" in error


def test_an_infinite_target_is_left_out_of_a_score(place, capsys):
    (place / "t.csv").write_text(f"{TEXT}1,1,1,inf\n", encoding="utf-8")
    code, out, error = run(capsys, "predict", "m.npz", "t.csv")
    assert (code, error, len(out.splitlines())) == (0, "R² 0.9999\n", 26)


@pytest.mark.parametrize("model", ["logistic", "svm"])
def test_one_class_is_too_few(place, capsys, model):
    (place / "t.csv").write_text(
        TEXT.replace("y\n", "y,kind\n", 1).replace("\n", ",same\n").replace(",kind,same", ",kind"), encoding="utf-8"
    )
    code, _, error = run(capsys, "fit", "t.csv", "--target", "kind", "--model", model, "--out", "n.npz")
    assert code == ERROR
    assert "the target 'kind' is same in every row: a classifier needs two classes" in error


def test_features_that_do_not_vary_have_no_path(place, capsys):
    (place / "t.csv").write_text("a,b,y\n" + "".join(f"3,4,{y}\n" for y in Y), encoding="utf-8")
    code, _, error = run(capsys, "path", "t.csv", "--points", 3)
    assert code == ERROR
    assert "no feature varies with it" in error


@pytest.mark.parametrize("name", ["t.csv.zip", "t.zip", "t.csv.zst", "t.tar.gz", "t.svm.xz"])
def test_archives_are_to_be_unpacked(place, capsys, name):
    with zipfile.ZipFile(place / name, "w") as archive:
        archive.writestr("t.csv", TEXT)
    _, _, error = run(capsys, "fit", name, "--out", "n.npz")
    assert f"'{name}' is packed in a way that is not read: unpack it first" in error


def test_names_cannot_steer_a_terminal(place, capsys):
    text = TEXT.replace("a,b,c", f"\x1b[31mred,{'long' * 2000},c", 1)
    (place / "t.csv").write_text(text, encoding="utf-8")
    for command in (["fit", "t.csv", "--alpha", 0.01, "--out", "n.npz"], ["path", "t.csv", "--points", 3]):
        code, out, error = run(capsys, *command)
        assert (code, error) == (0, "")
        assert "\x1b" not in out
        assert max(map(len, out.splitlines())) < 300
    assert "\x1b" not in run(capsys, "fit", "t.csv", "--without", "\x1b[31", "--force")[2]


def test_labels_with_commas_are_quoted(place, capsys):
    labels = ['"red, or so"', "blue"]
    rows = [f"{row},{labels[k % 2]}" for k, row in enumerate(ROWS)]
    (place / "t.csv").write_text("\n".join(["a,b,c,d,kind", *rows]), encoding="utf-8")
    assert run(capsys, "fit", "t.csv", "--model", "logistic", "--C", 100, "--out", "n.npz")[0] == 0
    code, out, _ = run(capsys, "predict", "n.npz", "t.csv")
    assert code == 0
    assert set(out.splitlines()[1:]) == {'"red, or so"', "blue"}


@pytest.mark.parametrize("word", ["\u0661", "\uff12", "3\x1f"])
def test_digits_that_pandas_does_not_read_are_words(tmp_path, word):
    """Python reads these as numbers."""
    path = tmp_path / "digits.csv"
    path.write_text(f"a,b,y\n{word},2,3\n4,5,6\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"column 'a' holds text, the first is .* in row 1; leave it out"):
        convert(path, tmp_path / "folder")
    assert read_table(path, choices=Choices(levels=20)).names[0].startswith("a=")


def test_words_like_numbers_far_above_others(tmp_path):
    words = ["07"] * 1100 + ["A"] * 1300  # pandas can read a file in turns, of 1024 lines here
    lines = [",".join([*"1" * 1000, word, "2"]) for word in words]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([",".join([*(f"x{j}" for j in range(1000)), "town", "y"]), *lines]))
    assert read_table(path, choices=Choices(levels=9)).names[1000:] == ["town=A"]


def test_an_index_whose_columns_no_memory_holds(capsys, tmp_path):
    path = tmp_path / "far.svm"
    path.write_text("1 1:1 2000000000:1\n0 1:2\n")
    for command in (("fit", path, "--out", tmp_path / "m.npz"), ("convert", path, tmp_path / "far", "--memory", "1GB")):
        code, _, error = run(capsys, *command)
        assert code == ERROR
        assert "far.svm has an index 2,000,000,000: the places of so many columns take 16.0 GB" in error
