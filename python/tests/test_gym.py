import json
import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import slackwater.gym

SHORT: dict[str, Any] = {"decisions": 60, "tbs": "none"}
SCHEMES: list[dict[str, Any]] = [{"kind": "relative"}, {"kind": "residual"}]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_gymnasium_finds_nothing_wrong(scheme: dict[str, Any]) -> None:
    env = gymnasium.make("slackwater/Tyrus-v0", domain=SHORT, scheme=scheme)
    check_env(env.unwrapped, skip_render_check=True)


def test_stable_baselines_finds_nothing_wrong() -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker", reason="stable-baselines3 is not installed")
    for scheme in SCHEMES:
        checker.check_env(slackwater.gym.Env(SHORT, scheme))


def test_an_episode_is_cut_off_and_the_same_seed_plays_it_again() -> None:
    env = slackwater.gym.Env(SHORT)

    def play(seed: int) -> list[tuple[float, ...]]:
        seen, _ = env.reset(seed=seed)
        out = [tuple(seen)]
        for k in range(60):
            seen, reward, ended, cut, _ = env.step(k % 13)
            assert not ended
            assert cut == (k == 59)
            out.append((*seen, reward))
        return out

    first = play(3)
    assert first == play(3)
    assert first != play(4)
    with pytest.raises(RuntimeError, match="reset"):
        env.step(0)


def test_many_environments_are_as_one() -> None:
    seeds: list[int | None] = [11, 12, 13]
    many = slackwater.gym.VectorEnv(3, SHORT)
    seen, _ = many.reset(seed=seeds)
    assert seen.shape == (3, 5)
    assert seen in many.observation_space
    one = slackwater.gym.VectorEnv(1, SHORT, jobs=1)
    alone, _ = one.reset(seed=[12])
    np.testing.assert_array_equal(seen[1], alone[0])
    ended = 0
    for k in range(70):
        seen, rewards, _, cut, info = many.step([k % 13, 6, 6])
        alone, reward, _, _, _ = one.step([6])
        if k < 60:
            assert rewards[1] == reward[0]
        if k < 59:
            np.testing.assert_array_equal(seen[1], alone[0])
        if cut.any():
            ended += int(cut.sum())
            assert info["final_obs"][1].shape == (5,)
            assert not np.array_equal(info["final_obs"][1], seen[1])
    assert ended == 3


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ValueError, match="rtt_ms"):
        slackwater.gym.Env({"rtt_ms": [40, 20]})
    with pytest.raises(ValueError, match="actions"):
        slackwater.gym.Env(SHORT, {"kind": "relative", "actions": "M"})
    env = slackwater.gym.Env(SHORT)
    env.reset(seed=1)
    with pytest.raises(ValueError, match="0 to 12"):
        env.step(13)


def test_the_package_itself_does_without_gymnasium() -> None:
    code = "import sys; sys.modules['gymnasium'] = None; import slackwater; print(slackwater.__version__)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout
    asked = code.replace("import slackwater;", "import slackwater.gym;")
    done = subprocess.run([sys.executable, "-c", asked], check=False, capture_output=True, text=True)
    assert "gymnasium>=" in done.stderr


def test_domains_are_json() -> None:
    for place in ("link", "wired", "lte", "nr"):
        domain = json.loads(json.dumps({**SHORT, "places": [place], "competitors": 2}))
        many = slackwater.gym.VectorEnv(2, domain, {"kind": "residual"})
        seen, _ = many.reset(seed=1)
        for _ in range(5):
            seen, rewards, *_ = many.step(np.zeros((2, 1)))
        assert np.isfinite(seen).all()
        assert np.isfinite(rewards).all()


def test_many_environments_come_by_name_and_tell_their_episode() -> None:
    many = gymnasium.make_vec("slackwater/Tyrus-v0", num_envs=2, vectorization_mode="vector_entry_point")
    seen, _ = many.reset(seed=1)
    assert seen.shape == (2, 5)
    many.close()
    env = gymnasium.make("slackwater/Tyrus-v0")
    _, info = env.reset(seed=1)
    assert info["decisions"] == 0
    _, _, _, _, after = env.step(6)
    assert after == {"episode_seed": info["episode_seed"], "decisions": 1}
