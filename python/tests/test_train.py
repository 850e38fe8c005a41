import json
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from slackwater.train import __main__ as command
from slackwater.train import evaluate, forecast, network, policy, ppo, report, seed, state

TINY: dict[str, Any] = {"decisions": 60, "tbs": "none", "mbps": [4, 8]}
PPO: dict[str, Any] = {"steps": 4096, "envs": 8, "length": 64, "minibatch": 256, "every": 2, "judged": 2}
FORECAST: dict[str, Any] = {
    "episodes": 2,
    "judged": 1,
    "epochs": 3,
    "batch": 64,
    "generations": 2,
    "population": 4,
    "flights": 1,
}
CMA: dict[str, Any] = {"generations": 4, "population": 6, "episodes": 2, "judged": 2, "every": 2}


def task(folder: Path, scheme: str, **more: object) -> dict[str, Any]:
    options = {"poster": PPO, "forecast": FORECAST}.get(scheme, CMA) | {"domains": [TINY], "seed": 3, "jobs": 1} | more
    return {"scheme": scheme, "options": options, "folder": str(folder), "hashes": [], "revision": "test"}


def test_gradients_are_those_of_differences() -> None:
    rng = np.random.default_rng(1)
    net = network.Network([3, 8, 8, 2], rng, 1.0)
    # In double precision: differences of singles tell little.
    net.weights = [w.astype(np.float64) for w in net.weights]
    net.biases = [rng.standard_normal(b.shape) for b in net.biases]  # type: ignore[misc]
    x = rng.standard_normal((5, 3))
    pull = rng.standard_normal((5, 2))
    _, kept = net.forward(x)  # type: ignore[arg-type]
    grads = net.backward(kept, pull)  # type: ignore[arg-type]
    for p, g in zip(net.parameters, grads, strict=True):
        for at in list(np.ndindex(p.shape))[:7]:
            old = p[at]
            sides = []
            for step in (1e-6, -1e-6):
                p[at] = old + step
                sides.append(float((net.forward(x)[0] * pull).sum()))  # type: ignore[arg-type]
            p[at] = old
            assert g[at] == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=1e-4, abs=1e-7)


def test_a_policy_file_is_read_back_and_by_the_simulator() -> None:
    theta = np.linspace(-0.1, 0.1, policy.FEATURES)
    meta = policy.metadata("residual-linear", interval_ms=20, tbs="none", bound=1.5, z=0.5)
    file = policy.PolicyFile(policy.residual(theta, "residual-linear"), meta)
    again = policy.PolicyFile.from_bytes(file.to_bytes())
    assert again.metadata == meta
    np.testing.assert_array_equal(again.tensors["residual.weight"], file.tensors["residual.weight"])
    with pytest.raises(ValueError, match="safetensors"):
        policy.PolicyFile.from_bytes(b"no")
    from slackwater.train.score import scores

    rows = scores(TINY, [file.to_bytes(), "rule2-acks"], [1], 1)
    assert len(rows) == 2
    broken = policy.PolicyFile(file.tensors, meta | {"version": "9"}).to_bytes()
    with pytest.raises(ValueError, match="metadata"):
        scores(TINY, [broken], [1], 1)


@pytest.mark.parametrize("scheme", ["poster", "residual-linear", "residual-tanh", "forecast"])
def test_the_same_seed_gives_the_same_policy_and_a_kill_changes_nothing(tmp_path: Path, scheme: str) -> None:
    whole = seed.train(task(tmp_path / "whole", scheme))
    assert whole["policy"] == seed.train(task(tmp_path / "again", scheme))["policy"]
    assert whole["policy"] != seed.train(task(tmp_path / "other", scheme, seed=4))["policy"]
    # A process that is killed after its first checkpoint.
    told = json.dumps(task(tmp_path / "killed", scheme))
    code = f"import json; from slackwater.train import seed; seed.train(json.loads({told!r}))"
    child = subprocess.Popen([sys.executable, "-c", code])
    kept = tmp_path / "killed" / "state.json"
    while not kept.exists() and child.poll() is None:
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert kept.exists()
    resumed = seed.train(task(tmp_path / "killed", scheme))
    assert resumed["policy"] == whole["policy"]
    assert resumed["curve"] == whole["curve"] or np.isnan([r.get("return", 0) for r in whole["curve"]]).any()
    lines = (tmp_path / "killed" / "curve.jsonl").read_text().splitlines()
    assert len(lines) == len(whole["curve"])


def test_a_state_is_data_and_keeps_every_bit(tmp_path: Path) -> None:
    made: dict[str, Any] = {
        "numbers": [1, 2**100, 0.1, float("inf"), None, True, "text"],
        "arrays": [np.array([[1.5, -0.0], [np.nan, 3e-310]]), np.arange(3, dtype=np.uint32), np.zeros((0, 2))],
        "bytes": (b"\x00\xff", np.float64(0.3)),
    }
    path = tmp_path / "state.json"
    state.save(path, made)
    read = state.load(path)
    assert read["numbers"] == made["numbers"]
    assert read["bytes"] == [b"\x00\xff", 0.3]
    for old, new in zip(made["arrays"], read["arrays"], strict=True):
        assert (old.dtype, old.shape, old.tobytes()) == (new.dtype, new.shape, new.tobytes())
    with pytest.raises(TypeError, match="a state cannot hold object"):
        state.save(path, object())
    # A pickle in its place is refused, not run.
    path.write_bytes(pickle.dumps({"identity": []}))
    with pytest.raises(ValueError, match=r"state\.json: found no state of a training"):
        state.load(path)
    path.write_text(json.dumps({state.ARRAY: ["|O", [1], "AAAA"]}))
    with pytest.raises(ValueError, match="expected numbers"):
        state.load(path)


def test_ppo_learns(tmp_path: Path) -> None:
    # A link that is always the same: what to do is to open the window and keep it.
    still = TINY | {"places": ["wired"], "mbps": [8, 8], "rtt_ms": [40, 40], "window": [4, 8], "decisions": 100}
    made = seed.train(task(tmp_path, "poster", domains=[still], steps=80_000, judged=4))
    rewards = [row["reward"] for row in made["curve"]]
    first, last = np.mean(rewards[:8]), np.mean(rewards[-8:])
    assert last > first + 0.1, (first, last)


def test_a_curriculum_goes_where_the_rule_is_ahead(tmp_path: Path) -> None:
    domains = [TINY, TINY | {"places": ["wired"]}]
    made = seed.train(task(tmp_path, "poster", domains=domains, gap_episodes=2))
    assert len(made["curve"]) == 8


def test_traces_of_the_training_are_not_evaluated(tmp_path: Path) -> None:
    trace = tmp_path / "t.down"
    trace.write_text("".join(f"{k}\n" for k in range(1, 3000)))
    meta = policy.metadata(
        "residual-linear", interval_ms=20, tbs="none", bound=1.5, z=0.5, traces=[policy.sha256(trace)]
    )
    path = tmp_path / "p.safetensors"
    policy.PolicyFile(policy.residual(np.zeros(policy.FEATURES), "residual-linear"), meta).save(path)
    with pytest.raises(evaluate.InSampleError, match="trained on"):
        evaluate.evaluate(path, [trace])
    assert command.main(["evaluate", str(path), str(trace)]) == 2


def test_the_command_trains_and_leaves_page_and_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLACKWATER_TRACES", raising=False)
    domain = tmp_path / "d.json"
    domain.write_text(json.dumps(TINY))
    out, models = tmp_path / "out", tmp_path / "models"
    words = ["tyrus", "--seeds", "1", "--generations", "2", "--domain", str(domain), "--out", str(out), "--quiet"]
    assert command.main([*words, "--models", str(models), "--jobs", "2"]) == 0
    page = (out / "tyrus.html").read_text()
    assert "<svg" in page
    assert "over rule2" in page
    card = (models / "tyrus.md").read_text()
    assert "Known failures" in card
    assert (models / "tyrus.safetensors").read_bytes() == (out / "tyrus.safetensors").read_bytes()
    assert command.main(["tyrus", "--seeds", "0"]) == 2
    assert command.main([*words[:-1], "--domain", str(tmp_path / "none.json")]) == 2


def test_a_forecast_is_trained_and_taken_by_its_sender(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLACKWATER_TRACES", raising=False)
    domain = tmp_path / "d.json"
    domain.write_text(json.dumps(TINY))
    out, models = tmp_path / "out", tmp_path / "models"
    words = ["ebb", "--seeds", "1", "--epochs", "2", "--generations", "1", "--domain", str(domain), "--out", str(out)]
    assert command.main([*words, "--quiet", "--models", str(models), "--jobs", "2"]) == 0
    assert "over ebb" in (out / "ebb.html").read_text()
    card = (models / "ebb.md").read_text()
    assert "margins alone" in card
    assert "Recordings: not evaluated" in card
    path = models / "ebb.safetensors"
    assert path.read_bytes() == (out / "ebb.safetensors").read_bytes()

    import slackwater

    run = slackwater.run("lte-demo", changes={"flow[0].controller": f"ebb:forecast={path}", "duration": "5 s"})
    assert run.summary["utilisation"] > 0.5
    with pytest.raises(slackwater.ScenarioError, match=r"forecast: .*none.safetensors"):
        slackwater.run("lte-demo", changes={"flow[0].controller": f"ebb:forecast={tmp_path / 'none.safetensors'}"})

    # On recordings, and where one of them was trained on.
    trace = tmp_path / "t.down"
    trace.write_text("".join(f"{k}\n" for k in range(1, 3000)))
    assert command.main(["evaluate", str(path), str(trace)]) == 0


def test_a_network_of_quantiles_learns_them_and_is_read_as_it_was_trained() -> None:
    # What comes exceeds the mixture as the newest block does, and is never less.
    rng = np.random.default_rng(5)
    seen = rng.standard_normal((4096, forecast.INPUTS)).astype(np.float32)
    excess = np.maximum(seen[:, 0], 0)
    excess += rng.uniform(-0.2, 0.2, len(excess)).astype(np.float32)
    table = forecast.Table(seen, excess, np.ones_like(excess))
    work = forecast.Trainer(forecast.Options(epochs=40, batch=256, generations=0))
    work._tables = (table, table)
    for _ in range(40):
        row = work._epoch()
        work.update += 1
    assert row["error"] < 0.4 * row["error of the mixture"]
    out = work.network.forward(seen)[0]
    below = (excess[:, None] < out).mean(axis=0)
    np.testing.assert_allclose(below, forecast.QUANTILES, atol=0.06)

    from slackwater._slackwater import foretold

    read = np.frombuffer(foretold(work.file(forecast.PLAIN).to_bytes(), seen.tobytes()), np.float32).reshape(-1, 3)
    np.testing.assert_allclose(read, out, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="found 7 bytes"):
        foretold(work.file(forecast.PLAIN).to_bytes(), b"1234567")


def test_margins_at_the_start_of_a_search_are_those_of_ebb() -> None:
    assert forecast.margins(np.zeros(3)) == forecast.PLAIN
    assert forecast.margins(np.array([9.0, -9.0, -9.0])) == (5.0, -10.0, 2.0)


def test_pages_show_curves_with_gaps() -> None:
    curve = [{"steps": float(k), "reward": float(k * k), "score": float("nan")} for k in range(5)]
    page = report.page("t", "c", [{"seed": 1, "curve": curve, "score": 1.0, "over rule2": None}])
    assert page.count("<polyline") == 1


@pytest.mark.parametrize("card", sorted((Path(__file__).parents[2] / "models").glob("*.md")), ids=lambda c: c.stem)
def test_a_shipped_policy_flies_and_is_the_one_of_its_card(card: Path) -> None:
    file = card.with_suffix(".safetensors")
    assert policy.sha256(file) in card.read_text()
    from slackwater.train.score import scores

    trained = policy.load(file).metadata["kind"] == "ebb-forecast"
    actor = f"ebb:forecast={file}" if trained else file.read_bytes()
    row = scores({"decisions": 100}, [actor], [1], 1)[0][0]
    assert 0.3 < row["used"] < 1.1


@pytest.mark.parametrize("kind", ["mlp", "residual-linear", "residual-tanh", "ebb-forecast"])
def test_an_exported_model_gives_what_the_network_gives(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(3)
    if kind == "mlp":
        file = ppo.Trainer(ppo.Options(seed=3)).policy()
        width = policy.INPUTS
    elif kind == "ebb-forecast":
        file = forecast.Trainer(forecast.Options(seed=3)).file(forecast.PLAIN)
        width = forecast.INPUTS
    else:
        theta = rng.standard_normal(policy.residual_size(kind))
        meta = policy.metadata(kind, interval_ms=20, tbs="none", bound=0.7, z=0.5)
        file = policy.PolicyFile(policy.residual(theta, kind), meta)
        width = policy.FEATURES
    path = tmp_path / "p.safetensors"
    file.save(path)
    assert command.main(["export", str(path)]) == 0
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(path.with_suffix(".onnx")), providers=["CPUExecutionProvider"])
    x = rng.standard_normal((50, width)).astype(np.float32)
    (found,) = session.run(None, {"x": x})
    t = file.tensors

    def layer(name: str, x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        out: npt.NDArray[np.float32] = x @ t[f"{name}.weight"].T + t[f"{name}.bias"]
        return out

    if kind == "mlp":
        expected = x
        for name in ("layer0", "layer1", "layer2"):
            expected = np.maximum(layer(name, expected), 0)
        expected = layer("head", expected)
    elif kind == "ebb-forecast":
        expected = layer("out", np.maximum(layer("hidden", x), 0))
    elif kind == "residual-tanh":
        expected = layer("out", np.tanh(layer("hidden", x))).clip(-0.7, 0.7)
    else:
        expected = layer("residual", x).clip(-0.7, 0.7)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert session.get_modelmeta().custom_metadata_map["kind"] == kind


def test_a_gain_is_a_difference_trace_by_trace() -> None:
    scores = {"a": (1.0, 0.5), "b": (3.0, 2.4), "c": (5.0, 4.6)}
    pairs = [
        (trace, who, value) for trace, both in scores.items() for who, value in zip(("mine", "rule"), both, strict=True)
    ]
    rows = [{"trace": trace, "controller": who, "score": value} for trace, who, value in pairs]
    mean, low, high = evaluate.gain(rows, "mine", "rule")
    # Student's t of 0.5, 0.6 and 0.4: 4.303 * 0.1 / sqrt(3).
    assert (mean, low, high) == pytest.approx((0.5, 0.5 - 0.24842, 0.5 + 0.24842), abs=1e-4)
