"""Network and process namespaces for a bench that counts what is left: nobody else's are in them."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

INSIDE = "SLACKWATER_BENCH_INSIDE"


def parser(about: str | None) -> argparse.ArgumentParser:
    """The options that all benches have; `about` is their description."""
    options = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--binary", default="target/release/slackwater")
    options.add_argument("--seed", type=int, default=1)
    return options


def enter() -> None:
    """Goes on in namespaces of its own, with a loopback; outside of them this ends the program with its exit code."""
    if INSIDE in os.environ:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return
    mapped = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    apart = ["unshare", *mapped, "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    done = subprocess.run([*apart, sys.executable, *sys.argv], env={**os.environ, INSIDE: "1"}, check=False)
    sys.exit(done.returncode)


def interfaces() -> int:
    """Devices of this network namespace but the loopback."""
    names = [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]]
    return sum(name != "lo" for name in names)


def table(titles: list[str], rows: list[list[object]]) -> str:
    """Rows as a table of the documentation."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
