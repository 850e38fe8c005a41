"""Proximal policy optimisation (Schulman et al., 2017) for the poster's scheme, with manual gradients."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from slackwater._slackwater import Batch
from slackwater.train import policy as files
from slackwater.train.curriculum import allot
from slackwater.train.network import F32, Adam, Network
from slackwater.train.score import scores

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

    Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Options:
    """How to train; the values are a study's but for those marked."""

    seed: int = 1
    steps: int = 1_500_000
    envs: int = 128
    length: int = 64
    epochs: int = 4
    minibatch: int = 2048
    rate: float = 1e-3
    gamma: float = 0.98
    lam: float = 0.95
    clip: float = 0.2
    entropy: float = 0.01
    norm: float = 0.5
    actions: str = "sym"
    obs: str = "bdp"
    choice: str = "mean"
    # Updates between two checkpoints. Environments start anew there, so that a training that was killed goes on to the
    # same bits: our choice.
    every: int = 23
    # Episodes by which a checkpoint is judged: our choice.
    judged: int = 24
    jobs: int = 1
    domains: list[dict[str, Any]] = field(default_factory=lambda: [{}])
    # Episodes of each domain by which the curriculum is shared out; 0 shares evenly.
    gap_episodes: int = 6


class Scaler:
    """Running mean and variance (Chan et al., 1979)."""

    def __init__(self, width: int) -> None:
        """Nothing seen yet."""
        self.mean = np.zeros(width)
        self.square = np.ones(width)
        self.count = 1e-4

    def update(self, x: F32) -> None:
        """Take in rows."""
        mean, var, n = x.mean(axis=0, dtype=np.float64), x.var(axis=0, dtype=np.float64), len(x)
        total = self.count + n
        off = mean - self.mean
        self.mean = self.mean + off * n / total
        both = self.square * self.count + var * n + off**2 * self.count * n / total
        self.square = both / total
        self.count = total

    @property
    def deviation(self) -> Doubles:
        """Standard deviations, never zero."""
        out: Doubles = np.sqrt(self.square + 1e-8)
        return out

    def apply(self, x: F32) -> F32:
        """Rows with mean 0 and variance 1."""
        out: F32 = ((x - self.mean) / self.deviation).astype(np.float32)
        return out


class Trainer:
    """One seed's training. `run` yields what each update gave; `save` and `restore` keep it across a kill."""

    def __init__(self, options: Options) -> None:
        """Build networks and counters."""
        self.options = options
        self.rng = np.random.default_rng([options.seed, 0x7079])
        n = files.ACTIONS[options.actions]
        hidden = files.HIDDEN
        self.actor = Network([files.INPUTS, hidden, hidden, hidden, n], self.rng, 0.01)
        # The study's critic; it is not shipped.
        self.critic = Network([files.INPUTS, 64, 64, 1], self.rng, 1.0)
        self.adam = [Adam(self.actor.parameters), Adam(self.critic.parameters)]
        self.inputs = Scaler(files.INPUTS)
        self.returns = Scaler(1)
        self.update = 0
        self.share = [1.0 / len(options.domains)] * len(options.domains)
        self.best: tuple[float, bytes] | None = None
        self.curve: list[dict[str, float]] = []

    @property
    def updates(self) -> int:
        """Updates in all."""
        return max(1, round(self.options.steps / (self.options.envs * self.options.length)))

    def policy(self, **more: object) -> files.PolicyFile:
        """The policy as it ships: the inputs' normaliser is folded into the first layer."""
        o = self.options
        w, b = self.actor.weights, self.actor.biases
        first = w[0].astype(np.float64) / self.inputs.deviation[:, None]
        tensors = {
            "layer0.weight": first.T.astype(np.float32),
            "layer0.bias": (b[0] - self.inputs.mean @ first).astype(np.float32),
            "layer1.weight": w[1].T,
            "layer1.bias": b[1],
            "layer2.weight": w[2].T,
            "layer2.bias": b[2],
            "head.weight": w[3].T,
            "head.bias": b[3],
        }
        domain = o.domains[0]
        meta = files.metadata(
            "mlp",
            interval_ms=domain.get("interval_ms", 20),
            tbs=domain.get("tbs", "capacity"),
            obs=o.obs,
            actions=o.actions,
            choice=o.choice,
            **more,
        )
        return files.PolicyFile(tensors, meta)

    def judge(self, policy: bytes) -> float:
        """Mean score on episodes that training never draws, in the mode that ships."""
        o = self.options
        each = []
        for k, domain in enumerate(o.domains):
            n = max(2, o.judged // len(o.domains))
            # The upper half of the seeds belongs to judging.
            first = (1 << 40) + 10_000 * k
            table = scores(domain, [policy], list(range(first, first + n)), o.jobs)
            each.append(float(np.mean([row["score"] for row in table[0]])))
        return float(np.mean(each))

    def run(self) -> Iterator[dict[str, float]]:
        """Train; yields the numbers of each update."""
        o = self.options
        while self.update < self.updates:
            self.share = allot(self, self.share)
            batches = self._batches()
            stop = min(self.updates, (self.update // o.every + 1) * o.every)
            while self.update < stop:
                row = self._once(batches)
                self.update += 1
                if self.update == stop:
                    data = self.policy().to_bytes()
                    row["score"] = self.judge(data)
                    if self.best is None or row["score"] >= self.best[0]:
                        self.best = (row["score"], data)
                self.curve.append(row)
                yield row

    def _batches(self) -> list[Batch]:
        o = self.options
        batches = []
        boundary = self.update // o.every
        left = o.envs
        for k, (domain, share) in enumerate(zip(o.domains, self.share, strict=True)):
            last = k == len(o.domains) - 1
            n = left if last else min(left, max(1, round(share * o.envs)))
            left -= n
            if n == 0:
                continue
            first = (o.seed << 24) + (boundary << 16) + (k << 12)
            scheme = {"kind": "relative", "obs": o.obs, "actions": o.actions}
            batches.append(Batch(json.dumps(domain), json.dumps(scheme), n, first, o.jobs))
        return batches

    def _once(self, batches: list[Batch]) -> dict[str, float]:
        o = self.options
        file = self.policy().to_bytes()
        parts = [b.rollout(file, o.length, (o.seed << 32) + (self.update << 4) + k) for k, b in enumerate(batches)]

        def joined(name: str, *shape: int) -> F32:
            arrays = [np.frombuffer(part[name], np.float32).reshape(-1, o.length, *shape) for part in parts]
            return np.concatenate(arrays)

        raw, after = joined("obs", files.INPUTS), joined("next", files.INPUTS)
        rewards, cut = joined("rewards"), joined("truncated") > 0
        actions, old = joined("actions").astype(np.int64), joined("log_probs")
        obs, following = self.inputs.apply(raw), self.inputs.apply(after)
        values = self.critic.forward(obs.reshape(-1, files.INPUTS))[0].reshape(rewards.shape)
        ahead = self.critic.forward(following.reshape(-1, files.INPUTS))[0].reshape(rewards.shape)
        scaled = self._scale(rewards, cut)
        advantage = np.zeros_like(scaled)
        carry = np.zeros(len(scaled), np.float32)
        for t in range(o.length - 1, -1, -1):
            # An episode that was cut off goes on without us: its value is kept, the sum ends.
            delta = scaled[:, t] + np.float32(o.gamma) * ahead[:, t] - values[:, t]
            carry = delta + np.float32(o.gamma * o.lam) * carry * ~cut[:, t]
            advantage[:, t] = carry
        target = advantage + values
        done = self.update / self.updates
        stats = self._learn(
            obs.reshape(-1, files.INPUTS),
            actions.reshape(-1),
            old.reshape(-1),
            advantage.reshape(-1),
            target.reshape(-1),
            done,
        )
        self.inputs.update(raw.reshape(-1, files.INPUTS))
        ended = np.concatenate([np.frombuffer(part["returns"], np.float64) for part in parts])
        return {
            "steps": float((self.update + 1) * o.envs * o.length),
            "reward": float(rewards.mean()),
            "return": float(ended.mean()) if len(ended) else float("nan"),
            **stats,
        }

    def _scale(self, rewards: F32, cut: npt.NDArray[np.bool_]) -> F32:
        """Rewards over the running deviation of discounted returns, clipped to +-10."""
        o = self.options
        sums = np.zeros(len(rewards))
        seen = np.zeros_like(rewards)
        for t in range(o.length):
            sums = sums * o.gamma + rewards[:, t]
            seen[:, t] = sums
            sums = sums * ~cut[:, t]
        self.returns.update(seen.reshape(-1, 1))
        out: F32 = np.clip(rewards / self.returns.deviation[0], -10, 10).astype(np.float32)
        return out

    def _learn(
        self, obs: F32, actions: npt.NDArray[np.int64], old: F32, advantage: F32, target: F32, done: float
    ) -> dict[str, float]:
        o = self.options
        rate = o.rate * (1.0 - done)
        # Annealed to nothing: what ships is not the average of what was drawn.
        entropy_weight = np.float32(o.entropy * (1.0 - done))
        entropies, kept_share = [], []
        rows = np.arange(o.minibatch)
        for _ in range(o.epochs):
            order = self.rng.permutation(len(obs))
            for start in range(0, len(obs) - o.minibatch + 1, o.minibatch):
                at = order[start : start + o.minibatch]
                x, a, adv = obs[at], actions[at], advantage[at]
                adv = (adv - adv.mean()) / (adv.std() + np.float32(1e-8))
                logits, kept = self.actor.forward(x)
                logits = logits - logits.max(axis=1, keepdims=True)
                weights = np.exp(logits)
                total = weights.sum(axis=1, keepdims=True)
                probability = weights / total
                log_all = logits - np.log(total)
                ratio = np.exp(log_all[rows, a] - old[at])
                inside = ~(((adv > 0) & (ratio > 1 + o.clip)) | ((adv < 0) & (ratio < 1 - o.clip)))
                entropy = -(probability * log_all).sum(axis=1, keepdims=True)
                # d/d logits of -ratio * adv where it is not clipped, and of -weight * entropy.
                pull = (-ratio * adv * inside)[:, None]
                slope = -probability * pull
                slope[rows, a] += pull[:, 0]
                slope += entropy_weight * probability * (log_all + entropy)
                slope /= np.float32(o.minibatch)
                self.adam[0].step(self.actor.backward(kept, slope), rate, o.norm)
                value, kept = self.critic.forward(x)
                off = (value[:, 0] - target[at])[:, None] / np.float32(o.minibatch)
                self.adam[1].step(self.critic.backward(kept, off), rate, o.norm)
                entropies.append(float(entropy.mean()))
                kept_share.append(float(inside.mean()))
        return {"entropy": float(np.mean(entropies)), "inside": float(np.mean(kept_share)), "rate": rate}

    def state(self) -> dict[str, Any]:
        """All that a kill must not lose."""
        return {
            "options": asdict(self.options),
            "rng": self.rng.bit_generator.state,
            "update": self.update,
            "share": self.share,
            "best": self.best,
            "curve": self.curve,
            "actor": self.actor.parameters,
            "critic": self.critic.parameters,
            "adam": [(a.first, a.second, a.count) for a in self.adam],
            "scalers": [(s.mean, s.square, s.count) for s in (self.inputs, self.returns)],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        self.rng.bit_generator.state = state["rng"]
        self.update, self.share, self.best, self.curve = (
            state["update"],
            state["share"],
            state["best"],
            state["curve"],
        )
        self.actor.load(state["actor"])
        self.critic.load(state["critic"])
        for adam, (first, second, count) in zip(self.adam, state["adam"], strict=True):
            adam.first, adam.second, adam.count = first, second, count
        for scaler, (mean, square, count) in zip((self.inputs, self.returns), state["scalers"], strict=True):
            scaler.mean, scaler.square, scaler.count = mean, square, count

    @property
    def at_checkpoint(self) -> bool:
        """True where `state` goes on to the same bits."""
        return self.update % self.options.every == 0 or self.update == self.updates

    def finish(self, folder: Path, **more: object) -> Path:
        """Write the best checkpoint."""
        data = self.best[1] if self.best else self.policy().to_bytes()
        kept = files.PolicyFile.from_bytes(data)
        path = folder / "policy.safetensors"
        files.PolicyFile(kept.tensors, kept.metadata | files.texts(more)).save(path)
        return path
