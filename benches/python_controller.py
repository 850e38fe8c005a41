"""What a controller in Python costs: microseconds for each event that it hears.

A window that stands still sends the same packets whether it stands in Rust (``fixed``) or in Python, so the difference
of their CPU times is the cost of the calls.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import slackwater

if TYPE_CHECKING:
    from slackwater._slackwater import Ack, Config, Loss, Path, Sent

SEGMENTS = 40
SCENARIO: dict[str, Any] = {
    "name": "python-controller",
    "duration": "60 s",
    "path": {"rtt": "30 ms"},
    "link": {"kind": "rate", "rate": "50 Mbit/s", "queue": {"kind": "fifo", "limit": "100 packets"}},
    "flow": [{"controller": "cubic"}],
}
events = 0


class Still(slackwater.Controller):
    """A window that stands, whatever happens."""

    def __init__(self, config: Config) -> None:
        """Take the window from the outset."""
        super().__init__(config)
        self.window = SEGMENTS * config.mss

    def on_loss(self, now: float, path: Path, loss: Loss) -> None:
        """Stand."""


class Acks(Still):
    """Hears ACKs and does nothing."""

    def on_ack(self, now: float, path: Path, ack: Ack) -> None:
        """Count."""
        global events
        events += 1


class Works(Acks):
    """Reads what most controllers read."""

    def on_ack(self, now: float, path: Path, ack: Ack) -> None:
        """Estimate a queue and a rate."""
        global events
        events += 1
        queue = path.srtt - path.min_rtt
        if ack.rate is not None and ack.rate.interval > 0 and queue < 1:
            self.estimate = ack.rate.delivered / ack.rate.interval


class Packets(Acks):
    """Hears each packet too."""

    def on_sent(self, now: float, path: Path, sent: Sent) -> None:
        """Count."""
        global events
        events += 1


def seconds(controller: str, cls: type[slackwater.Controller]) -> float:
    """The least CPU time of five runs."""
    times = []
    for _ in range(5):
        began = time.process_time()
        slackwater.run(SCENARIO, changes={"flow.controller": controller}, controllers={"python": cls})
        times.append(time.process_time() - began)
    return min(times)


def main() -> None:
    """Print a table."""
    global events
    base = seconds(f"fixed:{SEGMENTS}", Still)
    print("| the class | events | us per event |\n|---|---|---|")
    rows: list[tuple[str, type[slackwater.Controller]]] = [
        ("hears ACKs and does nothing", Acks),
        ("hears ACKs, reads delay and delivery rate", Works),
        ("hears ACKs and each packet sent, does nothing", Packets),
    ]
    for name, cls in rows:
        events = 0
        took = seconds("python", cls) - base
        each = events // 5
        print(f"| {name} | {each} | {took / each * 1e6:.2f} |")


if __name__ == "__main__":
    main()
