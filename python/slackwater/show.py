"""How results show themselves: tables in notebooks, curves by matplotlib (where it is installed).

The native classes `slackwater.Run` and `slackwater.Table` take these as methods.
"""

from __future__ import annotations

import itertools
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.figure import Figure

    from slackwater._slackwater import Run, Table

__all__ = ["html", "plot", "rows", "table"]

# Column, heading, digits.
_COLUMNS = (
    (("label",), "flow", 0),
    (("controller",), "controller", 0),
    (("goodput_mbps",), "goodput (Mbit/s)", 3),
    (("srtt_ms", "p50"), "p50 srtt (ms)", 1),
    (("queue_delay_ms", "p95"), "p95 queue (ms)", 1),
    (("loss",), "loss", 4),
)


class _Results(Protocol):
    """What a run and a run from a pickle have in common."""

    @property
    def name(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def summary(self) -> dict[str, Any]: ...


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in HTML."""
    head = "".join(f"<th>{escape(h)}</th>" for h in headings)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(flow: dict[str, Any], path: Sequence[str], digits: int) -> str:
    value: Any = flow
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    return "-" if value is None else str(value)


def html(run: _Results) -> str:
    """The run's flows as a table, for notebooks."""
    rows = [[_cell(flow, path, digits) for path, _, digits in _COLUMNS] for flow in run.summary["flows"]]
    title = f"<p>{escape(run.name)}, seed {run.seed}</p>"
    return title + table([heading for _, heading, _ in _COLUMNS], rows)


# Rows of a long table that a notebook shows.
_SHOWN = 10


def rows(data: Table) -> str:
    """The first rows of a table, for notebooks."""
    shown = ([_value(v) for v in row.values()] for row in itertools.islice(data, _SHOWN))
    text = table(data.columns, shown)
    if len(data) > _SHOWN:
        text += f"<p>{len(data)} rows, of which the first {_SHOWN}</p>"
    return text


def _value(value: float | str | None) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value)


def plot(run: Run) -> Figure:
    """Draw the rate of each flow and the delay of its queue over time; needs matplotlib.

    Rates are those of the payload that arrived in each tenth of a second, in Mbit/s; delays are means over the packets
    that left the bottleneck's queue in it, in ms. The warm-up is shaded.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        msg = "plot needs matplotlib: python -m pip install matplotlib"
        raise ModuleNotFoundError(msg) from error
    names = ("time_ns", "label", "delivered_bytes", "dequeued_packets", "queue_delay_sum_ns")
    data = {name: run.throughput[name].to_list() for name in names}
    flows: dict[str, tuple[list[float], list[float], list[float]]] = {}
    for time, label, size, packets, delay in zip(*(data[n] for n in names), strict=True):
        x, rate, queue = flows.setdefault(str(label), ([], [], []))
        x.append(time / 1e9)
        rate.append(size * 8 / 0.1 / 1e6)
        queue.append(delay / packets / 1e6 if packets else float("nan"))
    figure = Figure(figsize=(8, 5), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    for label, (x, rate, queue) in flows.items():
        above.plot(x, rate, label=label)
        below.plot(x, queue, label=label)
    warmup = float(run.summary["warmup_s"])
    for axes in (above, below):
        if warmup > 0:
            axes.axvspan(0, warmup, alpha=0.1)
    above.set_title(f"{run.name}, seed {run.seed}")
    above.set_ylabel("goodput (Mbit/s)")
    below.set_ylabel("queue delay (ms)")
    below.set_xlabel("time (s)")
    above.legend()
    return figure
