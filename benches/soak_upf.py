"""Memory of a user plane function under pings, while its file and sessions change, disks are full, and it is killed.

`slackwater upf` carries echo requests of one UE through GTP-U and back. Each second its file is another one, with up to
forty more sessions, and SIGHUP has it read; each fifth one is damaged, which must change nothing. A control plane
orders and deletes sessions each second, whose UEs ping too. Each 24 turns the function ends, by SIGKILL and by SIGTERM
in turn, and starts again. With its state file it must have each session that it confirmed, and without it none. The
state file is on a file system of four megabytes that is full half of the time. Emulators write their results to the
same one, and end with an error where they have no room. Everything happens in namespaces of its own. Needs root,
`unshare` (util-linux) and iproute2. Ends with 1 where memory grew, pings stopped, a reload or a session was lost, an
emulator ended in another way than it should, or something was left.

    sudo python3 benches/soak_upf.py --binary target/release/slackwater --seconds 600
"""

import contextlib
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import apart
import soak
from control_plane import ControlPlane
from peers import SERVER, echo, n3, read
from smf import GNB, UE, UPF, g_pdu

MORE = 40
# A second's requests.
RATE = 200
# Tunnel of the session that pings, which stands in the file.
TUNNEL = 17
# Turns from one end of the function to the next; its last is one with room on the disk.
LIFE = 24
# How long it may take to start, s.
PATIENCE = 30.0
DAMAGED = "[n3]\naddress = 'nowhere'\n"


def config(state: Path, more: int) -> str:
    """The function's file, with the session that pings and `more` others."""
    head = f'[n3]\naddress = "{UPF}"\n[n4]\naddress = "{UPF}"\n'
    head += f'state = "{state}"\n[n6]\naddress = "{SERVER}"\n'
    session = '[[session]]\nue = "10.60.0.{0}"\nteid = {1}\ngnb = "{2}"\ngnb_teid = {3}\nqfi = 9\n'
    return head + "".join(session.format(k + 1, TUNNEL + k, GNB, 1034 + k) for k in range(more + 1))


def gauge(process: subprocess.Popen[bytes], memory: list[int]) -> None:
    """Notes what the process holds."""
    now = soak.resident(process.pid)
    if now is not None:
        memory.append(now)


def emulator(binary: str, out: Path) -> subprocess.Popen[bytes]:
    """One whose results go to `out`."""
    words = [
        binary,
        "emulate",
        "--rate",
        "12",
        "--isolated",
        "--quiet",
        "--force",
        "--void-above",
        "100",
        "--out",
        str(out),
    ]
    return soak.start([*words, "--", "true"])


def fill(disk: Path) -> None:
    """Leaves no octet free on `disk`."""
    with contextlib.suppress(OSError), (disk / "fill").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


class Function:
    """`slackwater upf`, whose events go to `log`."""

    def __init__(self, binary: str, file: Path, log: Path) -> None:
        """Starts it."""
        self.words = ["env", "--default-signal", binary, "upf", "--config", str(file)]
        self.log, self.starts = log, 0
        log.touch()
        self.start()

    def start(self) -> None:
        """Starts it, and waits until everything is open."""
        with self.log.open("ab") as errors:
            self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
        self.starts += 1
        end = time.monotonic() + PATIENCE
        while self.said("listening") < self.starts:
            if self.process.poll() is not None or time.monotonic() > end:
                self.process.kill()
                raise RuntimeError(f"the function did not start: {self.log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.02)

    def said(self, what: str) -> int:
        """How often an event was written."""
        return self.log.read_text(errors="replace").count(what)

    def end(self, by: signal.Signals) -> int:
        """Ends it by a signal; its exit code."""
        self.process.send_signal(by)
        return self.process.wait(PATIENCE)


def measure(binary: str, seconds: float, seed: int) -> bool:
    """Runs all of it and prints the figures; true where everything held."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as after:
        disk, file, log = Path(folder) / "small", Path(folder) / "upf.toml", Path(folder) / "log"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)], check=True)
        after.callback(subprocess.run, ["umount", str(disk)], check=True)
        state = disk / "upf.state"
        file.write_text(config(state, 0))
        gnb = n3(GNB)
        upf = Function(binary, file, log)
        after.callback(lambda: upf.process.kill())
        control = ControlPlane(seed)
        control.associate()
        memory: list[int] = []
        sent, answered, reloads, damaged, filled, wrong, runs = 0, 0, 0, 0, 0, 0, {True: 0, False: 0}
        ends, differences = {True: 0, False: 0}, []
        beside: tuple[subprocess.Popen[bytes], bool] | None = None
        full = False
        begun = time.monotonic()
        turn = 0
        while time.monotonic() - begun < seconds and upf.process.poll() is None:
            # Disks are full for three seconds of six; an emulator begins and ends in one of both.
            if turn % 3 == 0:
                if beside is not None:
                    process, expects = beside
                    code = process.wait(30)
                    wrong += (code == 0) != expects
                    runs[code == 0] += 1
                full = turn % 6 == 3
                if full:
                    # A change has the function give up its file, whose room is filled too.
                    fill(disk)
                    control.change()
                    fill(disk)
                    filled += 1
                else:
                    (disk / "fill").unlink(missing_ok=True)
                beside = emulator(binary, disk / "run"), not full
            broken = turn % 5 == 4
            file.write_text(DAMAGED if broken else config(state, turn * 7 % (MORE + 1)))
            upf.process.send_signal(signal.SIGHUP)
            damaged += broken
            reloads += not broken
            control.change()
            sent += control.ping(gnb, SERVER)
            for _ in range(RATE):
                with contextlib.suppress(BlockingIOError):
                    gnb.sendto(g_pdu(TUNNEL, echo(sent, UE, SERVER)), (UPF, 2152))
                    sent += 1
                answered += read(gnb)
                time.sleep(1 / RATE)
            gauge(upf.process, memory)
            turn += 1
            if turn % LIFE == LIFE - 3:
                # The disk has had room for three turns, and the file is a good one again.
                file.write_text(config(state, 0))
                upf.end(signal.SIGKILL if turn // LIFE % 2 == 0 else signal.SIGTERM)
                control.forget()
                kept = state.exists()
                upf.start()
                difference = control.returned(kept)
                ends[kept] += 1
                differences += [difference] if difference else []
        elapsed = time.monotonic() - begun
        alive = upf.process.poll() is None
        if beside is not None:
            beside[0].wait(30)
        answered += read(gnb)
        code = upf.end(signal.SIGTERM)
        text = log.read_text(errors="replace")
        left = len([path for path in disk.iterdir() if path.name not in ("run", "upf.state", "fill")])
    refused = text.count("not reloaded")
    taken = text.count("reloaded") - refused
    half = len(memory) // 2
    first, second = max(memory[len(memory) // 10 : half + 1]), max(memory[half:])
    print(f"{elapsed:.0f} s")
    titles = ["pings", "answered", "reloads", "taken", "damaged files", "refused", "disk full", "runs written"]
    titles += [
        "runs refused",
        "ended otherwise",
        "memory at most, first half (KiB)",
        "second half (KiB)",
        "left on the disk",
        "sessions ordered or deleted",
        "restarts with the state file",
        "without",
        "restarts that differ",
    ]
    cells = [
        sent,
        answered,
        reloads,
        taken,
        damaged,
        refused,
        filled,
        runs[True],
        runs[False],
        wrong,
        first,
        second,
        left,
        control.orders,
        ends[True],
        ends[False],
        len(differences),
    ]
    print(apart.table(titles, [cells]))
    for difference in differences:
        print(difference)
    if not alive or code != 0:
        print(f"the function ended with {code}:\n{text[-2000:]}")
    flat = second <= first * soak.SLACK + soak.SLACK_KIB
    reloaded = (taken, refused) == (reloads, damaged)
    whole = not differences and wrong == 0 and left == 0
    return alive and code == 0 and flat and reloaded and answered > 0.99 * sent and whole


def main() -> None:
    """Moves into namespaces, and measures there."""
    options = apart.parser(__doc__)
    options.add_argument("--seconds", type=float, default=600)
    args = options.parse_args()
    apart.enter()
    held = measure(str(Path(args.binary).resolve()), args.seconds, args.seed)
    if apart.interfaces():
        print(f"{apart.interfaces()} interfaces are left")
        held = False
    if not held:
        sys.exit(1)


if __name__ == "__main__":
    main()
