"""A forecast for `ebb`: a small network of quantiles, trained on what the radio offered, with margins by CMA-ES."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from cmaes import CMA

from slackwater._slackwater import examples
from slackwater.train import policy as files
from slackwater.train.domains import FORECAST
from slackwater.train.network import Adam, Network
from slackwater.train.score import gains

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from slackwater.train.network import F32

    Doubles = npt.NDArray[np.float64]

# As in control::phy::ebb::network, which reads the file.
INPUTS, HIDDEN = 14, 24
QUANTILES = np.array([0.25, 0.5, 0.75], np.float32)
# Margins of `ebb` itself: errors that are added, the queue in ms, and the time in ms within which a surplus is made up.
PLAIN = (0.3, 2.0, 10.0)
# What margins are searched beside.
BESIDE = ("forecast", "mixture")
# A round has at most so many times the mixture: one after an outage is no measure.
BEYOND = 3.0
# Seeds of episodes that no training draws.
HELD_OUT = 1 << 40


class Table(NamedTuple):
    """Examples: what is seen, how much the rate exceeds the mixture in parts of it, and what each of them counts."""

    seen: F32
    excess: F32
    weight: F32

    def error(self, foretold: F32 | float) -> float:
        """Mean absolute error of a foretold excess, in parts of the mean rate of each episode."""
        return float((self.weight * np.abs(self.excess - foretold)).mean())


@dataclass(frozen=True)
class Options:
    """How to train: our choices."""

    seed: int = 1
    # Episodes of each domain to learn from, and to judge by.
    episodes: int = 32
    judged: int = 12
    epochs: int = 40
    batch: int = 2048
    rate: float = 3e-3
    # The search for margins: generations, candidates, and episodes of a generation over all domains.
    generations: int = 12
    population: int = 8
    flights: int = 24
    sigma: float = 0.4
    jobs: int = 1
    domains: list[dict[str, Any]] = field(default_factory=lambda: FORECAST)


def margins(x: Doubles) -> tuple[float, float, float]:
    """The margins of a point of the search; zero is `ebb` itself."""
    z, q, within = PLAIN
    return (
        float(np.clip(z * np.exp(x[0]), 0.0, 5.0)),
        float(np.clip(q + 4.0 * x[1], -10.0, 30.0)),
        float(np.clip(within * np.exp(x[2]), 2.0, 300.0)),
    )


def name(set_to: tuple[float, float, float], file: Path | None = None) -> str:
    """The controller with these margins, and with the forecast of a file."""
    z, q, within = set_to
    dials = f"ebb:z={z:.6f},q={q:.6f},within={within:.6f}"
    return dials if file is None else f"{dials},forecast={file}"


class Trainer:
    """One seed's training. `run` yields what each update gave; `save` and `restore` keep it across a kill."""

    def __init__(self, options: Options) -> None:
        """Start from a network that foretells the mixture itself, and from the margins of `ebb`."""
        self.options = options
        rng = np.random.default_rng([options.seed, 0x6562])
        self.network = Network([INPUTS, HIDDEN, len(QUANTILES)], rng, 0.01)
        self.adam = Adam(self.network.parameters)
        # Margins beside the network, and beside the mixture that `ebb` has without it.
        self.searches = [
            CMA(mean=np.zeros(3), sigma=options.sigma, seed=options.seed, population_size=options.population)
            for _ in range(2)
        ]
        self.update = 0
        self.curve: list[dict[str, float]] = []
        self.best: tuple[float, bytes] | None = None
        self._tables: tuple[Table, Table] | None = None

    @property
    def updates(self) -> int:
        """Epochs and generations in all."""
        return self.options.epochs + self.options.generations

    def tables(self) -> tuple[Table, Table]:
        """Examples to learn from and to judge by."""
        if self._tables is None:
            o = self.options
            # Another seed learns from other episodes; all are judged by the same.
            self._tables = (
                gather(o.domains, o.seed << 24, o.episodes, o.jobs),
                gather(o.domains, HELD_OUT, o.judged, o.jobs),
            )
        return self._tables

    def file(self, set_to: tuple[float, float, float], **more: object) -> files.PolicyFile:
        """The forecast with these margins."""
        (w0, w1), (b0, b1) = self.network.weights, self.network.biases
        tensors = {"hidden.weight": w0.T, "hidden.bias": b0, "out.weight": w1.T, "out.bias": b1}
        z, q, within = set_to
        # What `ebb` may take without the network.
        alone = dict(zip(("alone_z", "alone_q_ms", "alone_within_ms"), self.centre(1), strict=True))
        base: dict[str, object] = {
            "format": "slackwater-policy",
            "version": "1",
            "kind": "ebb-forecast",
            "z": z,
            "q_ms": q,
            "within_ms": within,
        }
        return files.PolicyFile(tensors, files.texts(base | alone | more))

    def centre(self, search: int = 0) -> tuple[float, float, float]:
        """The margins that were found: beside the network (0), or without it (1)."""
        return margins(self.searches[search].mean) if self.options.generations else PLAIN

    def _epoch(self) -> dict[str, float]:
        o = self.options
        learn, held = self.tables()
        order = np.random.default_rng([o.seed, self.update]).permutation(len(learn.excess))
        # Falls to nothing: the last epochs settle.
        rate = o.rate * (1.0 - self.update / o.epochs)
        losses = []
        for start in range(0, len(order), o.batch):
            rows = order[start : start + o.batch]
            out, kept = self.network.forward(learn.seen[rows])
            weight, over = learn.weight[rows, None], out - learn.excess[rows, None]
            # The pinball loss: Koenker, Bassett, "Regression Quantiles", Econometrica 46, 1978.
            losses.append(float((weight * np.maximum((1 - QUANTILES) * over, -QUANTILES * over)).mean()))
            slope = weight * ((over > 0) - QUANTILES) / np.float32(out.size)
            self.adam.step(self.network.backward(kept, slope.astype(np.float32)), rate, 1.0)
        foretold = self.network.forward(held.seen)[0][:, 1]
        plain = held.error(0.0)
        return {"loss": float(np.mean(losses)), "error": held.error(foretold), "error of the mixture": plain}

    def _generation(self, file: Path) -> dict[str, float]:
        o = self.options
        points = [[cma.ask() for _ in range(o.population)] for cma in self.searches]
        first = (o.seed << 32) + (self.update << 14)
        actors = [
            name(margins(p), with_file) for p_all, with_file in zip(points, (file, None), strict=True) for p in p_all
        ]
        found, _ = gains(o.domains, actors, "ebb", first=first, episodes=o.flights, jobs=o.jobs)
        row: dict[str, float] = {}
        halves = found.mean(axis=1).reshape(2, o.population)
        for k, (cma, values, beside) in enumerate(zip(self.searches, halves, BESIDE, strict=True)):
            cma.tell([(p, -float(v)) for p, v in zip(points[k], values, strict=True)])
            z, q, within = self.centre(k)
            row |= {f"gain, {beside}": float(values.mean())}
            row |= {f"z, {beside}": z, f"q, {beside}": q, f"within, {beside}": within}
        return row

    def _judge(self, file: Path) -> dict[str, float]:
        o = self.options
        actors = [name(PLAIN, file), name(self.centre(1)), name(self.centre(), file)]
        judged = max(o.judged, 1) * len(o.domains)
        found, plain = gains(o.domains, actors, "ebb", first=HELD_OUT, episodes=judged, jobs=o.jobs)
        forecast, alone, both = (float(v) for v in found.mean(axis=1))
        row = {"over ebb, forecast": forecast, "over ebb, margins": alone, "over ebb": both, "score": plain + both}
        return row | {f"over ebb, domain {k}": float(v) for k, v in enumerate(found[2])}

    def run(self) -> Iterator[dict[str, float]]:
        """Train, then search; yields the numbers of each update."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "forecast.safetensors"
            while self.update < self.updates:
                if self.update < self.options.epochs:
                    row = self._epoch()
                else:
                    self.file(PLAIN).save(file)
                    row = self._generation(file)
                self.update += 1
                if self.update == self.updates:
                    self.file(self.centre()).save(file)
                    row |= self._judge(file)
                    self.best = (row["score"], file.read_bytes())
                row = {"update": float(self.update)} | row
                self.curve.append(row)
                yield row

    def state(self) -> dict[str, Any]:
        """All that a kill must not lose."""
        return {
            "options": asdict(self.options),
            "network": self.network.parameters,
            "adam": [self.adam.first, self.adam.second, self.adam.count],
            "cma": [{key: value for key, value in vars(cma).items() if key != "_rng"} for cma in self.searches],
            "rng": [cma._rng.get_state() for cma in self.searches],
            "update": self.update,
            "curve": self.curve,
            "best": self.best,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        self.network.load(state["network"])
        first, second, self.adam.count = state["adam"]
        self.adam.first, self.adam.second = list(first), list(second)
        for cma, values, rng in zip(self.searches, state["cma"], state["rng"], strict=True):
            vars(cma).update(values)
            cma._rng.set_state(tuple(rng))
        self.update, self.curve, self.best = state["update"], state["curve"], state["best"]

    @property
    def at_checkpoint(self) -> bool:
        """True where `state` goes on to the same bits."""
        return True

    def finish(self, folder: Path, **more: object) -> Path:
        """Write the artefact."""
        path = folder / "policy.safetensors"
        self.file(self.centre(), **files.texts(more)).save(path)
        return path


def gather(domains: list[dict[str, Any]], first: int, episodes: int, jobs: int) -> Table:
    """Examples of so many episodes of each domain. A byte counts as much as another of its episode."""
    parts = []
    for k, domain in enumerate(domains):
        seeds = list(range(first + 1000 * k, first + 1000 * k + episodes))
        seen, rates, counts = examples(json.dumps(domain), seeds, jobs)
        x = np.frombuffer(seen, np.float32).reshape(-1, INPUTS)
        mixture, came = np.frombuffer(rates, np.float32).reshape(-1, 2).T
        ends = np.cumsum(counts)
        for start, end in zip(ends - counts, ends, strict=True):
            if end == start or (mean := float(mixture[start:end].mean())) <= 0:
                continue
            m, c = mixture[start:end], came[start:end]
            parts.append((x[start:end], np.minimum(c / m - 1, BEYOND), m / mean))
    if not parts:
        msg = "domain: found no report of the radio in its episodes, expected longer ones"
        raise ValueError(msg)
    seen_all, excess, weight = (np.concatenate(p) for p in zip(*parts, strict=True))
    return Table(seen_all, excess.astype(np.float32), weight.astype(np.float32))
