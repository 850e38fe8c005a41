import subprocess
import sys
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs"
TEMPLATE = PAGES.parent / "crates" / "cli" / "templates" / "controller" / "controller.py"


def programs() -> list[tuple[str, str]]:
    page = PAGES / "tutorials" / "python.md"
    blocks = page.read_text().split("\n```python\n")[1:] if page.is_file() else []
    found = [(f"tutorial {i}", block.split("\n```")[0]) for i, block in enumerate(blocks)]
    if TEMPLATE.is_file():
        found.append(("new controller --python", TEMPLATE.read_text().replace("NAME", "mine")))
    return found


@pytest.mark.parametrize(("name", "program"), programs(), ids=lambda value: value[:24])
def test_programs_of_the_pages_pass_strict_mypy_and_run(name: str, program: str, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    file = tmp_path / "program.py"
    file.write_text(program)
    config = Path(__file__).parents[2] / "pyproject.toml"
    # The cache of the linter's run: without it the stubs of all libraries are read once more.
    cache = config.parent / ".mypy_cache"
    command = [sys.executable, "-m", "mypy", "--strict", f"--config-file={config}", f"--cache-dir={cache}", str(file)]
    checked = subprocess.run(
        command,
        cwd=tmp_path,
        env={"MYPYPATH": str(config.parent / "python"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, f"{name}: {checked.stdout}{checked.stderr}"
    ran = subprocess.run([sys.executable, str(file)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{name}: {ran.stderr}"
    assert ran.stdout.strip()
