import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import slackwater


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Ctrl-C as in a terminal: what runs in the background has the signal ignored, and hands that down."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def endless(scenario: dict[str, Any]) -> dict[str, Any]:
    """Hours of wall time, unless it is stopped."""
    scenario["duration"] = "900000 s"
    scenario["record"] = {"interval": "100 s", "packets": False, "qlog": False}
    return scenario


def test_keyboard_interrupt_stops_a_run_within_100_ms(endless: dict[str, Any]) -> None:
    # Of the processor that runs the simulation: what others do beside it does not count.
    clock = time.pthread_getcpuclockid(threading.get_ident())
    running = threading.Event()
    sent: list[float] = []

    def press() -> None:
        running.wait()
        sent.append(time.clock_gettime(clock))
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        slackwater.run(endless, progress=lambda _: running.set())
    spent = time.clock_gettime(clock) - sent[0]
    thread.join()
    assert spent < 0.1


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
    # A lock held by the run would let the other thread go on within the callback alone.
    ticks = calls = 0
    inside = True
    done = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not done.wait(0.001):
            ticks += not inside

    class EnoughError(Exception):
        pass

    def stop(_: slackwater.Progress) -> None:
        nonlocal inside, calls
        inside = True
        calls += 1
        if ticks > 50 or calls == 5000:
            raise EnoughError
        inside = False

    thread = threading.Thread(target=count)
    thread.start()
    with pytest.raises(EnoughError):
        slackwater.run(endless, progress=stop)
    done.set()
    thread.join()
    assert ticks > 50
