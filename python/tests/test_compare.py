import copy
import pickle
from typing import Any

import pytest

import slackwater


class Gentle(slackwater.Controller):
    """A window that stands still, at twice the initial one."""

    def on_congestion(self, now: float, path: slackwater.PathView, event: slackwater.Loss) -> None:
        """Stay."""

    def on_ack(self, now: float, path: slackwater.PathView, ack: slackwater.Ack) -> None:
        """Stay."""
        self.window = 20.0 * path.mss


def test_seeds_are_pairs(scenario: dict[str, Any]) -> None:
    found = slackwater.compare(scenario, ["cubic", "reno", Gentle], seeds=3, jobs=2)
    assert list(found.runs) == ["cubic", "reno", "gentle"]
    assert [run.seed for run in found.runs["reno"]] == [1, 2, 3]
    values = found.values("goodput_mbps")
    for difference in found.differences():
        pairs = list(zip(values[difference.group], values["cubic"], strict=True))
        assert difference.against == "cubic"
        assert difference.mean == pytest.approx(sum(a - b for a, b in pairs) / 3)
    assert "gentle" in found._repr_html_()


def test_a_comparison_gives_what_its_runs_give(scenario: dict[str, Any]) -> None:
    found = slackwater.compare(scenario, vary={"path.rtt": ["20 ms", "40 ms"]}, seeds=[7])
    alone = slackwater.run(scenario, seed=7, changes={"path.rtt": "40 ms"})
    assert found.runs["40 ms"][0].summary == alone.summary


def test_wrong_comparisons_say_what_is_wrong(scenario: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="seeds: found"):
        slackwater.compare(scenario, ["cubic"], seeds=0)
    with pytest.raises(slackwater.ScenarioError, match="cubix"):
        slackwater.compare(scenario, ["cubix"])
    found = slackwater.compare(scenario, ["cubic"])
    with pytest.raises(ValueError, match="goodput_mbps"):
        found.values("goodput")


def test_a_run_in_a_pickle_has_the_same_results(scenario: dict[str, Any]) -> None:
    run = slackwater.run(scenario)
    back = pickle.loads(pickle.dumps(run))
    assert (back.name, back.seed, back.summary, back.scenario) == (run.name, run.seed, run.summary, run.scenario)
    assert back.flows.equals(run.flows.to_arrow())
    assert copy.deepcopy(back).links.equals(run.links.to_arrow())
    assert slackwater.run(back.scenario).summary == run.summary
    with pytest.raises(AttributeError, match="expected one of flows"):
        back.nothing  # noqa: B018


def test_an_error_in_a_pickle_has_its_parts() -> None:
    with pytest.raises(slackwater.ScenarioError) as caught:
        slackwater.run("lte-demo", changes={"flow.controler": "bbr"})
    back = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(back, slackwater.ScenarioError)
    assert (str(back), back.key, back.expected) == (str(caught.value), caught.value.key, caught.value.expected)


def test_a_run_shows_itself_in_a_notebook(scenario: dict[str, Any]) -> None:
    run = slackwater.run(scenario)
    text = run._repr_html_()
    assert f"{run.summary['flows'][0]['goodput_mbps']:.3f}" in text
    assert text.count("<tr>") == 1 + len(run.summary["flows"])


def test_a_plot_draws_each_flow(scenario: dict[str, Any]) -> None:
    pytest.importorskip("matplotlib")
    run = slackwater.run(scenario)
    above, below = run.plot().axes
    assert len(above.lines) == len(below.lines) == len(run.summary["flows"])
