"""Cross-layer congestion control for 4G and 5G: run a cell, its senders and its queues from Python.

>>> import slackwater
>>> run = slackwater.run("lte-demo", seed=1)
>>> run.summary["flows"][0]["goodput_mbps"]
>>> run.flows.to_polars()
"""

from slackwater import saved, show
from slackwater._slackwater import (
    Ack,
    Column,
    Config,
    CongestionEvent,
    Ecn,
    Feedback,
    PacketReport,
    Progress,
    RateSample,
    Run,
    ScenarioError,
    Sent,
    Table,
    __version__,
    controllers,
    run,
    scenarios,
    schema,
)
from slackwater._slackwater import Path as PathView
from slackwater.arena import Arena, arena
from slackwater.compare import Comparison, Difference, compare
from slackwater.controller import Controller
from slackwater.policy import OnnxPolicy, Policy
from slackwater.results import index
from slackwater.saved import SavedRun
from slackwater.sweep import GridError, Sweep, sweep

Loss = CongestionEvent
"""Another name of :class:`CongestionEvent`, which a mark or a timeout causes too."""

# Written in Python, and methods of the native class.
setattr(Run, "_repr_html_", show.html)  # noqa: B010 -- the stub declares them
setattr(Run, "plot", show.plot)  # noqa: B010
setattr(Table, "_repr_html_", show.rows)  # noqa: B010
saved.register()

__all__ = [
    "Ack",
    "Arena",
    "Column",
    "Comparison",
    "Config",
    "CongestionEvent",
    "Controller",
    "Difference",
    "Ecn",
    "Feedback",
    "GridError",
    "Loss",
    "OnnxPolicy",
    "PacketReport",
    "PathView",
    "Policy",
    "Progress",
    "RateSample",
    "Run",
    "SavedRun",
    "ScenarioError",
    "Sent",
    "Sweep",
    "Table",
    "__version__",
    "arena",
    "compare",
    "controllers",
    "index",
    "run",
    "scenarios",
    "schema",
    "sweep",
]
