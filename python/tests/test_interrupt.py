import signal
import threading
import time
from typing import Any

import pytest

import slackwater


@pytest.fixture
def endless(scenario: dict[str, Any]) -> dict[str, Any]:
    """Hours of wall time, unless it is stopped."""
    scenario["duration"] = "900000 s"
    scenario["record"] = {"interval": "100 s", "packets": False, "qlog": False}
    return scenario


def test_keyboard_interrupt_stops_a_run_within_100_ms(endless: dict[str, Any]) -> None:
    sent: list[float] = []

    def press() -> None:
        sent.append(time.monotonic())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(0.3, press)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        slackwater.run(endless)
    elapsed = time.monotonic() - sent[0]
    timer.join()
    assert elapsed < 0.1


def test_progress_is_told_and_rises(scenario: dict[str, Any]) -> None:
    scenario["duration"] = "300 s"
    scenario["record"] = {"packets": False, "qlog": False}
    seen: list[slackwater.Progress] = []
    slackwater.run(scenario, progress=seen.append)
    assert seen
    assert [p.fraction for p in seen] == sorted(p.fraction for p in seen)
    assert seen[-1].simulated == seen[-1].duration == 300.0
    assert all(0 <= p.fraction <= 1 for p in seen)


def test_an_exception_in_the_callback_ends_the_run(endless: dict[str, Any]) -> None:
    class EnoughError(Exception):
        pass

    def stop(progress: slackwater.Progress) -> None:
        raise EnoughError(progress.simulated)

    with pytest.raises(EnoughError):
        slackwater.run(endless, progress=stop)


def test_other_threads_go_on_meanwhile(endless: dict[str, Any]) -> None:
    ticks = 0
    done = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not done.wait(0.001):
            ticks += 1

    class EnoughError(Exception):
        pass

    deadline = time.monotonic() + 0.5

    def stop(_: slackwater.Progress) -> None:
        if time.monotonic() > deadline:
            raise EnoughError

    thread = threading.Thread(target=count)
    thread.start()
    with pytest.raises(EnoughError):
        slackwater.run(endless, progress=stop)
    done.set()
    thread.join()
    # A lock held by the run would leave the few calls between two progress reports.
    assert ticks > 50
