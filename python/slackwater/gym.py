"""Environments for learning, by the interface of Gymnasium (the extra ``slackwater[gym]``).

An episode is one bulk flow over a link or cell drawn at random; a step is the time between two decisions, 20 ms unless
the domain says otherwise. What is seen and done is what the deployed controller sees and does, to the bit.

>>> import gymnasium
>>> import slackwater.gym
>>> env = gymnasium.make("slackwater/Tyrus-v0", domain={"places": ["lte"]})
>>> observation, info = env.reset(seed=1)
>>> many = gymnasium.make_vec("slackwater/Tyrus-v0", num_envs=128, vectorization_mode="vector_entry_point")
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slackwater.extras import command

try:
    import gymnasium
    import numpy as np
except ImportError as error:
    msg = f"slackwater.gym needs gymnasium and numpy: {command('gym')}"
    raise ModuleNotFoundError(msg) from error

from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from slackwater._slackwater import Batch

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

__all__ = ["Env", "VectorEnv"]

# Observations are logarithms or averages; what lies beyond is no link that anyone has seen.
_BOUND = 1e6
# Seeds that Gymnasium's generator gives to an episode.
_SEEDS = 1 << 62


def _scheme(scheme: Mapping[str, object] | None) -> dict[str, object]:
    return {"kind": "relative"} if scheme is None else dict(scheme)


def _spaces(batch: Batch, scheme: Mapping[str, object]) -> tuple[spaces.Box, spaces.Space[Any], float]:
    """Spaces of observations and actions, and what an action is multiplied by: a residual's is 1 at the bound."""
    observation = spaces.Box(-_BOUND, _BOUND, (batch.width,), np.float32)
    if batch.log_ratios:
        return observation, spaces.Discrete(len(batch.log_ratios)), 1.0
    return observation, spaces.Box(-1.0, 1.0, (1,), np.float32), float(str(scheme.get("bound", 1.5)))


def _clipped(data: bytes, shape: tuple[int, ...]) -> Floats:
    return np.frombuffer(data, np.float32).reshape(shape).clip(-_BOUND, _BOUND)


class Env(gymnasium.Env[Any, Any]):
    """One environment.

    ``domain`` sets what episodes are drawn from, ``scheme`` what the agent sees and does; docs/training.md lists the
    keys of both. The default is the poster's scheme: five inputs, and the number of a relative change of the window.
    A residual's action is the logarithm of a factor over its bound, -1 to 1.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        domain: Mapping[str, object] | None = None,
        scheme: Mapping[str, object] | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Check the domain and build a first world."""
        self.render_mode = render_mode
        asked = _scheme(scheme)
        self._batch = Batch(json.dumps(dict(domain or {})), json.dumps(asked), 1, 0, 1)
        self.observation_space, self.action_space, self._scale = _spaces(self._batch, asked)
        self._ended = False
        self._episode = 0
        self._steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """Start an episode: ``seed``'s, or the next of the generator that an earlier seed started."""
        super().reset(seed=seed)
        episode = int(self.np_random.integers(_SEEDS))
        self._batch.reset([episode])
        self._ended = False
        self._episode, self._steps = episode, 0
        return _clipped(self._batch.observations(), (self._batch.width,)), self._info()

    def _info(self) -> dict[str, Any]:
        """The episode's seed, and how many decisions were made in it."""
        return {"episode_seed": self._episode, "decisions": self._steps}

    def step(self, action: int | np.integer[Any] | npt.ArrayLike) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Act, and go on to the next decision. Episodes are cut off, they do not end: a flow goes on."""
        if self._ended:
            msg = "the episode was cut off: found a step, expected reset()"
            raise RuntimeError(msg)
        out = self._batch.step([float(np.asarray(action).reshape(-1)[0]) * self._scale])
        truncated = bool(np.frombuffer(out["truncated"], np.float32)[0])
        self._ended = truncated
        # The batch has begun another episode; the last observation is of this one.
        seen = out["last"] if truncated else out["obs"]
        reward = float(np.frombuffer(out["rewards"], np.float32)[0])
        self._steps += 1
        return _clipped(seen, (self._batch.width,)), reward, False, truncated, self._info()


class VectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Many environments in lock step, on all cores, with the interpreter's lock released.

    Where an episode is cut off, the next begins in the same step; the last observation is in ``info["final_obs"]``.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int,
        domain: Mapping[str, object] | None = None,
        scheme: Mapping[str, object] | None = None,
        jobs: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Check the domain and build the first worlds, on ``jobs`` threads (default: all cores)."""
        super().__init__()
        self.render_mode = render_mode
        asked = _scheme(scheme)
        self._batch = Batch(json.dumps(dict(domain or {})), json.dumps(asked), num_envs, 0, jobs)
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space, self._scale = _spaces(self._batch, asked)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._shape = (num_envs, self._batch.width)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Start episodes: those of ``seed``, ``seed`` + 1 and so on, or of each seed of a list."""
        if isinstance(seed, int) or seed is None:
            super().reset(seed=seed)
            episodes = [int(s) for s in self.np_random.integers(_SEEDS, size=self.num_envs)]
        else:
            episodes = [int(self.np_random.integers(_SEEDS)) if s is None else s for s in seed]
        self._batch.reset(episodes)
        return _clipped(self._batch.observations(), self._shape), {}

    def step(self, actions: npt.ArrayLike) -> tuple[Floats, Any, Any, Any, dict[str, Any]]:
        """Act in all, and go on to their next decisions."""
        given = np.asarray(actions, np.float64).reshape(self.num_envs) * self._scale
        out = self._batch.step(given.tolist())
        truncated = np.frombuffer(out["truncated"], np.float32) > 0
        info: dict[str, Any] = {}
        if truncated.any():
            last = _clipped(out["last"], self._shape)
            final = np.full(self.num_envs, None, dtype=object)
            for i in np.flatnonzero(truncated):
                final[i] = last[i]
            info = {"final_obs": final, "_final_obs": truncated.copy()}
        rewards = np.frombuffer(out["rewards"], np.float32).astype(np.float64)
        return _clipped(out["obs"], self._shape), rewards, np.zeros(self.num_envs, bool), truncated, info


gymnasium.register(
    id="slackwater/Tyrus-v0",
    entry_point="slackwater.gym:Env",
    vector_entry_point="slackwater.gym:VectorEnv",
)
