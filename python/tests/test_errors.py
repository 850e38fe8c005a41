from pathlib import Path
from typing import Any

import pytest

import slackwater


def test_a_wrong_key_says_which(scenario: dict[str, Any]) -> None:
    scenario["link"]["rte"] = "1 Mbit/s"
    with pytest.raises(slackwater.ScenarioError) as caught:
        slackwater.run(scenario)
    assert "rte" in str(caught.value)
    assert caught.value.line is None
    assert isinstance(caught.value, ValueError)


def test_a_wrong_value_says_where(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text('name = "bad"\nduration = "3 metres"\n')
    with pytest.raises(slackwater.ScenarioError) as caught:
        slackwater.run(file)
    error = caught.value
    assert (error.file, error.line, error.key) == (str(file), 2, "duration")
    assert "3 metres" in error.found
    assert error.expected


def test_an_unknown_controller_is_refused(scenario: dict[str, Any]) -> None:
    scenario["flow"][0]["controller"] = "cubix"
    with pytest.raises(slackwater.ScenarioError, match="cubic"):
        slackwater.run(scenario)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(slackwater.ScenarioError, match=r"nowhere\.toml"):
        slackwater.run("nowhere.toml")


def test_a_comparison_runs_as_written_and_says_so(scenario: dict[str, Any]) -> None:
    scenario["vary"] = {"seed": [1, 2]}
    with pytest.warns(UserWarning, match="vary"):
        assert slackwater.run(scenario, seed=9).seed == 9


@pytest.mark.parametrize("wrong", [3, None, ["a"]])
def test_other_types_are_refused(wrong: Any) -> None:  # noqa: ANN401 -- the point of the test
    with pytest.raises(TypeError):
        slackwater.run(wrong)


@pytest.mark.parametrize("wrong", [-1, 2**63, 1.5, "x"])
def test_a_wrong_seed_says_what_is_expected(wrong: Any, scenario: dict[str, Any]) -> None:  # noqa: ANN401
    with pytest.raises(slackwater.ScenarioError, match="expected a whole number from 0") as caught:
        slackwater.run(scenario, seed=wrong)
    assert caught.value.key == "seed"
    assert caught.value.found == repr(wrong)


def test_a_folder_that_cannot_be_written(scenario: dict[str, Any], tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(OSError, match="results"):
        slackwater.run(scenario, out=blocked / "results")
