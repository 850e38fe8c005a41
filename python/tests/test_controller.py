from pathlib import Path
from typing import Any

import pytest

import slackwater
from slackwater import Controller
from slackwater._slackwater import Ack, Config, CongestionEvent, Feedback, Sent
from slackwater._slackwater import Path as PathView


class Still(Controller):
    """Twenty segments, always."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.window = 20 * config.mss

    def on_congestion(self, now: float, path: PathView, event: CongestionEvent) -> None: ...


def run(scenario: dict[str, Any], name: str, **controllers: type[Controller]) -> slackwater.Run:
    return slackwater.run(scenario, seed=3, changes={"flow.controller": name}, controllers=controllers)


def test_the_same_window_in_rust_and_in_python_sends_the_same_packets(scenario: dict[str, Any]) -> None:
    ours, theirs = run(scenario, "fixed:20"), run(scenario, "still", still=Still)
    assert ours.packets.to_polars().equals(theirs.packets.to_polars())
    assert theirs.summary["flows"][0]["controller"] == "still"
    # A run without the class does not know it.
    with pytest.raises(slackwater.ScenarioError, match="still"):
        run(scenario, "still")


class Listens(Controller):
    heard: list[tuple[str, float, Any]] = []  # noqa: RUF012

    def __init__(self, config: Config, text: str = "") -> None:
        super().__init__(config)
        self.text = text

    def on_sent(self, now: float, path: PathView, sent: Sent) -> None:
        self.heard.append(("sent", now, sent.bytes))

    def on_ack(self, now: float, path: PathView, ack: Ack) -> None:
        values = (path.srtt, ack.rtt, ack.newly_acked, ack.rate, ack.duplicated, ack.back)
        self.heard.append(("ack", now, values))
        if ack.round_start:
            assert self.window is not None
            self.window *= 1.5
        self.timer = now + 0.01

    def on_congestion(self, now: float, path: PathView, event: CongestionEvent) -> None:
        super().on_congestion(now, path, event)
        self.heard.append(("congestion", now, event.cause))

    def on_timer(self, now: float, path: PathView) -> None:
        assert self.timer is None
        self.heard.append(("timer", now, None))

    def snapshot(self) -> dict[str, float]:
        return {"half_window": (self.window or 0) / 2, "parameter": float(self.text or 0)}


def test_events_come_in_order_with_their_samples(scenario: dict[str, Any]) -> None:
    Listens.heard.clear()
    result = run(scenario, "listens:7", listens=Listens)
    kinds = {kind for kind, _, _ in Listens.heard}
    assert kinds == {"sent", "ack", "congestion", "timer"}
    times = [now for _, now, _ in Listens.heard]
    assert times == sorted(times)
    assert times[-1] <= 2.0
    first = next(what for kind, _, what in Listens.heard if kind == "ack")
    srtt, rtt, acked, rate, repeats, back = first
    assert back is not None, "TCP's time stamps give it"
    assert srtt == pytest.approx(0.04, abs=0.01)
    assert rtt == pytest.approx(srtt, abs=0.002)
    assert acked > 0
    assert repeats == 0
    assert rate is None or rate.delivered > 0
    assert any(kind == "congestion" and what == "loss" for kind, _, what in Listens.heard)
    names = set(result.internals.to_polars()["name"])
    assert {"half_window", "parameter"} <= names
    again = run(scenario, "listens:7", listens=Listens)
    assert again.summary == result.summary


class Paces(Controller):
    """Media at the rate that arrived."""

    media = True

    def on_feedback(self, now: float, path: PathView, feedback: Feedback) -> None:
        if any(p.arrived is None for p in feedback.packets):
            assert self.target is not None
            self.target = max(self.target * 0.8, 300_000)
            self.pacing = 1.5 * self.target


def test_media_go_by_feedback(scenario: dict[str, Any]) -> None:
    scenario["flow"] = [{"controller": "paces", "app": {"kind": "media", "start": "4 Mbit/s"}}]
    summary = slackwater.run(scenario, controllers={"paces": Paces}).summary
    assert summary["flows"][0]["goodput_mbps"] > 1
    with pytest.raises(slackwater.ScenarioError, match="media"):
        run(scenario, "still", still=Still)


def test_an_exception_ends_the_run_and_comes_out(scenario: dict[str, Any]) -> None:
    class Breaks(Still):
        def on_ack(self, now: float, path: PathView, ack: Ack) -> None:
            if now > 1:
                msg = f"at {now:.1f} s"
                raise KeyError(msg)

    with pytest.raises(KeyError, match=r"at 1\.0 s"):
        run(scenario, "breaks", breaks=Breaks)

    class Starts(Controller):
        def __init__(self, config: Config) -> None:
            raise OSError(config.mss)

    with pytest.raises(OSError, match="14"):
        run(scenario, "starts", starts=Starts)


@pytest.mark.parametrize(
    ("attribute", "value", "said"),
    [
        ("window", float("nan"), r"Wrong\.window: found nan, expected None or a number"),
        ("pacing", "fast", r"Wrong\.pacing: found 'fast'"),
        ("ecn", "ect1", "ecn: found 'ect1', expected one of off, classic, l4s, dctcp"),
    ],
)
def test_a_wrong_wish_is_named(scenario: dict[str, Any], attribute: str, value: object, said: str) -> None:
    class Wrong(Controller):
        def __init__(self, config: Config) -> None:
            super().__init__(config)
            setattr(self, attribute, value)

    with pytest.raises(ValueError, match=said):
        run(scenario, "wrong", wrong=Wrong)


def test_names_and_classes_are_checked(scenario: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r'"cubic": expected a name without ":" that no other controller has'):
        run(scenario, "cubic", cubic=Still)
    with pytest.raises(TypeError, match=r"expected a class derived from slackwater\.Controller"):
        slackwater.run(scenario, controllers={"mine": int})  # type: ignore[dict-item]


def test_a_misspelt_event_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Late\.on_acks: no such event; did you mean on_ack\?"):
        type("Late", (Controller,), {"on_acks": lambda *_: None})
    with pytest.raises(TypeError, match=r"expected one of on_sent, on_ack"):
        type("Far", (Controller,), {"on_xyzzy": lambda *_: None})


def test_the_tutorials_controller_runs() -> None:
    page = Path(__file__).parents[2] / "docs/tutorials/python.md"
    code = page.read_text().split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(code, names)  # the reader's program, as printed
    flow = names["run"].summary["flows"][0]
    assert flow["controller"] == "mine"
    assert flow["goodput_mbps"] > 1
