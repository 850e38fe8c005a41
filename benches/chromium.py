"""Chromium as a sender of video: how it is started, which controller it takes, and what it counts.

For benches in which it sends to `slackwater rtc receive`, whose page encodes a canvas (web/src/rtc).
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import time
import urllib.request
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

# Reports of RFC 8888 in offers, without which no marks come back, and what chooses Chromium's controller (GCC else).
REPORTS = "WebRTC-RFC8888CongestionControlFeedback/Enabled,offer:true/"
TRIALS = {"gcc": REPORTS, "scream": REPORTS + "WebRTC-Bwe-ScreamV2/Enabled/"}
NAMES = {"gcc": "GCC of Chromium", "scream": "SCReAMv2 of Chromium"}
PATIENCE = 40  # seconds until connections stand
VOID = 75  # exit status of an emulation whose events came too late
# A line of the page's counters (--enable-logging): process, thread, month, day and time of day, then what it prints.
COUNTERS = re.compile(r'^\[\d+:\d+:(\d{4}/\d{6}\.\d{6}):.*?"slackwater (\{.*\})"', re.MULTILINE)

Counters = dict[str, float | str]


class RunError(Exception):
    """A run without a result: what was found and expected."""


def binary() -> str | None:
    """The browser, where there is one."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium")


def start(program: str, folder: Path, controller: str, page: str) -> subprocess.Popen[bytes]:
    """Opens `page` in a browser without a window. Its profile and its log, `chromium.log`, are in `folder`."""
    words = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    words += [f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr", "--remote-debugging-port=0"]
    words += [f"--force-fieldtrials={TRIALS[controller]}", page]
    with (folder / "chromium.log").open("wb") as out:
        return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=out)


def port(folder: Path) -> int | None:
    """Where the started browser takes commands (DevTools' HTTP), once it does."""
    file = folder / "profile/DevToolsActivePort"
    return int(file.read_text().split()[0]) if file.exists() and file.read_text() else None


def open_page(folder: Path, page: str) -> None:
    """Opens `page` in the browser that was started, and now has nothing else to start."""
    request = urllib.request.Request(f"http://127.0.0.1:{port(folder)}/json/new?{page}", method="PUT")
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        answer.read()


def counted(folder: Path) -> list[tuple[float, Counters]]:
    """What the page printed, once a second: seconds since 1970, and the browser's counters."""
    text = (folder / "chromium.log").read_text(errors="replace")
    # The log leaves out the year.
    year = datetime.now().astimezone().year
    found = []
    for when, counters in COUNTERS.findall(text):
        at = datetime.strptime(f"{year}{when}", "%Y%m%d/%H%M%S.%f").astimezone()
        found.append((at.timestamp(), json.loads(counters)))
    return found


def seconds_of(path: Path) -> list[dict[str, float]]:
    """What an end of ours counted, a line a second."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{") and line.endswith("}")]


def last(lines: list[dict[str, float]]) -> dict[str, float]:
    """The last line; empty where there is none."""
    return lines[-1] if lines else {}


def wait(what: str, emulator: subprocess.Popen[bytes], found: Callable[[], object], said: Callable[[], str]) -> None:
    """Waits until `found`. Where the emulator ends first, or too late, it raises `RunError` with what was `said`."""
    for _ in range(PATIENCE * 10):
        if found():
            return
        if emulator.poll() is not None:
            break
        time.sleep(0.1)
    raise RunError(f"found no {what}, expected it within {PATIENCE} s: {said()}")


def end(*processes: subprocess.Popen[bytes] | None) -> None:
    """Ends those that still run."""
    for process in processes:
        if process is not None and process.poll() is None:
            process.terminate()
            process.wait(timeout=20)


def spread(values: list[float], digits: int) -> str:
    """Mean, and the range where there are several."""
    text = f"{statistics.fmean(values):.{digits}f}"
    return text if len(values) == 1 else f"{text} ({min(values):.{digits}f} to {max(values):.{digits}f})"
