"""What is left of a command that a signal ends at any moment: nothing, as docs/reliability.md has it.

Starts each of `slackwater emulate`, `upf`, `gnb`, `rtc`, `tcp` and `quic serve`, some of them in several forms, and
sends it a signal at a random moment of its start or run. Then it counts what is there. `upf`, `gnb` and `quic serve`
are tried alone, and again with peers that keep them busy: then the moment comes after the first answer. Everything
happens in network and process namespaces of its own, so that nobody else's are counted. `tcp` needs a build with BPF
and is left out, with a word, where there is none. Needs root or user namespaces, `unshare` (util-linux) and iproute2.
Ends with 1 where a signal was lost, a peer had no answer, or something was left.

    sudo python3 benches/signals.py --binary target/release/slackwater --signals 500
    sudo python3 benches/signals.py --signals 600 --only 'with peers' --kinds SIGINT SIGTERM
"""

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import apart
import peers

# A signal that did not end the command by then is lost.
PATIENCE_S = 30.0
SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL]
# In the background is what ignores the signals that would end it.
STUBBORN = "(trap '' INT TERM HUP QUIT; sleep 600) & sleep 600"
SERVER = "exec python3 -c \"import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(('', 7000)); s.recv(1)\""
UPF_FILE = """
[n3]
address = "127.0.0.1"
[n6]
address = "192.0.2.1"
[[session]]
ue = "10.60.0.1"
teid = 17
gnb = "127.0.0.2"
gnb_teid = 34
qfi = 9
"""
# Its sessions come from the control plane.
CONTROLLED_FILE = """
[n3]
address = "127.0.0.1"
[n4]
address = "127.0.0.1"
state = "{folder}/upf.state"
[n6]
address = "192.0.2.1"
"""
GNB_FILE = """
cell = "lte"
[n3]
address = ["127.0.0.2"]
[reports]
profile = "off"
[[ue]]
name = "alice"
address = ["10.60.0.1"]
uplink = { address = "127.0.0.1", teid = 17 }
downlink = 34
qfi = [9]
"""


@dataclass
class Form:
    """A way to start a command."""

    command: str
    words: list[str]
    # Ends by a signal as by itself, with 0: a service that was stopped has not failed.
    service: bool = False
    # Reads its file again at SIGHUP.
    reloads: bool = False
    # Who keeps it busy; the signal waits until that one was answered.
    peer: Callable[[], peers.Peer] | None = None

    def ends(self, number: signal.Signals) -> bool:
        """True where the signal is to end it."""
        return number is not signal.SIGHUP or not self.reloads

    def codes(self, number: signal.Signals) -> set[int]:
        """Exit codes that tell of the signal."""
        # By its own hand with 128 and the number, or, before it could take signals, by the kernel.
        return {128 + number, -number} | ({0} if self.service and number is not signal.SIGKILL else set())


def forms(binary: str, folder: str) -> list[Form]:
    """All of them; files that they read lie in `folder`."""
    upf, gnb = Path(folder) / "upf.toml", Path(folder) / "gnb.toml"
    upf.write_text(UPF_FILE)
    gnb.write_text(GNB_FILE)
    controlled = Path(folder) / "controlled.toml"
    controlled.write_text(CONTROLLED_FILE.format(folder=folder))
    quiet = ["--quiet", "--no-files"]
    shell = ["--", "sh", "-c", STUBBORN]
    inner = ["--", binary, "emulate", "--rate", "12", *quiet, *shell]
    emulations = [
        ["--rate", "12", *quiet, *shell],
        ["--cell", "lte", "--ues", "2", "--isolated", *quiet, *shell],
        # A server that uses UDP alone.
        ["--rate", "12", "--server", SERVER, *quiet, *shell],
        # Nested.
        ["--rate", "12", *quiet, *inner],
        # With files.
        ["--cell", "nr", "--edge", "vaqm", "--out", f"{folder}/run", *shell],
    ]
    return [
        *(Form("emulate", ["emulate", *words]) for words in emulations),
        # Control plane, user plane function, base station and UE, each in its namespace.
        Form("emulate --core", ["emulate", "--cell", "lte", "--core", "--edge", "cecc", *quiet, *shell]),
        Form("upf", ["upf", "--config", str(upf)], service=True, reloads=True),
        Form("gnb", ["gnb", str(gnb), *quiet]),
        Form("gnb", ["gnb", str(gnb), *quiet, *shell]),
        Form("rtc", ["rtc", "send"]),
        Form("rtc", ["rtc", "receive"]),
        # Both ends of a call.
        Form("rtc", ["rtc", "bench", "--seconds", "60"]),
        Form("tcp", ["tcp", "xrc", *shell]),
        Form("quic serve", ["quic", "serve", folder], service=True),
        Form(
            "upf with peers",
            ["upf", "--config", str(controlled)],
            service=True,
            reloads=True,
            peer=peers.Network,
        ),
        Form("gnb with peers", ["gnb", str(gnb), *quiet], peer=peers.Function),
        Form("quic serve with peers", ["quic", "serve", folder], service=True, peer=lambda: peers.Downloads(binary)),
    ]


@dataclass
class Row:
    """What became of the signals of one kind to one command."""

    sent: int = 0
    ended: int = 0
    told: int = 0
    # Of those with peers: signals that came without an answer before.
    silent: int = 0
    processes: int = 0
    spaces: int = 0
    interfaces: int = 0
    gone_ms: list[float] = field(default_factory=list)

    def good(self) -> bool:
        """True where no signal was lost and nothing was left."""
        left = self.processes or self.spaces or self.interfaces
        return self.sent == self.ended == self.told and not (self.silent or left)


def processes() -> list[int]:
    """Those of this process namespace, but for this one."""
    names = (path.name for path in Path("/proc").iterdir())
    return [int(name) for name in names if name.isdigit() and int(name) != os.getpid()]


def spaces() -> set[str]:
    """Network namespaces of all processes here."""
    found = set()
    for pid in [os.getpid(), *processes()]:
        # It may end meanwhile.
        with contextlib.suppress(OSError):
            found.add(str(Path(f"/proc/{pid}/ns/net").readlink()))
    return found


def reap(child: int) -> int | None:
    """Collects what has ended; the exit code of `child`, where it is among that."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid == 0:
            return code
        if pid == child:
            code = os.waitstatus_to_exitcode(status)


def once(binary: str, form: Form, number: signal.Signals, wait: float, row: Row) -> None:
    """Starts `form`, sends `number` after `wait` seconds, and adds what was found to `row`.

    With a peer the seconds begin with its first answer.
    """
    null = os.open(os.devnull, os.O_RDWR)
    streams = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in range(3)]
    # What was started in the background may have signals ignored, and would hand that down.
    child = os.posix_spawn(binary, [binary, *form.words], os.environ, file_actions=streams, setsigdef=SIGNALS)
    os.close(null)
    peer = form.peer() if form.peer else None
    if peer is not None:
        peer.start()
        row.silent += not peer.active.wait(PATIENCE_S)
    time.sleep(wait)
    os.kill(child, number)
    begun = time.monotonic()
    row.sent += 1

    code = None
    while code is None and time.monotonic() - begun < PATIENCE_S:
        code = reap(child)
        time.sleep(0.001)
    row.ended += code is not None
    row.told += code in form.codes(number)
    if peer is not None:
        peer.ending.set()

    # The kernel takes its time with processes and namespaces.
    while (processes() or apart.interfaces()) and time.monotonic() - begun < PATIENCE_S:
        reap(child)
        time.sleep(0.001)
    row.gone_ms.append((time.monotonic() - begun) * 1e3)
    if peer is not None:
        peer.join()
    left = processes()
    row.processes += len(left)
    row.spaces += len(spaces()) - 1
    row.interfaces += apart.interfaces()
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    while processes():
        reap(child)
        time.sleep(0.001)


def has_bpf(binary: str) -> bool:
    """True where `slackwater tcp` can run here."""
    done = subprocess.run([binary, "tcp", "xrc", "--", "true"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"tcp is left out: {done.stderr.strip()}")
    return done.returncode == 0


def measure(args: argparse.Namespace) -> bool:
    """Prints the table; true where nothing was lost or left."""
    binary, only = str(Path(args.binary).resolve()), args.only
    draw = random.Random(args.seed)
    rows: dict[tuple[str, str], Row] = {}
    with tempfile.TemporaryDirectory() as folder:
        wanted = [
            form
            for form in forms(binary, folder)
            if only in (None, form.command) or (only == "with peers" and form.peer)
        ]
        if any(form.command == "tcp" for form in wanted) and not has_bpf(binary):
            wanted = [form for form in wanted if form.command != "tcp"]
        # Each signal goes to each form before one goes to the same form again.
        pairs = [(form, number) for form in wanted for number in args.kinds if form.ends(number)]
        for k in range(args.signals if pairs else 0):
            form, number = pairs[k % len(pairs)]
            row = rows.setdefault((form.command, number.name), Row())
            once(binary, form, number, draw.uniform(0, args.window), row)
    print(f"seed {args.seed}, moments from 0 to {args.window * 1e3:.0f} ms after the start or a peer's first answer")
    titles = ["command", "signal", "sent", "ended", "exit code matches", "peers without an answer", "processes left"]
    titles += ["namespaces left", "interfaces left", "all gone after, at most (ms)"]
    cells = [
        [*key, r.sent, r.ended, r.told, r.silent, r.processes, r.spaces, r.interfaces, f"{max(r.gone_ms):.0f}"]
        for key, r in rows.items()
    ]
    print(apart.table(titles, cells))
    return bool(rows) and all(row.good() for row in rows.values())


def main() -> None:
    """Moves into namespaces, and measures there."""
    options = apart.parser(__doc__)
    options.add_argument("--signals", type=int, default=500)
    options.add_argument("--window", type=float, default=0.5, help="seconds in which the moments lie")
    options.add_argument("--only", metavar="COMMAND", help="one command, such as emulate or 'quic serve'; 'with peers'")
    options.add_argument(
        "--kinds",
        nargs="+",
        default=SIGNALS,
        type=lambda name: signal.Signals[name],
        metavar="SIGNAL",
        help="these alone, such as SIGINT SIGTERM",
    )
    args = options.parse_args()
    apart.enter()
    if not measure(args):
        sys.exit(1)


if __name__ == "__main__":
    main()
