"""Whether tests fail by load alone: each test program in many copies at once, as docs/reliability.md has it.

Builds the tests as `cargo test --workspace` does. Then it starts COPIES of one test program at the same moment, waits
for all, and goes on with the next. So each copy is one run of the program beside a load of the others. All share the
machine's ports, interfaces and folders. The Python tests come last. It prints a line for each program with the tests
that failed, keeps the output of failed copies, and ends with 1 where there are any.

    sudo python3 benches/steady.py --copies 20
    python3 benches/steady.py --copies 20 cli/emulate cli/command
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from programs import ROOT, Program, rust_programs

PYTHON = ROOT / ".venv/bin/python"


def failed_tests(output: str) -> list[str]:
    """The names of failed tests in what libtest or pytest printed."""
    rust = re.findall(r"^test (\S+) \.\.\. FAILED", output, flags=re.MULTILINE)
    python = re.findall(r"^(?:FAILED|ERROR) (\S+)", output, flags=re.MULTILINE)
    return sorted(set(rust + python))


def run_copies(program: Program, copies: int, kept: Path) -> tuple[list[str], float, float]:
    """Failed copies, each by what failed in it; seconds; the load of the last minute at the end."""
    started = time.monotonic()
    running = []
    for copy in range(copies):
        path = kept / f"{program.name.replace('/', '-')}-{copy}.log"
        with path.open("wb") as output:
            process = subprocess.Popen(
                program.command,
                cwd=program.folder,
                env=program.environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        running.append((path, process))

    failed = []
    for path, process in running:
        if process.wait() == 0:
            path.unlink()
        else:
            names = failed_tests(path.read_text(errors="replace"))
            failed.append(", ".join(names) or f"ended with {process.returncode}")

    return failed, time.monotonic() - started, os.getloadavg()[0]


def main() -> int:
    """Run every program and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--copies", type=int, default=20, help="runs of each program at once (20)")
    parser.add_argument("--keep", type=Path, help="where the output of failed copies stays (a new folder)")
    parser.add_argument(
        "--skip", action="append", default=[], metavar="NAME", help="leave a program out; may be given again"
    )
    parser.add_argument("names", nargs="*", help="these programs alone, as the table has them")
    given = parser.parse_args()

    programs = rust_programs()
    if PYTHON.exists():
        command = [str(PYTHON), "-m", "pytest", "-q", "-p", "no:cacheprovider", "python/tests"]
        programs.append(Program("python", command, ROOT))
    else:
        print("python tests skipped: no .venv (`make python`)", file=sys.stderr)
    if given.names:
        unknown = set(given.names) - {program.name for program in programs}
        if unknown:
            names = ", ".join(sorted(program.name for program in programs))
            parser.error(f"no program {', '.join(sorted(unknown))}; there are {names}")
        programs = [program for program in programs if program.name in given.names]
    programs = [program for program in programs if program.name not in given.skip]

    kept = given.keep or Path(tempfile.mkdtemp(prefix="steady-"))
    kept.mkdir(parents=True, exist_ok=True)
    print("| program | runs | failed | seconds | load | what failed |\n|---|---|---|---|---|---|", flush=True)
    runs = failures = 0
    for program in programs:
        failed, seconds, load = run_copies(program, given.copies, kept)
        runs += given.copies
        failures += len(failed)
        what = "; ".join(f"{failed.count(each)} of {each}" for each in sorted(set(failed)))
        print(
            f"| `{program.name}` | {given.copies} | {len(failed)} | {seconds:.0f} | {load:.0f} | {what} |", flush=True
        )

    where = f"; their output is in {kept}" if failures else ""
    print(f"\n{runs} runs of {len(programs)} programs, {failures} failed{where}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
