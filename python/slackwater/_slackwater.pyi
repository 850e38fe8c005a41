from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Final, final, overload

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from matplotlib.figure import Figure

from slackwater.controller import Controller
from slackwater.policy import Policy

__version__: Final[str]

class ScenarioError(ValueError):
    """A scenario is wrong: where, what was found and what was expected."""

    file: str
    """The file, or a name such as ``<json>``."""
    line: int | None
    """Line, counted from 1, where the value came from a file."""
    column: int | None
    """Column, counted from 1, where the value came from a file."""
    key: str
    """The full key, such as ``cell.rlc.buffer``."""
    found: str
    """What stands there."""
    expected: str
    """What should."""

@final
class Progress:
    """How far a run is."""

    @property
    def simulated(self) -> float:
        """Simulated seconds so far."""
    @property
    def duration(self) -> float:
        """Simulated seconds in all."""
    @property
    def fraction(self) -> float:
        """Share that is done, 0 to 1."""

@final
class Column:
    """A column of a table: numbers or texts in order. ``None`` stands where a number is missing."""

    @property
    def name(self) -> str:
        """Name in the table."""
    def to_list(self) -> list[Any]:
        """The values as a list."""
    def to_numpy(self) -> np.ndarray[Any, Any]:
        """The values as an array of numpy; a missing number is NaN."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int) -> Any: ...  # noqa: ANN401
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __array__(self, dtype: object | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]: ...

@final
class Table:
    """A table of results; implements the Arrow PyCapsule interface, so other libraries take it over without a copy.

    ``table["cwnd_bytes"]`` is a column, and ``for row in table`` gives rows as dicts.
    """

    @property
    def num_rows(self) -> int:
        """Number of rows."""
    @property
    def column_names(self) -> list[str]:
        """Names of the columns; each ends in its unit."""
    @property
    def columns(self) -> list[str]:
        """Names of the columns, as data frames call them."""
    def to_polars(self) -> pl.DataFrame:
        """A polars data frame over the same buffers."""
    def to_pandas(self) -> pd.DataFrame:
        """A pandas data frame; pandas copies what its own types cannot hold."""
    def to_arrow(self) -> pa.Table:
        """A pyarrow table over the same buffers."""
    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> Column: ...
    def __contains__(self, name: object) -> bool: ...
    def __iter__(self) -> Iterator[dict[str, Any]]: ...
    def _repr_html_(self) -> str: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Run:
    """The results of one simulation. Tables are made when they are first read."""

    @property
    def name(self) -> str:
        """The scenario's name."""
    @property
    def seed(self) -> int:
        """The seed that every random draw came from."""
    @property
    def summary(self) -> dict[str, Any]:
        """The metrics, as in ``summary.json``."""
    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario with every default filled in; ``run`` takes it back."""
    @property
    def flows(self) -> Table:
        """Senders over time: a row a flow and sample."""
    @property
    def links(self) -> Table:
        """Queues of links and bearers over time: a row a queue and sample."""
    @property
    def throughput(self) -> Table:
        """What arrived and how long it queued: a row a flow and tenth of a second."""
    @property
    def internals(self) -> Table:
        """Controllers' named internals over time: a row a flow, sample and name."""
    @property
    def transfers(self) -> Table:
        """Finite transfers that ended: a row a transfer."""
    @property
    def events(self) -> Table:
        """Drops, marks and retransmissions, the first so many: a row an event."""
    @property
    def packets(self) -> Table:
        """Packets: a row an event; empty unless the scenario sets ``record.packets``."""
    def plot(self) -> Figure:
        """Draw the rate of each flow and the delay of its queue over time; needs matplotlib."""
    def _repr_html_(self) -> str: ...

def run(
    scenario: str | PathLike[str] | Mapping[str, object],
    *,
    seed: int | None = None,
    changes: Mapping[str, object] | None = None,
    controllers: Mapping[str, type[Controller] | Policy] | None = None,
    progress: Callable[[Progress], object] | None = None,
    out: str | PathLike[str] | None = None,
) -> Run:
    """Simulate one scenario.

    ``scenario`` is a file, the name of an embedded scenario (see :func:`scenarios`), or a dict of the file's shape.
    ``seed`` replaces the scenario's. ``changes`` sets keys: ``{"flow.controller": "bbr", "cell.rlc.buffer": "64 kB"}``.
    ``controllers`` adds classes, and policies, under names that the scenario may use.

    The interpreter lock is released while the simulation runs. ``progress`` is called a few dozen times a second; an
    exception that it raises ends the run and comes out here, and so does ``KeyboardInterrupt``. With ``out`` the run
    also writes the folder that ``slackwater run`` writes.

    Raises :class:`ScenarioError` for a scenario that is wrong and :class:`OSError` where ``out`` cannot be written.
    """

def command(python: str, words: Sequence[str]) -> int:
    """Run the `slackwater` command with ``words``, started by the interpreter ``python``; returns the exit status."""

def scenarios() -> dict[str, str]:
    """Embedded scenarios: name and what each shows."""

def controllers() -> dict[str, str]:
    """Controllers: name and what each is."""

def schema() -> dict[str, Any]:
    """The JSON Schema of scenario files."""

@final
class Config:
    """What a controller is built from."""

    mss: Final[int]
    """Payload bytes of a full segment."""
    initial_window: Final[int]
    """Initial window in segments."""
    initial_ssthresh: Final[int | None]
    """Slow-start threshold before any congestion, in segments; None: infinite."""
    start_rate: Final[int]
    """Media: the encoder's rate before any feedback."""
    least_rate: Final[int]
    """Media: its least rate."""
    most_rate: Final[int]
    """Media: its greatest rate."""
    service: Final[float | None]
    """Media: target end-to-end delay of the service."""
    seed: Final[int]
    """Seed for random numbers of the flow's own."""

@final
class Path:
    """The path and the host's state, after the event was applied."""

    srtt: Final[float]
    """Smoothed RTT, zero before the first sample."""
    min_rtt: Final[float]
    """Least RTT seen, zero before the first sample."""
    mss: Final[int]
    """Payload bytes of a full packet."""
    wire_mss: Final[int]
    """Bytes that a full packet takes on the wire."""
    in_flight: Final[int]
    """Bytes in flight."""

@final
class Sent:
    """A packet left."""

    bytes: Final[int]
    """Payload bytes."""
    retransmission: Final[bool]
    """Sent again."""
    after_idle: Final[bool]
    """First packet after the connection was idle."""

@final
class RateSample:
    """A delivery-rate sample: ``delivered`` bytes over ``interval`` seconds."""

    delivered: Final[int]
    """Bytes delivered over the interval."""
    interval: Final[float]
    """The longer of the send and the ACK interval; zero marks an invalid sample."""
    prior_delivered: Final[int]
    """The connection's total of delivered bytes when the sampled packet was sent."""
    app_limited: Final[bool]
    """The sampled packet was sent while the application limited the sender."""
    retransmitted: Final[bool]
    """The sample comes from a retransmitted packet."""

@final
class Ecn:
    """New packets by their ECN field."""

    ce: Final[int]
    """With CE."""
    ect0: Final[int]
    """With ECT(0)."""
    ect1: Final[int]
    """With ECT(1)."""

@final
class Ack:
    """Feedback arrived: one ACK."""

    newly_acked: Final[int]
    """Bytes newly delivered, cumulatively or selectively."""
    cumulative: Final[int]
    """Bytes by which the cumulative point moved."""
    newly_lost: Final[int]
    """Bytes newly marked lost."""
    duplicated: Final[int]
    """Bytes that arrived a second time, as the receiver reports them (TCP's DSACK, RFC 2883)."""
    prior_in_flight: Final[int]
    """Bytes in flight before this ACK."""
    rtt: Final[float | None]
    """The least RTT sample without ambiguity."""
    owd: Final[float | None]
    """One-way delay where the feedback carries it; only differences mean something."""
    back: Final[float | None]
    """Delay of the feedback on its way back, where it carries the time it left; only differences mean something."""
    rate: Final[RateSample | None]
    """Delivery-rate sample, where one could be made."""
    ecn: Final[Ecn]
    """ECN counts since the last ACK."""
    delivered: Final[int]
    """Total of bytes delivered, this ACK included."""
    lost: Final[int]
    """Total of bytes lost."""
    app_limited: Final[bool]
    """The application, not the window, limits the sender."""
    cwnd_limited: Final[bool]
    """The window was used up at some time in the last round."""
    round_start: Final[bool]
    """The first ACK of a packet sent after the last round's first ACK."""
    recovery: Final[str]
    """``open``, ``disorder``, ``cwr``, ``fast`` or ``timeout``."""
    una: Final[int]
    """Position up to which data is acknowledged."""
    next: Final[int]
    """Position of the next new byte."""

@final
class CongestionEvent:
    """A congestion event: at most one per round."""

    cause: Final[str]
    """``loss``, ``ecn`` or ``timeout``."""
    lost: Final[int]
    """Bytes declared lost so far in this episode."""
    in_flight: Final[int]
    """Bytes in flight when it was detected."""
    next: Final[int]
    """Position of the next new byte."""

@final
class PacketReport:
    """One packet of an RTCP report."""

    seq: Final[int]
    """Its number in the order of sending."""
    sent: Final[float]
    """When it left, by the sender's clock."""
    arrived: Final[float | None]
    """When it arrived, by the receiver's clock; None where it is taken for lost."""
    bytes: Final[int]
    """IP bytes."""
    ecn: Final[str]
    """``not-ect``, ``ect0``, ``ect1`` or ``ce``."""

@final
class Feedback:
    """One RTCP report."""

    packets: Final[list[PacketReport]]
    """The packets that it speaks of."""
    app_limited: Final[bool]
    """The media, not the controller, limits the sender."""

@final
class Batch:
    """Environments in lock step; arrays come as bytes of float32. `slackwater.gym` is the interface for people."""

    def __new__(cls, domain: str, scheme: str, count: int, seed: int, jobs: int | None = None) -> Batch: ...
    @property
    def count(self) -> int:
        """Number of environments."""
    @property
    def width(self) -> int:
        """Length of an observation."""
    @property
    def log_ratios(self) -> list[float]:
        """Logarithms of the factors that actions stand for; empty where an action is the logarithm itself."""
    def reset(self, seeds: list[int]) -> None:
        """Start environment i with the episode ``seeds[i]``."""
    def observations(self) -> bytes:
        """What is seen, ``[count, width]``."""
    def step(self, actions: list[float]) -> dict[str, bytes]:
        """Act in each: ``obs``, ``rewards``, ``truncated`` (0 or 1) and ``last``."""
    def rollout(self, policy: bytes, steps: int, seed: int) -> dict[str, bytes]:
        """Play a policy with sampled actions; ``returns`` is float64."""

def calibration() -> list[str]:
    """Names of the recordings whose statistics shaped the synthetic links."""

def scores_json(domain: str, actors: list[bytes | str], seeds: list[int], jobs: int | None = None) -> str:
    """What policies (bytes) and controllers (names) get in each episode: rows of objects, as JSON."""

def examples(domain: str, seeds: list[int], jobs: int | None = None) -> tuple[bytes, bytes, list[int]]:
    """What `ebb` saw of the offered rate, and what then came.

    Inputs (float32, 14 a row); mixture and rate in bytes/s (float32, 2 a row); rows of each episode.
    """

def foretold(file: bytes, inputs: bytes) -> bytes:
    """Quantiles that a forecast's file gives for each row of inputs (float32, 3 a row)."""

def paired(a: list[float], b: list[float]) -> tuple[float, float | None, float | None, float] | None:
    """Mean of ``a`` less ``b``, pair by pair, the ends of its 95 % interval (None for one pair), and its p-value."""

def log_ratios(scheme: str) -> list[float]:
    """Logarithms of the factors that a scheme's actions stand for; empty where an action is the logarithm itself."""

def arena_task(task: str) -> str:
    """Run one task of the arena (JSON) and return its row as a line of JSON."""

@final
class ArenaPlan:
    """What an arena runs; :func:`slackwater.arena` is the interface for people."""

    def __new__(
        cls,
        *,
        cells: list[str],
        systems: list[str],
        also: list[str],
        seeds: int,
        first_seed: int,
        quick: bool,
        drawn: list[str],
        controllers: Mapping[str, type[Controller] | Policy] | None = None,
        program: str = "",
    ) -> ArenaPlan: ...
    @property
    def tasks(self) -> list[str]:
        """The tasks, as lines of JSON."""
    def key(self, task: str) -> str:
        """What decides the result of a task."""
    def work(self, task: str) -> str:
        """Run a task; returns its row as a line of JSON."""
    def table(self, rows: list[str]) -> str:
        """The table of all rows, as JSON."""
