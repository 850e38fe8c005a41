from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slackwater
from slackwater.train import onnx, policy, ppo

MISSING = "onnxruntime is not installed: pip install onnxruntime"
CELL: dict[str, Any] = {
    "name": "policy-test",
    "duration": "4 s",
    "cell": {"rat": "lte"},
    "flow": [{"controller": "mine"}],
}
RELATIVE = {"kind": "relative", "obs": "bdp", "actions": "sym"}


def run(mine: slackwater.Policy) -> slackwater.Run:
    return slackwater.run(CELL, seed=3, controllers={"mine": mine})


def exported(folder: Path, kind: str) -> Path:
    """A policy file with drawn weights, and its ONNX model beside it."""
    if kind == "mlp":
        file = ppo.Trainer(ppo.Options(seed=3)).policy()
    else:
        theta = 0.1 * np.random.default_rng(3).standard_normal(policy.residual_size(kind))
        meta = policy.metadata(kind, interval_ms=20, tbs="capacity", bound=0.7, z=0.5)
        file = policy.PolicyFile(policy.residual(theta, kind), meta)
    path = folder / "p.safetensors"
    file.save(path)
    model = path.with_suffix(".onnx")
    model.write_bytes(onnx.model(file))
    return model


def test_a_function_sees_what_the_gym_shows_and_steers() -> None:
    seen: list[list[float]] = []

    def steers(observation: list[float]) -> int:
        seen.append(observation)
        # The greatest factor of thirteen, until there is a queue of 20 ms; then the least.
        return 12 if observation[1] < np.log1p(1) else 0

    def goodput(mine: slackwater.Policy) -> float:
        return float(run(mine).summary["flows"][0]["goodput_mbps"])

    assert goodput(slackwater.Policy(steers)) > 1
    assert {len(one) for one in seen} == {5}
    # Each 20 ms, from the first reports on.
    assert 100 < len(seen) < 200
    # One that always shrinks the window has the least rate; a residual of zero leaves the rule as it is.
    least = goodput(slackwater.Policy(lambda _: 0))
    for other in (slackwater.Policy(lambda _: 6), slackwater.Policy(lambda _: 0.0, scheme={"kind": "residual"})):
        assert goodput(other) > 2 * least


def test_wrong_policies_say_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="actions"):
        slackwater.Policy(lambda _: 0, scheme={"kind": "relative", "actions": "none"})
    with pytest.raises(ValueError, match="interval"):
        run(slackwater.Policy(lambda _: 0, interval=5.0))
    with pytest.raises(ValueError, match="found 13, expected 0 to 12"):
        run(slackwater.Policy(lambda _: 13))
    with pytest.raises(ZeroDivisionError):
        run(slackwater.Policy(lambda _: 1 // 0))
    with pytest.raises(TypeError, match=r"or a slackwater\.Policy"):
        slackwater.run(CELL, controllers={"mine": object()})  # type: ignore[dict-item]


@pytest.mark.parametrize("kind", ["mlp", "residual-linear", "residual-tanh"])
def test_an_exported_policy_does_what_its_file_does(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("onnxruntime", reason=MISSING)
    model = exported(tmp_path, kind)
    mine = slackwater.OnnxPolicy(model)
    assert (mine.name, mine.interval, mine.blocks) == ("p", 0.02, True)
    found = run(mine).summary["flows"][0]
    name = f"tyrus:policy={model.with_suffix('.safetensors')}"
    file = slackwater.run(CELL, seed=3, changes={"flow.controller": name}).summary["flows"][0]
    # Two libraries add in another order: the last bits of a window differ, its segments seldom.
    assert found["goodput_mbps"] == pytest.approx(file["goodput_mbps"], rel=0.02)
    assert found["queue_delay_ms"]["p50"] == pytest.approx(file["queue_delay_ms"]["p50"], rel=0.1, abs=1.0)


def foreign(folder: Path, width: int, out: int) -> Path:
    """A model as another program writes it, without our metadata: one layer, whose greatest output is the last."""
    tensors: dict[str, policy.Weights] = {
        "w": np.zeros((out, width), np.float32),
        "b": (np.arange(out) / max(out, 2)).astype(np.float32),
    }
    node = onnx._node("Gemm", ["x", "w", "b"], "y", onnx._bytes(1, "transB") + onnx._number(3, 1) + onnx._number(20, 2))
    graph = onnx._bytes(1, node) + onnx._bytes(2, "foreign")
    graph += b"".join(onnx._bytes(5, onnx._tensor(name, value)) for name, value in tensors.items())
    graph += onnx._bytes(11, onnx._value("x", width)) + onnx._bytes(12, onnx._value("y", out))
    data = onnx._number(1, 8) + onnx._bytes(7, graph) + onnx._bytes(8, onnx._bytes(1, "") + onnx._number(2, 17))
    path = folder / "foreign.onnx"
    path.write_bytes(data)
    return path


def test_a_model_of_others_steers_by_the_scheme_that_it_is_given(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason=MISSING)
    mine = slackwater.OnnxPolicy(foreign(tmp_path, 5, 13), scheme=RELATIVE)
    assert mine.log_factor([0.0] * 5) == mine.log_ratios[12]
    found = slackwater.compare(CELL, [mine, "reno"], seeds=1)
    assert list(found.runs) == ["foreign", "reno"]
    # A share of the bound.
    residual = slackwater.OnnxPolicy(foreign(tmp_path, 14, 1), scheme={"kind": "residual", "bound": 0.5})
    assert residual.log_factor([0.0] * 14) == 0.0

    with pytest.raises(ValueError, match=r"input 'x': found .*14.*, expected .*5"):
        slackwater.OnnxPolicy(tmp_path / "foreign.onnx")
    with pytest.raises(ValueError, match=r"output 'y': found .*3.*, expected .*13"):
        slackwater.OnnxPolicy(foreign(tmp_path, 5, 3))
    with pytest.raises(ValueError, match="no such file"):
        slackwater.OnnxPolicy(tmp_path / "none.onnx")
    (tmp_path / "text.onnx").write_text("no model")
    with pytest.raises(ValueError, match="expected an ONNX model"):
        slackwater.OnnxPolicy(tmp_path / "text.onnx")


def test_without_onnxruntime_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ModuleNotFoundError, match="pip install 'onnxruntime"):
        slackwater.OnnxPolicy(tmp_path / "p.onnx")
