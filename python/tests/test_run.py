import json
from pathlib import Path
from typing import Any

import pytest

import slackwater


def test_a_dict_gives_a_run(scenario: dict[str, Any]) -> None:
    run = slackwater.run(scenario, seed=7)
    assert run.name == "python-test"
    assert run.seed == 7
    assert json.loads(json.dumps(run.summary)) == run.summary
    assert len(run.flows) > 0
    assert len(run.links) > 0
    assert len(run.packets) > 0


def test_a_file_and_a_name_work_as_well(tmp_path: Path) -> None:
    text = """
        name = "from-file"
        duration = "1 s"
        [link]
        kind = "rate"
        rate = "5 Mbit/s"
        [[flow]]
        controller = "reno"
    """
    file = tmp_path / "cell.toml"
    file.write_text(text)
    assert slackwater.run(file).name == "from-file"
    assert slackwater.run(str(file)).name == "from-file"
    name = next(iter(slackwater.scenarios()))
    assert slackwater.run(name, changes={"duration": "1 s"}).name == name


def test_the_same_seed_gives_the_same_bytes(scenario: dict[str, Any]) -> None:
    first, second = slackwater.run(scenario, seed=3), slackwater.run(scenario, seed=3)
    assert first.summary == second.summary
    assert first.packets.to_polars().equals(second.packets.to_polars())
    assert first.flows.to_polars().equals(second.flows.to_polars())


def test_changes_set_keys(scenario: dict[str, Any]) -> None:
    run = slackwater.run(scenario, changes={"flow.controller": "reno", "duration": "1 s"})
    assert run.scenario["flow"][0]["controller"] == "reno"
    assert run.scenario["duration"] == "1 s"


def test_the_resolved_scenario_runs_again(scenario: dict[str, Any]) -> None:
    run = slackwater.run(scenario, seed=5)
    assert slackwater.run(run.scenario).summary == run.summary


def test_nothing_is_written_unless_asked(
    scenario: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    slackwater.run(scenario)
    assert list(tmp_path.iterdir()) == []
    out = tmp_path / "results"
    slackwater.run(scenario, out=out)
    assert (out / "report.html").stat().st_size > 0
    assert json.loads((out / "summary.json").read_text())


def test_lists_and_schema() -> None:
    assert {"cubic", "reno", "bbr"} <= slackwater.controllers().keys()
    assert slackwater.scenarios()
    assert slackwater.schema()["type"] == "object"
    assert slackwater.__version__
