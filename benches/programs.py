"""The test programs of the workspace: how they are found and started."""

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Program:
    """A command that runs tests, and where it runs."""

    name: str
    command: list[str]
    folder: Path
    variables: dict[str, str] = field(default_factory=dict)
    """What its environment has beside ours."""

    def environment(self) -> dict[str, str]:
        """All variables that it sees."""
        return os.environ | self.variables


def cargo() -> str:
    """The program that builds: `CARGO` where it is set."""
    return os.environ.get("CARGO") or "cargo"


def rust_programs() -> list[Program]:
    """The test programs of the workspace, built where they are not."""
    built = subprocess.run(
        [cargo(), "test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    programs = []

    for line in built.stdout.splitlines():
        artifact = json.loads(line)
        if not (artifact.get("executable") and artifact["profile"]["test"]):
            continue
        target = artifact["target"]
        folder = Path(artifact["manifest_path"]).parent
        name = f"{folder.name}/{target['name'] if 'test' in target['kind'] else 'unit'}"
        # As cargo sets it; and a snapshot that differs is not written beside its source.
        variables = {"CARGO_MANIFEST_DIR": str(folder), "INSTA_WORKSPACE_ROOT": str(ROOT)}
        variables["INSTA_UPDATE"] = os.environ.get("INSTA_UPDATE", "no")
        programs.append(Program(name, [artifact["executable"]], folder, variables))

    return programs
