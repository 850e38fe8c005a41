"""All Rust tests: what `cargo test --workspace` runs, with two test programs at a time (docs/design/0124).

`cargo test` starts a program when the one before it has ended. Tests of real packets wait for clocks most of their
time, so another program computes beside them. It prints a line for each program with its tests and seconds, the whole
output of those that fail, and ends with 1 where there are any.

    python3 benches/tests.py
"""

import os
import re
import subprocess
import sys
import threading
import time

from programs import ROOT, Program, cargo, rust_programs

AT_ONCE = 2
"""Programs that run at the same time. Each has a thread for each processor."""

FIRST = ["cli/emulate", "papers/ledger", "cli/command", "sim/end_to_end", "lab/quic", "lab/outcomes"]
"""The longest, by which the others are not awaited at the end; the first waits, the second computes."""

WAITS = {"cli/emulate"}
"""Programs whose tests wait for clocks: they have two threads for each processor."""


class Runner:
    """Takes programs from a list, each once, and keeps what failed."""

    def __init__(self, programs: list[Program]) -> None:
        """The longest of `programs` come first."""
        order = {name: place for place, name in enumerate(FIRST)}
        self.waiting = sorted(programs, key=lambda program: order.get(program.name, len(order)))
        self.lock = threading.Lock()
        self.tests = 0
        self.failed: list[str] = []

    def lane(self) -> None:
        """Runs one program after the other until none is left."""
        while True:
            with self.lock:
                if not self.waiting:
                    return
                program = self.waiting.pop(0)
            self.run(program)

    def run(self, program: Program) -> None:
        """Runs it, and prints what came of it."""
        environment = program.environment()
        if program.name in WAITS:
            environment.setdefault("RUST_TEST_THREADS", str(2 * (os.cpu_count() or 1)))
        started = time.monotonic()
        done = subprocess.run(
            program.command,
            cwd=program.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        seconds = time.monotonic() - started
        output = done.stdout.decode(errors="replace")
        passed = sum(int(count) for count in re.findall(r"^test result: .*?(\d+) passed", output, re.MULTILINE))

        with self.lock:
            self.tests += passed
            if done.returncode:
                self.failed.append(program.name)
                print(output)
            result = f"failed (status {done.returncode})" if done.returncode else "ok"
            print(f"{program.name}: {result}, {passed} tests passed, {seconds:.1f} s", flush=True)


def main() -> int:
    """Build all, run all."""
    programs = rust_programs()
    # rustdoc makes and runs the examples in documentation.
    programs.append(Program("doc", [cargo(), "test", "--quiet", "--workspace", "--doc"], ROOT))
    started = time.monotonic()
    runner = Runner(programs)
    lanes = [threading.Thread(target=runner.lane) for _ in range(AT_ONCE)]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()

    seconds = time.monotonic() - started
    print(f"{runner.tests} tests of {len(programs)} programs passed, {seconds:.0f} s", flush=True)
    if runner.failed:
        print(f"failed: {', '.join(sorted(runner.failed))}", file=sys.stderr)
    return 1 if runner.failed else 0


if __name__ == "__main__":
    sys.exit(main())
