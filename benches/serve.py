"""What `slackwater serve` costs with thousands of runs below it and many pages open.

Runs one small scenario, and lays it down again and again with other seeds, a hundred in a folder. Then it starts
`serve` on them and measures the first answer of the list of runs, as one page gets it and as all pages get it at once.
Each page then listens to the server's events, as the real one does. The bench reads the processor time of the server
while nothing changes, with one page and with all, and once more while a run comes every ten seconds, upon which
every page loads the list again. Pages are sockets of this program: what a browser does with the answer is not in it.

    python3 benches/serve.py --binary target/release/slackwater --runs 5000 --tabs 20
"""

import argparse
import http.client
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import apart

# The folder of a study holds so many runs.
STUDY = 100
# A run comes so often while things change, s.
COMES_S = 10.0
SEED = '"seed": 1,'


def lay(made: Path, folder: Path, number: int) -> None:
    """The run in `made` once more, with another seed. Files but the summary are the same ones by hard links."""
    run = folder / f"study-{number // STUDY}" / f"seed-{number + 1}"
    run.mkdir(parents=True)
    for file in made.iterdir():
        if file.name == "summary.json":
            text = file.read_text()
            assert SEED in text, f"{file}: found no {SEED}"
            (run / file.name).write_text(text.replace(SEED, f'"seed": {number + 1},', 1))
        else:
            (run / file.name).hardlink_to(file)


@dataclass
class Server:
    """A server that runs."""

    process: subprocess.Popen[str]
    host: str

    def cpu_s(self) -> float:
        """Processor time so far, user and system, of all its threads (proc(5), /proc/PID/stat, fields 14 and 15)."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mb(self, row: str) -> float:
        """A row of /proc/PID/status, such as VmRSS and VmHWM (its peak), MB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(f"{row}:")) * 1024 / 1e6

    def get(self, path: str) -> tuple[float, int]:
        """Seconds and octets of an answer."""
        begun = time.monotonic()
        link = http.client.HTTPConnection(self.host, timeout=120)
        link.request("GET", path)
        answer = link.getresponse()
        octets = len(answer.read())
        link.close()
        assert answer.status == 200, f"{path}: {answer.status}"
        return time.monotonic() - begun, octets


class Tab(threading.Thread):
    """A page that is open: it loads the list, listens, and loads it again when the server says that it changed."""

    def __init__(self, server: Server) -> None:
        """It begins with `start`."""
        super().__init__(daemon=True)
        self.server = server
        self.first_s: float | None = None
        self.again_s: list[float] = []
        self.events = 0
        self.open = threading.Event()
        self.error: Exception | None = None

    def load(self) -> float:
        """Seconds until the page has its lists."""
        return self.server.get("/api/shelf")[0] + self.server.get("/api/arenas")[0]

    def run(self) -> None:
        """As long as the server answers."""
        try:
            for path in ["/", "/page.js", "/page.css"]:
                self.server.get(path)
            self.first_s = self.load()
            link = http.client.HTTPConnection(self.server.host, timeout=120)
            link.request("GET", "/api/events", headers={"Accept": "text/event-stream"})
            answer = link.getresponse()
            self.open.set()
            while line := answer.readline():
                if line.startswith(b"event: live"):
                    self.events += 1
                elif line.startswith(b"event: shelf"):
                    self.again_s.append(self.load())
        except Exception as e:  # it is raised where the bench looks
            self.error = e
            self.open.set()


def start(binary: str, folder: Path) -> Server:
    """A server on a free port."""
    words = [binary, "serve", str(folder), "--port", "0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    host = process.stdout.readline().strip().removeprefix("http://").rstrip("/")
    assert host, "the server ended"
    return Server(process, host)


def opened(server: Server, count: int) -> list[Tab]:
    """So many pages, opened at once, each with its list read."""
    tabs = [Tab(server) for _ in range(count)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.open.wait()
        if tab.error is not None:
            raise tab.error
    return tabs


def core(server: Server, seconds: float) -> float:
    """Percent of one core over so many seconds."""
    before, begun = server.cpu_s(), time.monotonic()
    time.sleep(seconds)
    return 100 * (server.cpu_s() - before) / (time.monotonic() - begun)


def measure(binary: str, runs: int, tabs: int, seconds: float) -> bool:
    """Prints the table; true where every page was told of every run that came."""
    with tempfile.TemporaryDirectory() as work:
        made, folder = Path(work) / "made", Path(work) / "runs"
        words = [binary, "run", "lte-demo", "--set", "duration=1 s", "--out", str(made)]
        subprocess.run(words, check=True, capture_output=True)
        for number in range(runs):
            lay(made, folder, number)
        server = start(binary, folder)
        try:
            rows: list[list[object]] = [["memory before the first page (MB)", f"{server.memory_mb('VmRSS'):.0f}"]]
            alone, octets = server.get("/api/shelf")
            rows.append(["first list, one page (s)", f"{alone:.2f}"])
            rows.append(["its length (MB)", f"{octets / 1e6:.2f}"])
            rows.append(["second list (s)", f"{server.get('/api/shelf')[0]:.2f}"])
            pages = opened(server, 1)
            rows.append(["processor, 1 idle page (% of a core)", f"{core(server, seconds):.1f}"])
            # A server of its own: nothing was read before all pages come at once.
            server.process.kill()
            server.process.wait()

            server = start(binary, folder)
            pages = opened(server, tabs)
            first = [tab.first_s for tab in pages if tab.first_s is not None]
            rows.append([f"first lists, {tabs} pages at once, median (s)", f"{statistics.median(first):.2f}"])
            rows.append(["the last of them (s)", f"{max(first):.2f}"])
            time.sleep(3)
            heard = sum(tab.events for tab in pages)
            idle = core(server, seconds)
            heard = sum(tab.events for tab in pages) - heard
            rows.append([f"processor, {tabs} idle pages (% of a core)", f"{idle:.1f}"])
            rows.append(["the same for each page", f"{idle / tabs:.2f}"])
            rows.append(["events of what runs, for each page and second", f"{heard / tabs / seconds:.2f}"])
            rows.append(["memory (MB)", f"{server.memory_mb('VmRSS'):.0f}"])
            rows.append(["memory at most (MB)", f"{server.memory_mb('VmHWM'):.0f}"])

            before, begun, came = server.cpu_s(), time.monotonic(), 0
            while time.monotonic() - begun < seconds:
                lay(made, folder, runs + came)
                came += 1
                time.sleep(COMES_S)
            share = 100 * (server.cpu_s() - before) / (time.monotonic() - begun)
            again = [s for tab in pages for s in tab.again_s]
            rows.append([f"processor, a run each {COMES_S:.0f} s (% of a core)", f"{share:.1f}"])
            rows.append(["lists again, median (s)", f"{statistics.median(again):.2f}" if again else "none"])
            rows.append(["the last of them (s)", f"{max(again):.2f}" if again else "none"])
            rows.append(["memory at most (MB)", f"{server.memory_mb('VmHWM'):.0f}"])
            print(f"{runs} runs, {tabs} pages, load {os.getloadavg()[0]:.1f}")
            print(apart.table(["measured", "value"], rows))
            told = all(tab.error is None and len(tab.again_s) >= came for tab in pages)
            if not told:
                print(f"{came} runs came; the pages loaded again {sorted(len(tab.again_s) for tab in pages)} times")
            return told
        finally:
            server.process.kill()
            server.process.wait()
            shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Measures with the options that were given."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--binary", default="target/release/slackwater")
    options.add_argument("--runs", type=int, default=5000)
    options.add_argument("--tabs", type=int, default=20)
    options.add_argument("--seconds", type=float, default=30, help="of each look at the processor time (30)")
    args = options.parse_args()
    if not measure(str(Path(args.binary).resolve()), args.runs, args.tabs, args.seconds):
        sys.exit(1)


if __name__ == "__main__":
    main()
