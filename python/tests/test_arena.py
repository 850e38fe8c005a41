import json
from pathlib import Path
from typing import Any

import pytest

from slackwater import arena

TASKS: list[dict[str, Any]] = [
    {"cell": "lte-steps", "system": system, "seed": seed, "quick": True}
    for system in ("cubic", "cubic+vaqm")
    for seed in (1, 2)
]


def tasks(folder: Path, some: list[dict[str, Any]]) -> Path:
    file = folder / "tasks.jsonl"
    file.write_text("".join(json.dumps(task) + "\n" for task in some))
    return file


def rows(results: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in results.read_text().splitlines()]
    for row in found:
        # The one number that another run does not repeat.
        assert row.pop("cpu_s") > 0
    return sorted(found, key=lambda row: (row["system"], row["seed"]))


def test_tasks_leave_the_rows_that_the_command_reads(tmp_path: Path) -> None:
    two, one = tmp_path / "two.jsonl", tmp_path / "one.jsonl"
    # What was there stays: the command appends too.
    assert arena.run(tasks(tmp_path, TASKS[:1]), two, jobs=1) == 1
    assert arena.run(tasks(tmp_path, TASKS[1:]), two, jobs=2) == 3
    assert arena.run(tasks(tmp_path, TASKS), one, jobs=1) == 4
    found = rows(two)
    assert found == rows(one)
    assert set(found[0]) == {"cell", "system", "seed", "quick", "key", "values"}
    assert found[0]["values"]["delay_p95"] > 2 * found[2]["values"]["delay_p95"]


def test_a_task_that_is_none_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tasks(tmp_path, [{**TASKS[0], "system": "cubik"}])
    assert arena.main(["--tasks", str(file), "--results", str(tmp_path / "x"), "--jobs", "1"]) == 2
    assert "cubik" in capsys.readouterr().err
