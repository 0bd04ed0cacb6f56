"""Words that look like numbers, such as 07, stay words: in text columns, classes, portions, and without a header."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pytest.importorskip("pandas", reason="the extra 'cli' is not installed")
import pandas
from command_line import run

from ascd.cli import ERROR, USAGE
from ascd.io import Choices, convert, open_data, read_table, separators

pytestmark = pytest.mark.usefixtures("interpreted")
EFFECTS = {"07": 5.0, "08": -5.0, "A": 2.0, "B": 0.0, "C": 1.0}


@pytest.fixture
def model(capsys, tmp_path, monkeypatch):
    """A model whose first column is text, with words that are numbers among others."""
    monkeypatch.chdir(tmp_path)
    words = [*EFFECTS] * 8
    pandas.DataFrame({"code": words, "y": [EFFECTS[word] for word in words]}).to_csv("train.csv", index=False)
    assert run(capsys, "fit", "train.csv", "--alpha", 1e-6, "--out", "m.npz")[0] == 0
    return "m.npz"


def predictions(capsys, *arguments):
    code, out, error = run(capsys, "predict", *arguments)
    assert code == 0, error
    return [round(float(line)) for line in out.splitlines()[1:]], error


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predict_knows_words_that_are_numbers(capsys, model, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    new = pandas.DataFrame({"code": ["07", "08", "07"]})  # numbers only
    new.to_csv("new.csv", index=False) if ending == "csv" else new.to_parquet("new.parquet")
    found, error = predictions(capsys, model, f"new.{ending}")
    assert found == [5, -5, 5]
    assert "not seen" not in error


def test_columns_without_names_have_the_levels_of_the_model(capsys, model, tmp_path):
    (tmp_path / "bare.csv").write_text("B\nC\nD\n08\n", encoding="utf-8")
    found, error = predictions(capsys, model, "bare.csv", "--no-header")
    assert found[:2] + found[3:] == [0, 1, -5]
    assert "values of 'code' that the model has not seen count as none: D" in error


def test_the_target_of_a_file_without_a_header_has_a_number(capsys, model, tmp_path):
    (tmp_path / "bare.csv").write_text("5,07\n2,A\n", encoding="utf-8")
    found, error = predictions(capsys, model, "bare.csv", "--no-header", "--target", 1)
    assert found == [5, 2]
    assert "R² 1.0000" in error
    code, _, error = run(capsys, "predict", model, "bare.csv", "--no-header")
    assert code == ERROR
    assert "the model has 1 column; without a header the data must have as many, and have 2" in error


def test_several_targets_of_a_file_without_a_header_have_numbers(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    A = np.random.default_rng(0).standard_normal((20, 2))
    np.savetxt("bare.csv", np.hstack([A, A + 1.0]), delimiter=",")
    options = ("--no-header", "--model", "multi-task-lasso", "--alpha", 1e-6, "--out", "m.npz")
    code, out, error = run(capsys, "fit", "bare.csv", "--target", 3, "--target", 4, *options)
    assert code == 0, error
    assert "target 'column 3', 'column 4'" in out


def test_classes_are_scored_where_new_ones_are_numbers_only(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    centre = {"07": (4, 0), "08": (0, 4), "x": (0, 0)}
    rows = [(*(rng.standard_normal(2) * 0.1 + at), name) for name, at in centre.items() for _ in range(20)]
    train = pandas.DataFrame(rows, columns=["a", "b", "label"])
    train.to_csv("train.csv", index=False)
    train[train.label != "x"].to_csv("new.csv", index=False)
    assert run(capsys, "fit", "train.csv", "--model", "logistic", "--out", "m.npz")[0] == 0
    assert "accuracy 1.0000" in run(capsys, "predict", "m.npz", "new.csv")[2]


@pytest.fixture
def labels(tmp_path):
    """A file whose labels are numbers at first, with letters of Windows and words below."""
    names = [*["07", "08"] * 300, *["07", "Zürich"] * 20]
    rows = [f"{row},{row % 7},{name}" for row, name in enumerate(names)]
    path = tmp_path / "labels.csv"
    path.write_bytes("\n".join(["a,b,label", *rows]).encode("cp1252"))
    return path, names


def test_portions_of_a_target_are_all_words_or_all_numbers(monkeypatch, labels, tmp_path):
    monkeypatch.setattr("ascd.io.converting.PORTION", 1e-3)
    monkeypatch.setattr("ascd.files.separators.SAMPLE", 1 << 10)
    path, names = labels
    made = convert(path, tmp_path / "folder", memory="2MB")
    assert len(made.reader.groups) > 2
    assert made.y.tolist() == read_table(path).y.tolist() == names


def test_convert_takes_the_number_of_a_target(capsys, tmp_path):
    (tmp_path / "bare.csv").write_text("1,2,3\n4,5,6\n", encoding="utf-8")
    code, _, error = run(capsys, "convert", tmp_path / "bare.csv", tmp_path / "folder", "--no-header", "--target", 2)
    assert code == 0, error
    assert open_data(tmp_path / "folder").y.tolist() == [2, 5]


@pytest.mark.parametrize("line", ["1 1:2 2:nan", "1 1:inf", "nan 1:2"])
def test_convert_refuses_numbers_of_libsvm_that_no_fit_takes(monkeypatch, tmp_path, line):
    monkeypatch.setattr("ascd.io.converting.PORTION", 1e-5)
    (tmp_path / "t.svm").write_text("1 1:2\n0 2:1\n" * 5 + line + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"t.svm: row 11 has a value or a label that is not finite"):
        convert(tmp_path / "t.svm", tmp_path / "folder", memory="2MB")
    assert not (tmp_path / "folder").exists()


def test_convert_names_what_it_cannot_read_or_where_it_cannot_write(capsys, monkeypatch, tmp_path):
    source = tmp_path / "t.svm.gz"
    source.touch()

    def refused(path, mode):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setitem(separators.OPENERS, ".gz", refused)
    code, _, error = run(capsys, "convert", source, tmp_path / "folder")
    assert code == ERROR
    assert f"Permission denied: '{source}'" in error
    assert "could not be written" not in error
    code, _, error = run(capsys, "convert", source, tmp_path / "no" / "folder")
    assert code == USAGE
    assert "create it, or name another place" in error
    assert "--out" not in error


def test_columns_stay_text_beside_names_of_rows(tmp_path):
    """R's names of rows have a place in the file, and no name."""
    rows = [f"r{k};{k}.250,5;0{k % 9 + 1}.05.2020;{k}" for k in range(1, 12)]
    (tmp_path / "r.csv").write_text("\n".join(["size;day;y", *rows]), encoding="utf-8")
    table = read_table(tmp_path / "r.csv", choices=Choices(levels=20))
    assert table.names[1] == "day=01.05.2020"
    assert table.X.to_numpy()[0, 0] == 1250.5


@pytest.mark.parametrize("is_converted", [False, True])
@pytest.mark.parametrize("first", [0, 1])
def test_predict_counts_features_as_the_model_does(capsys, tmp_path, monkeypatch, first, is_converted):
    """A file whose samples lack feature 0 looks like one that counts from 1."""
    monkeypatch.chdir(tmp_path)
    rows = ["1 {}:1", "10 {}:1", "22 {}:2 {}:2", "11 {}:1 {}:1"]
    places = [(first,), (first + 1,), (first, first + 1), (first, first + 1)]
    train = "\n".join(row.format(*at) for row, at in zip(rows, places, strict=True))
    (tmp_path / "train.svm").write_text(train, encoding="utf-8")
    (tmp_path / "new.svm").write_text(f"10 {first + 1}:1\n", encoding="utf-8")
    data = "train.svm"
    if is_converted:
        data = "folder"
        assert run(capsys, "convert", "train.svm", data)[0] == 0
    assert run(capsys, "fit", data, "--alpha", 1e-9, "--no-intercept", "--out", "m.npz")[0] == 0
    assert predictions(capsys, "m.npz", "new.svm")[0] == [10]
    (tmp_path / "other.svm").write_text("10 0:1\n", encoding="utf-8")
    code, _, error = run(capsys, "predict", "m.npz", "other.svm")
    assert code == (ERROR if first else 0)
    assert not first or "other.svm has an index 0; the model's data count features from 1" in error


def test_a_folder_whose_first_index_is_damaged_is_not_opened(tmp_path):
    (tmp_path / "t.svm").write_text("1 1:2\n0 2:1\n", encoding="utf-8")
    convert(tmp_path / "t.svm", tmp_path / "folder")
    index = tmp_path / "folder" / "index.json"
    index.write_text(index.read_text(encoding="utf-8").replace('"first": 1', '"first": "1"'), encoding="utf-8")
    with pytest.raises(ValueError, match=r"index.json is not an index that this version of ascd knows"):
        open_data(tmp_path / "folder")
