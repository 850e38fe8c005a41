"""CMA-ES (Hansen, Ostermeier, 2001; the library `cmaes`) for the residual policy on rule v2."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from cmaes import CMA

from slackwater.train import policy as files
from slackwater.train.score import MOST, gains

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

    Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Options:
    """How to search; the values are a study's but for those marked."""

    seed: int = 1
    kind: str = "residual-linear"
    generations: int = 20
    population: int = 14
    # Episodes of a generation, the same for all its candidates and new ones for the next: two of each default domain.
    # The study had 130 generations of 12; so few make five seeds a matter of minutes.
    episodes: int = 16
    # Of what an episode gives, at most this.
    most: float = MOST
    # First step of the search: our choice.
    sigma: float = 0.15
    z: float = 0.5
    bound: float = 1.5
    # `score` takes the 95th percentile of the delay, `score_mean` its mean.
    objective: str = "score"
    judged: int = 96
    every: int = 20
    jobs: int = 1
    domains: list[dict[str, Any]] = field(default_factory=lambda: [{}])


class Trainer:
    """One seed's search. `run` yields what each generation gave; `save` and `restore` keep it across a kill."""

    def __init__(self, options: Options) -> None:
        """Start from the rule itself."""
        self.options = options
        n = files.residual_size(options.kind)
        start = np.zeros(n)
        if options.kind == "residual-tanh":
            # A network of zeros has no slope: small weights in front of the outputs, which are zero.
            rng = np.random.default_rng([options.seed, 0x6573])
            start[: files.FEATURES * files.TANH] = 0.3 * rng.standard_normal(files.FEATURES * files.TANH)
        self.cma = CMA(mean=start, sigma=options.sigma, seed=options.seed, population_size=options.population)
        self.update = 0
        self.sum = np.zeros(n)
        self.counted = 0
        self.curve: list[dict[str, float]] = []
        self.best: tuple[float, bytes] | None = None

    @property
    def updates(self) -> int:
        """Generations in all."""
        return self.options.generations

    def file(self, theta: Doubles, **more: object) -> files.PolicyFile:
        """The policy of a point of the search."""
        o = self.options
        domain = o.domains[0]
        meta = files.metadata(
            o.kind,
            interval_ms=domain.get("interval_ms", 20),
            tbs=domain.get("tbs", "capacity"),
            bound=o.bound,
            z=o.z,
            **more,
        )
        return files.PolicyFile(files.residual(theta, o.kind), meta)

    def _gains(self, actors: list[bytes], first: int, episodes: int) -> tuple[Doubles, float]:
        """What each actor adds to rule v2's objective in the same episodes, domain by domain; and that objective."""
        o = self.options
        return gains(
            o.domains,
            actors,
            "rule2",
            first=first,
            episodes=episodes,
            objective=o.objective,
            most=o.most,
            jobs=o.jobs,
        )

    def mean(self) -> Doubles:
        """The artefact: the mean of the search's centres over the last quarter of its generations."""
        centre: Doubles = self.sum / self.counted if self.counted else self.cma.mean
        return centre

    def run(self) -> Iterator[dict[str, float]]:
        """Search; yields the numbers of each generation."""
        o = self.options
        while self.update < o.generations:
            points = [self.cma.ask() for _ in range(o.population)]
            first = (o.seed << 32) + (self.update << 14)
            values = self._gains([self.file(p).to_bytes() for p in points], first, o.episodes)[0].mean(axis=1)
            self.cma.tell([(p, -float(v)) for p, v in zip(points, values, strict=True)])
            self.update += 1
            if self.update > o.generations * 3 // 4:
                self.sum += self.cma.mean
                self.counted += 1
            row = {
                "generation": float(self.update),
                "gain": float(values.mean()),
                "best": float(values.max()),
                "sigma": float(self.cma._sigma),
            }
            if self.update % o.every == 0 or self.update == o.generations:
                data = self.file(self.mean()).to_bytes()
                # Episodes that the search never draws.
                found, rule = self._gains([data], 1 << 40, o.judged)
                row["over rule2"] = float(found.mean())
                row["score"] = rule + row["over rule2"]
                for k, gain in enumerate(found[0]):
                    row[f"over rule2, domain {k}"] = float(gain)
                if self.update == o.generations:
                    self.best = (row["score"], data)
            self.curve.append(row)
            yield row

    def state(self) -> dict[str, Any]:
        """All that a kill must not lose."""
        return {
            "options": asdict(self.options),
            "cma": {name: value for name, value in vars(self.cma).items() if name != "_rng"},
            "rng": self.cma._rng.get_state(),
            "update": self.update,
            "sum": self.sum,
            "counted": self.counted,
            "curve": self.curve,
            "best": self.best,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        vars(self.cma).update(state["cma"])
        self.cma._rng.set_state(tuple(state["rng"]))
        self.update, self.sum, self.counted = state["update"], state["sum"], state["counted"]
        self.curve, self.best = state["curve"], state["best"]

    @property
    def at_checkpoint(self) -> bool:
        """True where `state` goes on to the same bits."""
        return True

    def finish(self, folder: Path, **more: object) -> Path:
        """Write the artefact."""
        path = folder / "policy.safetensors"
        policy = self.file(self.mean(), **files.texts(more))
        policy.save(path)
        return path
