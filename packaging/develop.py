"""Puts the package of this checkout into the environment of the interpreter that runs this: module and command.

The package is used where it lies, as `pip install --editable` would have it.
"""

import sys
import sysconfig
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "python"
SCRIPT = f"""#!{sys.executable}
from slackwater.__main__ import main

main()
"""


def main() -> None:
    """Write a path file and the script."""
    if sys.prefix == sys.base_prefix:
        sys.exit("error: found no virtual environment, expected `make python` to have made one")
    (Path(sysconfig.get_path("purelib")) / "slackwater.pth").write_text(f"{PACKAGE}\n")
    command = Path(sysconfig.get_path("scripts")) / "slackwater"
    command.write_text(SCRIPT)
    command.chmod(0o755)


if __name__ == "__main__":
    main()
