"""Memory of a user plane function under pings, while its file changes and disks are full.

`slackwater upf` carries echo requests of one UE through GTP-U and back. Each second its file is another one, with up to
forty more sessions, and SIGHUP has it read; each fifth one is damaged, which must change nothing. The state file is on
a file system of half a megabyte that is full half of the time. Emulators write their results to the same one, and end
with an error where they have no room. Everything happens in namespaces of its own. Needs root, `unshare` (util-linux)
and iproute2. Ends with 1 where memory grew, pings stopped, a reload was lost, an emulator ended in another way than it
should, or something was left.

    sudo python3 benches/soak_upf.py --binary target/release/slackwater --seconds 600
"""

import contextlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import apart
import soak

MORE = 40
# A second's requests.
RATE = 200
DAMAGED = "[n3]\naddress = 'nowhere'\n"


def config(state: Path, more: int) -> str:
    """The function's file, with the session that pings and `more` others."""
    head = '[n3]\naddress = "127.0.0.1"\n[n4]\naddress = "127.0.0.1"\n'
    head += f'state = "{state}"\n[n6]\naddress = "192.0.2.1"\n'
    session = '[[session]]\nue = "10.60.{0}.{1}"\nteid = {2}\ngnb = "127.0.0.2"\ngnb_teid = {3}\nqfi = 9\n'
    return head + "".join(session.format(k // 200, k % 200 + 1, 17 + k, 1034 + k) for k in range(more + 1))


def checksum(octets: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def request(number: int) -> bytes:
    """An echo request of the UE to N6's own address, in a G-PDU (TS 29.281, 5.1; its container: TS 38.415, 5.5.2)."""
    echo = struct.pack("!BBHHH", 8, 0, 0, 1, number & 0xFFFF) + bytes(56)
    echo = echo[:2] + struct.pack("!H", checksum(echo)) + echo[4:]
    ends = socket.inet_aton("10.60.0.1") + socket.inet_aton("192.0.2.1")
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(echo), 0, 0, 64, 1, 0) + ends
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    # Sequence number, N-PDU number, type of the next header; the container has an uplink PDU and the flow 9.
    extension = struct.pack("!HBB", 0, 0, 0x85) + bytes([1, 0x10, 9, 0])
    return struct.pack("!BBHI", 0x34, 255, len(extension) + len(ip) + len(echo), 17) + extension + ip + echo


def gauge(process: subprocess.Popen[bytes], memory: list[int]) -> None:
    """Notes what the process holds."""
    now = soak.resident(process.pid)
    if now is not None:
        memory.append(now)


def emulator(binary: str, out: Path) -> subprocess.Popen[bytes]:
    """One whose results go to `out`."""
    words = [binary, "emulate", "--rate", "12", "--isolated", "--quiet", "--force", "--out", str(out), "--", "true"]
    return soak.start(words)


def fill(disk: Path) -> None:
    """Leaves no octet free on `disk`."""
    with contextlib.suppress(OSError), (disk / "fill").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def measure(binary: str, seconds: float) -> bool:
    """Runs all of it and prints the figures; true where everything held."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as after:
        disk, file, log = Path(folder) / "small", Path(folder) / "upf.toml", Path(folder) / "log"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(disk)], check=True)
        after.callback(subprocess.run, ["umount", str(disk)], check=True)
        file.write_text(config(disk / "upf.state", 0))
        gnb = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        gnb.bind(("127.0.0.2", 2152))
        gnb.setblocking(False)
        with log.open("wb") as errors:
            words = ["env", "--default-signal", binary, "upf", "--config", str(file)]
            main = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
        memory: list[int] = []
        sent, answered, reloads, damaged, filled, wrong, runs = 0, 0, 0, 0, 0, 0, {True: 0, False: 0}
        beside: tuple[subprocess.Popen[bytes], bool] | None = None
        full = False
        time.sleep(1)
        begun = time.monotonic()
        turn = 0
        while time.monotonic() - begun < seconds and main.poll() is None:
            # Disks are full for three seconds of six; an emulator begins and ends in one of both.
            if turn % 3 == 0:
                if beside is not None:
                    process, expects = beside
                    code = process.wait(30)
                    wrong += (code == 0) != expects
                    runs[code == 0] += 1
                full = turn % 6 == 3
                if full:
                    fill(disk)
                    filled += 1
                else:
                    (disk / "fill").unlink(missing_ok=True)
                beside = emulator(binary, disk / "run"), not full
            broken = turn % 5 == 4
            file.write_text(DAMAGED if broken else config(disk / "upf.state", turn * 7 % (MORE + 1)))
            main.send_signal(signal.SIGHUP)
            damaged += broken
            reloads += not broken
            for _ in range(RATE):
                with contextlib.suppress(BlockingIOError):
                    gnb.sendto(request(sent), ("127.0.0.1", 2152))
                    sent += 1
                with contextlib.suppress(BlockingIOError):
                    while gnb.recv(2048):
                        answered += 1
                time.sleep(1 / RATE)
            gauge(main, memory)
            turn += 1
        elapsed = time.monotonic() - begun
        alive = main.poll() is None
        if beside is not None:
            beside[0].wait(30)
        with contextlib.suppress(BlockingIOError):
            while gnb.recv(2048):
                answered += 1
        main.terminate()
        code = main.wait()
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
    ]
    print(apart.table(titles, [cells]))
    if not alive or code != 0:
        print(f"the function ended with {code}:\n{text[-2000:]}")
    flat = second <= first * soak.SLACK + soak.SLACK_KIB
    reloaded = (taken, refused) == (reloads, damaged)
    return alive and code == 0 and flat and reloaded and answered > 0.99 * sent and wrong == 0 and left == 0


def main() -> None:
    """Moves into namespaces, and measures there."""
    options = apart.parser(__doc__)
    options.add_argument("--seconds", type=float, default=600)
    args = options.parse_args()
    apart.enter()
    held = measure(str(Path(args.binary).resolve()), args.seconds)
    if apart.interfaces():
        print(f"{apart.interfaces()} interfaces are left")
        held = False
    if not held:
        sys.exit(1)


if __name__ == "__main__":
    main()
