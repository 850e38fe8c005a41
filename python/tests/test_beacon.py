import json
from pathlib import Path

import pytest

from slackwater import beacon
from slackwater.train.__main__ import _curves


def test_a_command_is_seen_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beacon, "PERIOD", 0.0)
    file = tmp_path / "x" / "running.json"
    with beacon.Beacon(tmp_path / "x", "training", "a policy") as told:
        assert json.loads(file.read_text())["title"] == "a policy"
        told.tell(0.5, [("score, seed-1", "", [float(k) for k in range(700)], [1.0] * 700)])
        said = json.loads(file.read_text())
        # As crates/lab/src/beacon.rs reads it.
        assert set(said) == {"kind", "title", "share", "elapsed_s", "curves"}
        assert said["share"] == 0.5
        assert set(said["curves"][0]) == {"name", "unit", "x", "y"}
        assert len(said["curves"][0]["x"]) == beacon.POINTS
        # What JSON cannot hold leaves the file as it was.
        told.tell(0.6, [("score", "", [1.0], [float("nan")])])
        assert json.loads(file.read_text())["share"] == 0.5
    assert not file.exists()


def test_what_seeds_report_becomes_curves(tmp_path: Path) -> None:
    for seed in (1, 2):
        (tmp_path / f"seed-{seed}").mkdir()
    rows = [{"reward": 1.0}, {"reward": 1.2, "score": 0.5}, {"reward": 1.3, "score": 0.6}]
    text = "".join(json.dumps(row) + "\n" for row in rows) + '{"reward": 1.'
    (tmp_path / "seed-1" / "curve.jsonl").write_text(text)
    done, curves = _curves([str(tmp_path / "seed-1"), str(tmp_path / "seed-2")])
    assert done == 3
    assert curves == [("score, seed-1", "", [2.0, 3.0], [0.5, 0.6])]
