"""A congestion controller of one's own, in Python.

Times are seconds since the run's start, sizes bytes, rates bits per second. The events and the fields of their samples
are those of the Rust trait ``slackwater_control::Controller``.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slackwater._slackwater import Ack, Config, CongestionEvent, Feedback, Path, Sent

__all__ = ["Controller"]


class Controller:
    """Steers one flow: override the events that matter, and set the attributes that bound what the sender does.

    >>> class Mine(slackwater.Controller):
    ...     def on_ack(self, now, path, ack):
    ...         if ack.round_start:
    ...             self.window *= 1.1 if path.srtt - path.min_rtt < 0.02 else 0.9
    ...
    >>> slackwater.run("lte-demo", changes={"flow.controller": "mine"}, controllers={"mine": Mine})

    Attributes are read after each event. Methods that are not overridden cost nothing. An object is made for each flow,
    and another one or two only to be looked at before the run. ``"mine:TEXT"`` hands ``TEXT`` to the second argument of
    ``__init__``. An exception ends the run and comes out of :func:`slackwater.run`.
    """

    media: ClassVar[bool] = False
    """It steers media, by :meth:`on_feedback` and :attr:`target`."""
    takes_reports: ClassVar[bool] = False
    """Ask the cell for explicit feedback."""
    takes_blocks: ClassVar[bool] = False
    """Ask the receiver about its transport blocks."""
    takes_counters: ClassVar[bool] = False
    """Ask the base station for what it counts of the flow."""
    ecn: str = "off"
    """``off``, ``classic``, ``l4s`` or ``dctcp``; read once, when the object is made."""
    recovery: str = "prr"
    """Who steers in fast recovery, ``prr`` (the host) or ``controller``; read once."""
    burst: float = 0
    """Bytes that may leave at once when paced, 0 for the pacer's default; read once."""

    window: float | None = None
    """Congestion window in payload bytes, at least one segment; None for control by rate alone."""
    ssthresh: float | None = None
    """Slow-start threshold in bytes, for records and the host's default pacing."""
    pacing: float | None = None
    """Pacing rate in bits per second on the wire; None leaves bursts to the window."""
    target: float | None = None
    """Media: rate for the encoder, in bits per second of payload."""
    padding: float | None = None
    """Media: send padding up to this rate."""
    timer: float | None = None
    """When :meth:`on_timer` should be called; None for never. A call sets it to None."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Refuse a method ``on_...`` that no event calls: misspelt, it would never run."""
        super().__init_subclass__(**kwargs)
        events = [name for name in vars(Controller) if name.startswith("on_")]
        for name in vars(cls):
            if name.startswith("on_") and name not in events:
                near = difflib.get_close_matches(name, events, 1)
                hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(events)}"
                msg = f"{cls.__name__}.{name}: no such event; {hint}"
                raise TypeError(msg)

    def __init__(self, config: Config) -> None:
        """Start with the initial window, or with the encoder's first rate."""
        if self.media:
            self.target = config.start_rate
            self.pacing = 1.5 * config.start_rate
        else:
            self.window = config.initial_window * config.mss

    def on_sent(self, now: float, path: Path, sent: Sent) -> None:
        """Run when a packet left."""

    def on_ack(self, now: float, path: Path, ack: Ack) -> None:
        """Run at an ACK, after :meth:`on_congestion` where it revealed a loss."""

    def on_congestion(self, now: float, path: Path, event: CongestionEvent) -> None:
        """Run at a congestion event, at most once per round; halves the window unless overridden."""
        if self.window is not None:
            self.window = max(self.window / 2, 2 * path.mss)

    def on_feedback(self, now: float, path: Path, feedback: Feedback) -> None:
        """Run at an RTCP report, packet by packet; media only."""

    def on_undo(self, now: float, path: Path) -> None:
        """Run when the last congestion event turned out to be none."""

    def on_recovered(self, now: float, path: Path) -> None:
        """Run when the host has left loss recovery."""

    def on_report(self, now: float, path: Path, report: dict[str, Any]) -> None:
        """Run at explicit feedback; ``report["kind"]`` names it."""

    def on_timer(self, now: float, path: Path) -> None:
        """Run when :attr:`timer` ran out."""

    def snapshot(self) -> Mapping[str, float]:
        """Named internals for tables and plots."""
        return {}
