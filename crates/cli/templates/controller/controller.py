"""A congestion controller of one's own, beside CUBIC: ``python controller.py``.

docs/tutorials/python.md says what a controller hears and what it may set.
"""

from __future__ import annotations

import slackwater


class Mine(slackwater.Controller):
    """A tenth more each round while the queue delays by less than 20 ms, a tenth less while it delays by more."""

    def on_ack(self, now: float, path: slackwater.PathView, ack: slackwater.Ack) -> None:
        """Hear an ACK: times are seconds, sizes bytes."""
        if ack.round_start and self.window is not None:
            self.window *= 1.1 if path.srtt - path.min_rtt < 0.02 else 0.9


for name in ("NAME", "cubic"):
    run = slackwater.run("lte-demo", changes={"flow.controller": name}, controllers={"NAME": Mine})
    flow = run.summary["flows"][0]
    print(f"{name}: {flow['goodput_mbps']:.2f} Mbit/s, p95 queue {flow['queue_delay_ms']['p95']:.1f} ms")
