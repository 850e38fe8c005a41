"""The linter of the documentation's English (docs/style)."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def checker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_english", ROOT / "docs/style/check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_page_may_have_as_many_findings_as_its_baseline() -> None:
    check = checker()
    found = {"a.md": [(3, "long")], "b.md": [(1, "long"), (2, "said")], "c.md": []}
    assert check.judge(found, {"a.md": 1, "b.md": 2}) == []
    lines = check.judge(found, {"b.md": 1})
    assert lines[0] == "a.md: 1 findings, 0 allowed"
    assert "  b.md:2: said" in lines


def test_a_baseline_falls_and_never_rises() -> None:
    check = checker()
    found = {"a.md": [(3, "long")], "b.md": [(1, "long"), (2, "said")], "c.md": []}
    assert check.lowered(found, {"a.md": 5, "b.md": 1, "c.md": 4, "gone.md": 2}) == {"a.md": 1, "b.md": 1}


LONG = "one two three four five six seven eight nine ten eleven twelve " * 2
TEXTS = {
    "short": (f"{LONG}and.\n", 0),
    "long": (f"{LONG}and more.\n", 1),
    "two sentences": (f"{LONG}and. {LONG}and.\n", 0),
    "code counts as no word": (f"{LONG}and `one two three`.\n", 0),
    "cells are no sentences": (f"| a |\n|---|\n| {LONG}and more |\n", 0),
    "a list item is one": (f"- {LONG}and more.\n", 1),
    "a private word": ("The cell tells the sender its rate.\n", 1),
    "a private word in a cell": ("| a |\n|---|\n| 200 ns asked |\n", 1),
    "the same in code": ("`tells`\n\n```text\nasked\n```\n", 0),
    "what is generated": (f"<!-- claims -->\n{LONG}and more, asked.\n<!-- /claims -->\n", 0),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_rules_find_what_they_name(name: str, tmp_path: Path) -> None:
    vale = shutil.which("vale") or shutil.which(ROOT / "target/ci-tools/bin/vale")
    if vale is None:
        pytest.skip("vale is not installed (`make vale`)")
    text, count = TEXTS[name]
    page = tmp_path / "page.md"
    page.write_text(text)
    command = [vale, "--config", str(ROOT / "docs/style/vale.ini"), "--output", "line", str(page)]
    out = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert len(out.splitlines()) == count, out
