import json
import re
from pathlib import Path
from typing import Any

import pytest

import slackwater
from slackwater import sql

duckdb = pytest.importorskip("duckdb")


@pytest.fixture
def runs(scenario: dict[str, Any], tmp_path: Path) -> Path:
    for name in ["cubic", "reno"]:
        slackwater.run(scenario, changes={"flow.controller": name}, out=tmp_path / "runs" / f"one's {name}")
    return tmp_path / "runs"


def test_every_table_of_a_run_is_a_view(runs: Path) -> None:
    db = slackwater.index(runs)
    views = {row[0] for row in db.sql("show tables").fetchall()}
    files = {file.stem for file in runs.rglob("*.parquet")} - {"flows"}
    assert views == {"runs", "flows", "series"} | files
    rows = db.sql("select path, scenario, seed, goodput_mbps, controllers from runs order by path").fetchall()
    assert [(r[0], r[1], r[4]) for r in rows] == [
        (f"one's {name}", "python-test", [name]) for name in ["cubic", "reno"]
    ]
    summary = json.loads((runs / "one's reno/summary.json").read_text())
    assert rows[1][3] == summary["goodput_mbps"]
    flow = db.sql("select flow, queue_delay_ms.p95 from flows where controller = 'reno'").fetchall()
    assert flow == [(0, summary["flows"][0]["queue_delay_ms"]["p95"])]
    delivered = db.sql("""
        select controllers[1], sum(delivered_bytes) from throughput join runs using (path) group by all order by all
    """).fetchall()
    assert [name for name, _ in delivered] == ["cubic", "reno"]
    assert all(total > 1e6 for _, total in delivered)


def test_a_folders_name_is_no_pattern(runs: Path, scenario: dict[str, Any]) -> None:
    for name in ["x*", "xy", "[ab]", "a"]:
        slackwater.run(scenario, changes={"flow.controller": "cubic"}, out=runs / name)
    found = slackwater.index(runs).sql("select path from runs order by path").fetchall()
    assert [path for (path,) in found] == ["[ab]", "a", "one's cubic", "one's reno", "x*", "xy"]


def test_what_is_being_written_and_what_is_not_there(runs: Path, tmp_path: Path) -> None:
    torn = runs / "torn"
    torn.mkdir()
    (torn / "summary.json").write_text('{"schema": 1, "na')
    (torn / "flows.parquet").write_bytes(b"PAR1 and no end")
    db = slackwater.index(runs)
    assert db.sql("select count(*) from runs").fetchall() == [(2,)]
    assert db.sql("select count(distinct path) from series").fetchall() == [(2,)]
    (tmp_path / "empty").mkdir()
    assert slackwater.index(tmp_path / "empty").sql("show tables").fetchall() == []
    with pytest.raises(FileNotFoundError, match="expected a folder of results"):
        slackwater.index(tmp_path / "nowhere")


def test_an_arena_is_a_view(runs: Path) -> None:
    folder = runs / "arena"
    folder.mkdir()
    (folder / "arena.json").write_text("{}")
    path = (folder / "table.parquet").as_posix()
    duckdb.sql(f"copy (select 'lte' as cell, 'xrc' as system, 1.5 as mean) to '{path}'")
    assert slackwater.index(runs).sql("select path, mean from arena").fetchall() == [("arena", 1.5)]


def test_the_command_prints_answers_and_says_what_is_wrong(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "select seed, controllers from runs order by path"
    assert sql.main([query, "--runs", str(runs)]) == 0
    assert "cubic" in capsys.readouterr().out
    assert sql.main([query, "--runs", str(runs), "--csv"]) == 0
    assert capsys.readouterr().out.splitlines() == ["seed,controllers", "1,['cubic']", "1,['reno']"]
    assert sql.main(["select nothing from runs", "--runs", str(runs)]) == 2
    assert "nothing" in capsys.readouterr().err
    assert sql.main([query, "--runs", str(runs / "no")]) == 2
    assert "expected a folder" in capsys.readouterr().err


def test_the_pages_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for controller in ["cubic", "bbr"]:
        changes = {"flow.controller": controller, "duration": "2 s", "warmup": "0 s"}
        slackwater.run("lte-demo", seed=1, changes=changes, out=f"runs/lte-demo-compare/{controller}-seed-1")
    page = (Path(__file__).parents[2] / "docs/data.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)  # the reader's notebook, as printed
    queries = re.findall(r'^slackwater sql (?:--csv )?"(.*?)"', page, re.MULTILINE)
    assert len(queries) == 2
    for query in queries:
        assert sql.main([query]) == 0


def test_a_comparison_is_a_view(runs: Path) -> None:
    folder = runs / "both"
    folder.mkdir()
    (folder / "compare.csv").write_text(
        "run,metric,mean,low_95,less_first\ncubic,goodput,18.1,14.3,\nbbr,goodput,16.4,13.1,-1.76\n"
    )
    (folder / "half").mkdir()
    (folder / "half" / "compare.csv").write_text("run,metric,mean\ncubic,goo")
    query = "select path, run, less_first from comparisons where metric = 'goodput' order by run"
    assert slackwater.index(runs).sql(query).fetchall() == [("both", "bbr", -1.76), ("both", "cubic", None)]
