"""The `slackwater` command: `python -m slackwater` and the script that the package installs."""

import signal
import sys
from typing import NoReturn

from slackwater._slackwater import command


def main() -> NoReturn:
    """Run the command with this process's arguments, and end as it ends."""
    # The command has its own way with Ctrl-C; where it has none the process ends, as any other does.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(command(sys.executable, sys.argv[1:]))


if __name__ == "__main__":
    main()
