"""The package brings the command, and its messages name what pip can find."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

import slackwater
from slackwater import extras

ROOT = Path(__file__).parents[2]


def command(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-P", "-m", "slackwater", *words]
    return subprocess.run(line, capture_output=True, text=True, cwd=cwd, check=False)


def test_the_script_and_the_module_are_the_command() -> None:
    script = Path(sysconfig.get_path("scripts")) / "slackwater"
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"slackwater {slackwater.__version__}\n"
    assert command("--version").stdout == done.stdout


def test_it_runs_as_the_binary_does(tmp_path: Path) -> None:
    done = command("run", "lte-demo", "--set", "duration=2 s", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    direct = slackwater.run("lte-demo", changes={"duration": "2 s"})
    assert json.loads(done.stdout)["goodput_mbps"] == direct.summary["goodput_mbps"]
    made = json.loads((tmp_path / "runs/lte-demo/results.json").read_text())
    assert made["command"].startswith("slackwater run lte-demo --set ")


def test_a_wrong_word_ends_as_it_does_elsewhere() -> None:
    done = command("run", "lte-dmo")
    assert done.returncode == 2
    assert 'built-in "lte-demo"' in done.stderr


def test_the_package_s_own_commands_take_this_interpreter() -> None:
    done = command("sweep", "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: slackwater sweep")


def test_each_extra_needs_what_the_project_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["optional-dependencies"]
    assert {name: tuple(wanted[name]) for name in extras.NEEDS} == extras.NEEDS


def test_a_missing_package_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> object:
        return None if name == "cmaes" else object()

    monkeypatch.setattr(importlib.util, "find_spec", find)
    with pytest.raises(ModuleNotFoundError, match=r"^cmaes not installed: python -m pip install 'cmaes"):
        extras.check("train")


def test_no_message_names_a_package_of_ours_that_no_index_has() -> None:
    sources = [*(ROOT / "python/slackwater").rglob("*.py"), *(ROOT / "crates").glob("*/src/**/*.rs")]
    wrong = [f for f in sources if re.search(r"pip install '?slackwater", f.read_text())]
    assert wrong == []
