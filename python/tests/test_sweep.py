import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import slackwater
from slackwater import cluster, lock
from slackwater import grid as grids

GRID = """
seeds = 3
[scenario]
name = "sweep-test"
duration = "1 s"
link = { kind = "rate", rate = "12 Mbit/s" }
flow = [{ controller = "cubic" }]
[grid]
"flow.controller" = ["cubic", "vegas"]
"path.rtt" = ["20 ms", "60 ms"]
"""


def grid(folder: Path, text: str = GRID) -> Path:
    file = folder / "grid.toml"
    file.write_text(text)
    return file


def swept(file: Path, out: Path, *, jobs: int | None = None, ray: str | None = None) -> tuple[Path, int]:
    """As the command does it, in processes of their own."""
    todo = grids.tasks(grids.read(file), str(file), file.parent)
    return grids.fill(todo, out, "sweep", jobs=jobs, ray=ray, quiet=True)


def rows(table: Path) -> list[dict[str, Any]]:
    return pq.read_table(table).to_pylist()  # type: ignore[no-any-return]


def test_all_runs_are_in_the_table_in_their_order(tmp_path: Path) -> None:
    file = grid(tmp_path)
    table, made = swept(file, tmp_path / "two", jobs=2)
    assert made == 12
    found = rows(table)
    assert [r["task"] for r in found] == list(range(12))
    assert [r["seed"] for r in found[:4]] == [1, 2, 3, 1]
    assert found[0]["flow.controller"] == "cubic"
    assert found[-1]["path.rtt"] == "60 ms"
    assert all(r["goodput_mbps"] > 5 for r in found)
    one, _ = swept(file, tmp_path / "one", jobs=1)
    assert rows(one) == found
    # What is there is not run again; a changed grid starts anew.
    _, again = swept(file, tmp_path / "one", jobs=1)
    assert again == 0
    _, other = swept(grid(tmp_path, GRID.replace("seeds = 3", "seeds = 1")), tmp_path / "one")
    assert other == 4


def test_a_killed_sweep_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = grid(tmp_path)
    calls = 0
    real = grids.work

    def dies(task: dict[str, Any]) -> list[dict[str, Any]]:
        nonlocal calls
        calls += 1
        if calls == 6:
            raise KeyboardInterrupt
        return real(task)

    monkeypatch.setattr(grids, "work", dies)
    with pytest.raises(KeyboardInterrupt):
        swept(file, tmp_path / "out", jobs=1)
    monkeypatch.setattr(grids, "work", real)
    table, made = swept(file, tmp_path / "out", jobs=1)
    assert made == 7
    assert [r["task"] for r in rows(table)] == list(range(12))


def test_two_sweeps_in_one_folder_do_not_mix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = grid(tmp_path), tmp_path / "out"
    with lock.alone(out):
        with pytest.raises(lock.BusyError, match="another process"):
            swept(file, out, jobs=1)
        assert grids.main([str(file), "--out", str(out), "--quiet"]) == 2
        assert "another process writes its results there" in capsys.readouterr().err
        assert [path.name for path in out.iterdir()] == [".lock"]
    table, made = swept(file, out, jobs=2)
    assert made == 12
    assert [r["task"] for r in rows(table)] == list(range(12))


def test_wrong_grids_are_told(tmp_path: Path) -> None:
    for text, key in [
        ("nonsense = [", "file"),
        ("seed = 1", "scenario"),
        ('scenario = "lte-demo"\nsweep = 1', "sweep"),
        ('scenario = "lte-demo"\nseeds = 0', "seeds"),
        ('scenario = "lte-demo"\n[grid]\n"path.rtt" = 3', "path.rtt"),
    ]:
        with pytest.raises(slackwater.GridError, match=key):
            slackwater.sweep(grid(tmp_path, text))
    assert grids.main([str(tmp_path / "none.toml")]) == 2


def test_a_dict_is_swept_in_this_process_and_a_folder_keeps_it(tmp_path: Path) -> None:
    file = grid(tmp_path)
    table, _ = swept(file, tmp_path / "processes", jobs=1)
    shape = grids.read(file)
    found = slackwater.sweep(shape, jobs=2)
    assert (found.made, found.path, len(found)) == (12, None, 12)
    assert found.to_arrow().to_pylist() == rows(table)
    assert found.to_polars().height == found.to_pandas().shape[0] == 12

    kept = slackwater.sweep(file, out=tmp_path / "kept")
    assert kept.path == tmp_path / "kept" / "table.parquet"
    again = slackwater.sweep(file, out=tmp_path / "kept")
    assert (kept.made, again.made) == (12, 0)
    assert again.to_arrow() == kept.to_arrow() == found.to_arrow()
    with pytest.raises(slackwater.GridError, match="grid: seeds: found 0"):
        slackwater.sweep({**shape, "seeds": 0})


def slow(task: dict[str, Any]) -> int:
    """Leave a mark, take a while, and give back the task's number."""
    import os

    with (Path(task["folder"]) / f"{task['number']}.{os.getpid()}.{time.monotonic_ns()}").open("w"):
        pass
    time.sleep(0.4)
    return int(task["number"])


def dies_once(task: dict[str, Any]) -> int:
    """Die like a worker that the kernel killed, at the first try of task 2."""
    import os
    import signal

    mark = Path(task["folder"]) / "died"
    if task["number"] == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return int(task["number"])


def test_a_dead_process_is_replaced(tmp_path: Path) -> None:
    tasks = [{"number": n, "folder": str(tmp_path)} for n in range(6)]
    found = sorted(cluster.run(dies_once, tasks, jobs=2))
    assert found == [(n, n) for n in range(6)]


def test_a_ray_cluster_loses_a_worker_and_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install --group cluster")
    from ray.cluster_utils import Cluster

    # Ray writes a token below the home directory, and asks its makers for nothing when told so.
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    # Where workers find this module.
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    try:
        cluster_of_two = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    except Exception as e:  # Ray raises nothing narrower.
        # Ray gives its own processes 30 s, which no setting changes. Twenty clusters that start at once need longer.
        if "timed out during startup" not in str(e):
            raise
        pytest.skip("ray did not start within its own 30 s")
    # Typed where ray is installed and not where it is not.
    stop: Any = cluster_of_two.shutdown
    try:
        nodes = [cluster_of_two.add_node(num_cpus=1) for _ in range(2)]
        ray.init(address=cluster_of_two.address, log_to_driver=False)
        cluster_of_two.wait_for_nodes()
        tasks = [{"number": n, "folder": str(tmp_path)} for n in range(10)]

        def tries() -> int:
            return len(list(tmp_path.glob("*.*.*")))

        def kill() -> None:
            deadline = time.monotonic() + 60
            while tries() < 4 and time.monotonic() < deadline:
                time.sleep(0.02)
            cluster_of_two.remove_node(nodes[1], allow_graceful=False)

        killer = threading.Thread(target=kill)
        killer.start()
        found = list(cluster.run(slow, tasks, ray="auto"))
        killer.join()
        assert sorted(found) == [(n, n) for n in range(10)]
        # The table is the same as without a cluster, and each row is there once.
        table, made = swept(grid(tmp_path), tmp_path / "ray", ray="auto")
        assert made == 12
        local, _ = swept(grid(tmp_path), tmp_path / "local", jobs=1)
        assert rows(table) == rows(local)
    finally:
        ray.shutdown()
        stop()
