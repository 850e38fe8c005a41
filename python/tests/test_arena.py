import json
from pathlib import Path
from typing import Any

import pytest

import slackwater
from slackwater import workers

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
    assert workers.run(tasks(tmp_path, TASKS[:1]), two, jobs=1) == 1
    assert workers.run(tasks(tmp_path, TASKS[1:]), two, jobs=2) == 3
    assert workers.run(tasks(tmp_path, TASKS), one, jobs=1) == 4
    found = rows(two)
    assert found == rows(one)
    assert set(found[0]) == {"cell", "system", "seed", "quick", "key", "values"}
    assert found[0]["values"]["delay_p95"] > 2 * found[2]["values"]["delay_p95"]


def test_a_task_that_is_none_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tasks(tmp_path, [{**TASKS[0], "system": "cubik"}])
    assert workers.main(["--tasks", str(file), "--results", str(tmp_path / "x"), "--jobs", "1"]) == 2
    assert "cubik" in capsys.readouterr().err


class Still(slackwater.Controller):
    """A window that stands still, at four times the initial one."""

    def __init__(self, config: slackwater.Config) -> None:
        """Take the window."""
        super().__init__(config)
        self.window = 40.0 * config.mss

    def on_congestion(self, now: float, path: slackwater.PathView, event: slackwater.Loss) -> None:
        """Stay."""


def test_an_arena_from_python_has_the_numbers_of_its_runs(tmp_path: Path) -> None:
    found = slackwater.arena(["lte-steps"], ["cubic", "cubic+vaqm"], seeds=2, quick=True, out=tmp_path, jobs=2)
    assert found.cells == ["lte-steps"]
    means = found.means("delay_p95")["lte-steps"]
    # Seeds one and two, as a task alone gives them.
    assert workers.run(tasks(tmp_path, TASKS), tmp_path / "alone", jobs=1) == 4
    alone = rows(tmp_path / "alone")
    assert means["cubic"] == pytest.approx((alone[0]["values"]["delay_p95"] + alone[1]["values"]["delay_p95"]) / 2)
    assert set(found.front("lte-steps")) <= {"cubic", "cubic+vaqm"}
    assert found._repr_html_().count("<tr>") == 3

    # What is there is not run again, and a line that was cut off is.
    kept = tmp_path / "results.jsonl"
    lines = kept.read_text().splitlines()
    kept.write_text("\n".join([*lines[:3], lines[3][:40]]) + "\n")
    again = slackwater.arena(["lte-steps"], ["cubic", "cubic+vaqm"], seeds=2, quick=True, out=tmp_path)
    assert again.table == found.table
    assert len(kept.read_text().splitlines()) == 5


def test_an_arena_of_drawn_cells_has_means_beside_the_first_system() -> None:
    found = slackwater.arena((), ["cubic", "bbr"], drawn=["bulk:1-2"], seeds=1, quick=True)
    assert found.cells == ["bulk-1", "bulk-2"]
    (overall,) = found.overall()
    assert overall["base"] == "cubic"
    rates = found.means("goodput")
    ratios = [rates[cell]["bbr"] / rates[cell]["cubic"] for cell in found.cells]
    (bbr,) = (system for system in overall["systems"] if system["name"] == "bbr")
    assert bbr["beside"][0]["mean"] == pytest.approx((ratios[0] * ratios[1]) ** 0.5)
    with pytest.raises(ValueError, match="drawn: found"):
        slackwater.arena((), ["cubic"], drawn=["bulk"])


def test_a_class_takes_part_in_the_arena() -> None:
    found = slackwater.arena(["lte-steps"], ["cubic"], controllers={"still": Still}, seeds=1, quick=True)
    means = found.means()["lte-steps"]
    assert set(means) == {"cubic", "still"}
    assert means["still"] > 0


def test_a_wrong_arena_says_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="lte-stepz"):
        slackwater.arena(["lte-stepz"])
    with pytest.raises(ValueError, match="cubik"):
        slackwater.arena(["lte-steps"], ["cubik"])
    found = slackwater.arena(["lte-steps"], ["cubic"], seeds=1, quick=True)
    with pytest.raises(ValueError, match="expected one of"):
        found.means("godput")
    with pytest.raises(ValueError, match="expected one of lte-steps"):
        found.front("rival")
