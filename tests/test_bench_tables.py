"""Benchmarks' results are kept as they come, and every published table is what the results files say."""

from __future__ import annotations

import json
import math
import runpy
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs"))

import bench_tables
from choosing.tables import TABLES as SELECTION
from common import ledger as ledgers
from common.ledger import Ledger, public, read
from common.tables import measured
from price.tables import TABLES as ENGINE

ROOT = bench_tables.ROOT


@pytest.mark.parametrize("page", bench_tables.PAGES, ids=lambda page: page.name)
def test_published_tables_are_what_the_results_files_say(page):
    text = page.read_text(encoding="utf-8")
    assert bench_tables.BLOCK.search(text)
    assert bench_tables.filled(text) == text, "run `make bench-tables`"


def test_a_new_result_changes_the_page(tmp_path, monkeypatch):
    content = read(ledgers.RESULTS / "solver.json")
    race = next(race for race in content["tables"]["races"] if race["case"] == "rcv1_sample")
    race["peers"]["ascd"]["seconds"] = 123.0
    (tmp_path / "solver.json").write_text(json.dumps(content))
    monkeypatch.setattr(bench_tables, "RESULTS", tmp_path)
    text = bench_tables.PAGES[0].read_text(encoding="utf-8")
    changed = bench_tables.filled(text)
    assert changed != text
    assert "123000 ms" in changed
    assert bench_tables.TABLES["engine-dense"]() == bench_tables.NOTHING


def test_alone_is_told_with_the_seconds_that_peers_had_in_those_races(tmp_path, monkeypatch):
    content = read(ledgers.RESULTS / "solver.json")
    race = next(one for one in content["tables"]["races"] if one["group"] == "lasso" and one["case"] == "golub")
    content["runs"]["short"], content["runs"]["long"] = {"budget": 2.0}, {"budget": 60.0}
    peers = {"ascd": race["peers"]["ascd"], "celer": {"seconds": None}}
    content["tables"]["races"] = [
        {**race, "threads": 1, "run": "long"},
        {**race, "threads": 1, "run": "short", "part": 7, "peers": peers},
    ]
    (tmp_path / "solver.json").write_text(json.dumps(content))
    monkeypatch.setattr(bench_tables, "RESULTS", tmp_path)
    assert "no peer got there in 2 seconds." in bench_tables.short()


def test_a_table_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match=r"no table named tinny: there are short, solver-summary"):
        bench_tables.filled("<!-- table: tinny -->\n<!-- end of table -->")


def test_published_results_name_no_place_and_every_row_its_run():
    for name in ("engine", "selection", "solver"):
        content = read(ledgers.RESULTS / f"{name}.json")
        assert all(row["run"] in content["runs"] for rows in content["tables"].values() for row in rows)
        for run in content["runs"].values():
            assert run["command"].startswith(f"python benchmarks/{name}.py")
            assert {"date", "machine", "versions"} <= set(run)
            assert set(run["machine"]) == {"processor", "architecture", "cores"}
            assert "/" not in run["command"].removeprefix("python benchmarks/")


def test_a_later_run_replaces_only_its_own_rows(tmp_path):
    path = tmp_path / "results" / "some.json"
    first = Ledger(path, "some.py", ["--quick"])
    first.put("prices", ("rule", "n"), [{"rule": "a", "n": 1, "seconds": 1.0}, {"rule": "a", "n": 2, "seconds": 2.0}])
    second = Ledger(path, "some.py", ["--only", "prices", "--data", "/home/me"], {"peer": "1.0"})
    second.put("prices", ("rule", "n"), [{"rule": "a", "n": 2, "seconds": math.inf}])
    content = read(path)
    assert content["tables"]["prices"] == [
        {"rule": "a", "n": 1, "seconds": 1.0, "run": "1"},
        {"rule": "a", "n": 2, "seconds": None, "run": "2"},
    ]
    assert content["runs"]["2"]["command"] == "python benchmarks/some.py --only prices"
    assert content["runs"]["2"]["versions"]["peer"] == "1.0"
    Ledger(path, "some.py", []).put("prices", ("rule", "n"), [{"rule": "a", "n": 1, "seconds": 3.0}])
    assert set(read(path)["runs"]) == {"2", "3"}


def test_a_run_cut_short_keeps_what_it_has(tmp_path, capsys):
    path = tmp_path / "cut.json"
    row = {"rule": "uniform", "norm": 0.0, "reference": 3.0}

    def memory():
        yield row
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measured({"memory": memory}, SELECTION, Ledger(path, "selection.py", []))
    assert read(path)["tables"] == {"memory": [{**row, "run": "1"}]}
    assert list(tmp_path.iterdir()) == [path]
    assert "rule: uniform,  norm: 0.00,  reference: 3.00" in capsys.readouterr().out


def test_places_are_left_out_of_the_command():
    assert public(["--data", "my/folder", "--only", "race", "--json=my/file.json"]) == ["--only", "race"]


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(("program", "tables", "rows"), [("selection", SELECTION, 9), ("engine", ENGINE, 4)])
def test_a_benchmark_stores_and_tells_its_rows(tmp_path, capsys, program, tables, rows):
    path = tmp_path / "results.json"
    main = runpy.run_path(str(ROOT / "benchmarks" / f"{program}.py"))["main"]
    main(["--only", "memory", "--quick", "--json", str(path)])
    stored = read(path)["tables"]["memory"]
    assert len(stored) == rows
    printed = capsys.readouterr().out
    assert tables["memory"].title in printed
    assert all(tables["memory"].line(row) in printed for row in stored)


def test_the_contest_is_told_in_seconds_reads_and_what_was_left():
    methods = {
        "uniform": {"seconds": 2.0, "reads": 10.0},
        "cyclic": {"seconds": None, "reads": None, "left": 3e-3},
        "a-ascd norm": {"seconds": 1.0, "reads": 4.0},
    }
    row = {"case": "c", "part": 20, "methods": methods}
    assert SELECTION["race"].cells(row)[:4] == ["c, λmax/20", "2.000 (1.00)", "3e-03 left", "1.000 (0.50)"]
