"""What `slackwater upf` costs a packet, beside the kernel's own forwarding in the same namespaces and the same minute.

Needs root, iproute2 and, besides the command, the example that sends and receives frames:

    cargo build --profile dist -p slackwater-cli --bin slackwater
    cargo build --profile dist -p slackwater-live --example frames
    sudo python3 benches/upf.py --binary target/release/slackwater --frames target/release/examples/frames

Three namespaces stand in a row: data network, function, radio network, joined by two pairs of veth. 64 flows of UDP
come from one end as Ethernet frames, paced; what reaches the other end is counted and dropped there before the network
stack. The time is that of a control group with generator and function, as the kernel does their packets' work in their
time, and that of the threads `ksoftirqd`. So other processes of the machine do not count, but they disturb. Each figure
is the median of rounds; in each round all ways run one after the other, each beside forwarding.

With `--runs N`, flows are of TCP, and N segments of one follow each other, as they come out of a transport block.
`--pushed` sets PSH in each, so that nothing joins them.

With `--eupf PATH`, the binary of eUPF (github.com/edgecomllc/eupf) takes its turn in each round: the same packets and
the same session, by XDP in generic mode. It has no queues, so it has no vAQM.

Forwarding has the same packets as the function, of as many flows. The sender copies the headers of each and no more, so
that its own time does not depend on them.

With `--fast`, the function itself takes another turn for each `--vaqm`, with its path in the kernel (`fast.path`).
"""

import argparse
import contextlib
import itertools
import json
import os
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

DN, UPF, RAN = "swb-dn", "swb-upf", "swb-ran"
# Addresses: data network and function on N6, function and base station on N3, what the server has.
N6_DN, N6_UPF, N3_UPF, GNB, SERVER = "198.18.0.1", "198.18.0.2", "198.18.1.1", "198.18.1.2", "198.18.2.1"
MACS = {"n6dn": "02:00:00:00:06:01", "n6": "02:00:00:00:06:02", "n3": "02:00:00:00:03:01", "n3ran": "02:00:00:00:03:02"}
FLOWS = 64
IN_KERNEL = ", in the kernel"  # Behind what vAQM is, where the path in the kernel forwards.
# Kernel forwarding's share that a way must reach with vAQM, before any run: by a port down and up, and by a TUN device.
BOUNDS = {("port", "down"): 0.70, ("port", "up"): 0.65, ("tun", "down"): 0.45, ("tun", "up"): 0.45}
LOSS = 0.01  # Above this share of lost packets the offered rate is halved: time spent on them is nobody's.
FALL = 20.0  # Percent of the rate that may be lost from the fewest sessions to the most.
DELAY_BOUNDS = {"p50": 50.0, "p99": 500.0}  # us that the function adds at half load
GROUP = Path("/sys/fs/cgroup/cpuacct/swb")
GROUP2 = Path("/sys/fs/cgroup/swb")


def sh(*words: str, check: bool = True) -> str:
    """Runs a command; its output."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        sys.exit(f"error: {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def checksum(data: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(source: str, target: str, payload: bytes, protocol: int = 17) -> bytes:
    """An IPv4 packet (RFC 791); one of TCP must not be cut, as its sender looks for the path's MTU (RFC 1191)."""
    cut = 0x4000 if protocol == 6 else 0
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 0, cut, 64, protocol, 0)
    head += socket.inet_aton(source) + socket.inet_aton(target)
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def udp(source: int, target: int, payload: bytes) -> bytes:
    """A UDP datagram without a checksum, as RFC 768 allows over IPv4."""
    return struct.pack("!HHHH", source, target, 8 + len(payload), 0) + payload


def tcp(source: str, target: str, ports: tuple[int, int], seq: int, flags: int, payload: bytes) -> bytes:
    """A TCP segment between two addresses with its checksum (RFC 9293, 3.1)."""
    head = struct.pack("!HHIIBBHHH", *ports, seq, 1, 0x50, flags, 1_000, 0, 0)
    pseudo = socket.inet_aton(source) + socket.inet_aton(target) + struct.pack("!HH", 6, 20 + len(payload))
    total = checksum(pseudo + head + payload)
    return head[:16] + struct.pack("!H", total) + head[18:] + payload


def g_pdu(teid: int, packet: bytes) -> bytes:
    """A G-PDU with an uplink PDU session container of QFI 9 (TS 29.281; TS 38.415)."""
    rest = b"\0\0\0\x85" + bytes([1, 0x10, 9, 0]) + packet
    return struct.pack("!BBHI", 0x34, 255, len(rest), teid) + rest


def ue(k: int) -> str:
    """The address of a UE."""
    return f"10.60.{k >> 8}.{k & 255}"


def frame(source: str, target: str, packet: bytes) -> bytes:
    """An Ethernet frame of IPv4."""
    octets = bytes.fromhex((MACS[target] + MACS[source]).replace(":", ""))
    return octets + b"\x08\x00" + packet


def inner(way: str, size: int, k: int, sessions: int, segment: int | None = None, flags: int = 0x10) -> bytes:
    """Packet k of a user, of `size` octets: a datagram, or the segment of that number."""
    address = ue(1 + k % sessions)
    if segment is not None:
        ends, ports = ((SERVER, address), (443, 5_000 + k)) if way == "down" else ((address, SERVER), (5_000 + k, 443))
        data = bytes(size - 40)
        return ipv4(*ends, tcp(*ends, ports, segment * len(data), flags, data), 6)
    data = bytes(size - 28)
    if way == "down":
        return ipv4(SERVER, address, udp(443, 5_000 + k, data))
    return ipv4(address, SERVER, udp(5_000 + k, 443, data))


def offloaded(packet: bytes) -> tuple[bytes, bytes]:
    """A UDP packet whose checksum is left to the card: a partial sum, and a virtio header that says so."""
    pseudo = packet[12:20] + struct.pack("!HH", 17, len(packet) - 20)
    partial = struct.pack("!H", ~checksum(pseudo) & 0xFFFF)
    # It begins behind the headers of Ethernet and IP; its field is the last of UDP's (VIRTIO 1.2, 5.1.6).
    return struct.pack("=BBHHHH", 1, 0, 0, 0, 34, 6), packet[:26] + partial + packet[28:]


def frames(
    way: str, size: int, sessions: int, tunnels: bool, teids: list[int], runs: int = 0, flags: int = 0x10
) -> bytes:
    """Frames of all flows behind virtio headers and lengths.

    With `tunnels`, what comes up is in GTP-U. With `runs`, so many segments of each flow.
    """
    out = []
    flows = range(max(FLOWS, min(sessions, 10_000)))
    for k, segment in ((k, segment) for k in flows for segment in (range(runs) if runs else [None])):
        header, packet = bytes(10), inner(way, size, k, sessions, segment, flags)
        if way == "up" and tunnels:
            header, packet = offloaded(ipv4(GNB, N3_UPF, udp(2_152, 2_152, g_pdu(teids[k % sessions], packet))))
        ends = ("n6dn", "n6") if way == "down" else ("n3ran", "n3")
        octets = header + frame(*ends, packet)
        out.append(struct.pack("!H", len(octets)) + octets)
    return b"".join(out)


def within(name: str, *words: str) -> list[str]:
    """A command inside a namespace."""
    return ["ip", "netns", "exec", name, *words]


@contextlib.contextmanager
def namespaces() -> Iterator[None]:
    """The three namespaces; they are gone afterwards."""
    remove()
    try:
        for name in (DN, UPF, RAN):
            sh("ip", "netns", "add", name)
            sh("ip", "-n", name, "link", "set", "lo", "up")
            # No neighbour discovery beside the packets that count.
            sh(
                *within(
                    name, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1"
                )
            )
        for a, at, b, there in (("n6dn", DN, "n6", UPF), ("n3ran", RAN, "n3", UPF)):
            sh("ip", "link", "add", a, "address", MACS[a], "netns", at, "type", "veth",
               "peer", "name", b, "address", MACS[b], "netns", there)  # fmt: skip
        for name, device, address in (
            (DN, "n6dn", N6_DN), (UPF, "n6", N6_UPF), (UPF, "n3", N3_UPF), (RAN, "n3ran", GNB),
        ):  # fmt: skip
            sh("ip", "-n", name, "addr", "add", f"{address}/24", "dev", device)
            sh("ip", "-n", name, "link", "set", device, "mtu", "1500", "up")
        sh("ip", "-n", UPF, "route", "add", f"{SERVER}/32", "via", N6_DN)
        for device, address, peer in (("n6", N6_DN, "n6dn"), ("n3", GNB, "n3ran")):
            sh("ip", "-n", UPF, "neigh", "replace", address, "lladdr", MACS[peer], "dev", device, "nud", "permanent")
        for name, device in ((DN, "n6dn"), (RAN, "n3ran")):
            sh("tc", "-n", name, "qdisc", "add", "dev", device, "clsact")
        sink(True)
        yield
    finally:
        remove()


def sink(on: bool) -> None:
    """What arrives at an end is counted and dropped (BPF: return TC_ACT_SHOT), or goes on."""
    for name, device in ((DN, "n6dn"), (RAN, "n3ran")):
        sh("tc", "-n", name, "filter", "del", "dev", device, "ingress", check=False)
        if on:
            sh("tc", "-n", name, "filter", "add", "dev", device, "ingress", "bpf", "da", "bytecode", "1,6 0 0 2")


def remove() -> None:
    """Takes the namespaces away."""
    for name in (DN, UPF, RAN):
        sh("ip", "netns", "del", name, check=False)


def arrived(way: str) -> int:
    """Packets that reached the other end, super-packets counted as the packets in them."""
    name, device = (RAN, "n3ran") if way == "down" else (DN, "n6dn")
    found = json.loads(sh("tc", "-n", name, "-s", "-j", "qdisc", "show", "dev", device, "clsact"))
    return sum(row["packets"] for row in found if row["kind"] == "clsact")


def group() -> Path:
    """The control group, of either version."""
    return GROUP if GROUP.parent.exists() else GROUP2


def cpu() -> float:
    """Seconds of the group and of ksoftirqd so far."""
    base = group()
    if base is GROUP:
        used = int((base / "cpuacct.usage").read_text()) / 1e9
    else:
        used = int((base / "cpu.stat").read_text().split()[1]) / 1e6
    for comm in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if comm.read_text().startswith("ksoftirqd"):
                used += int((comm.parent / "schedstat").read_text().split()[0]) / 1e9
    return used


def spawn(words: list[str], core: int | None = None, **more: object) -> subprocess.Popen[str]:
    """Starts a command in the control group."""

    def join() -> None:
        (group() / "cgroup.procs").write_text(str(os.getpid()))
        if core is not None and (os.cpu_count() or 1) > 1:
            os.sched_setaffinity(0, {core})

    return subprocess.Popen(words, preexec_fn=join, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


class Function:
    """`slackwater upf` with as many sessions as are wanted, set up by PFCP."""

    def __init__(self, binary: str, n3: str, n6: str, vaqm: str, gather: int, sessions: int, folder: Path) -> None:
        """Starts it, and sets the sessions up."""
        self.teids: list[int] = []
        self.set_up = 0.0
        port = f'port = "n6"\ngateway = "{N6_DN}"\n' if n6 == "port" else ""
        own = f'address = "{N6_UPF}"\n' if n6 == "port" else ""
        ring = 'interface = "n3"\n' if n3 == "ring" else ""
        fast = '[fast]\npath = "kernel"\n' if vaqm.endswith(IN_KERNEL) else ""
        vaqm = vaqm.removesuffix(IN_KERNEL)
        text = (
            f'[n4]\naddress = "127.0.0.1"\n[n3]\naddress = "{N3_UPF}"\n{ring}[n6]\n{port}{own}mtu = 1500\n'
            f'routes = ["10.60.0.0/16"]\n[functions]\nvaqm = "{vaqm}"\n[turns]\ngather = "{gather} us"\n{fast}'
        )
        if n6 == "tun":
            # Both ways through the kernel, which forwards between the device and the link of N6.
            sh(*within(UPF, "sysctl", "-qw", "net.ipv4.ip_forward=1"))
        else:
            sh(*within(UPF, "sysctl", "-qw", "net.ipv4.ip_forward=0"))
        file = folder / "upf.toml"
        file.write_text(text)
        self.process = spawn(within(UPF, binary, "upf", "--config", str(file)), core=1)
        line = self.process.stderr.readline() if self.process.stderr else ""
        if "listening" not in line:
            rest = self.process.stderr.read() if self.process.stderr else ""
            sys.exit(f"error: the function did not start: {line}{rest}")
        before = self.resident()
        words = within(UPF, sys.executable, __file__, "--set-up", str(sessions))
        found = json.loads(sh(*words))
        self.teids, self.set_up = found["teids"], found["seconds"]
        self.memory = (before, self.resident())
        # The router's address is known by then.
        time.sleep(0.3)

    def resident(self) -> int:
        """Its memory in octets."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))

    def stop(self) -> str:
        """Ends it."""
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=30)
        return said


class Peer:
    """eUPF with one session, its program attached to both links in generic mode."""

    def __init__(self, binary: str, folder: Path) -> None:
        """Starts it, and sets the session up."""
        # Its program asks the kernel for the way, and the kernel answers where it forwards.
        sh(*within(UPF, "sysctl", "-qw", "net.ipv4.ip_forward=1"))
        sh("ip", "-n", UPF, "route", "replace", "10.60.0.0/16", "via", GNB)
        keys = {
            "interface_name": ["n3", "n6"], "xdp_attach_mode": "generic", "pfcp_address": "127.0.0.1:8805",
            "pfcp_node_id": "127.0.0.1", "api_address": "127.0.0.1:8080", "metrics_address": "127.0.0.1:9090",
            "n3_address": N3_UPF, "n9_address": N3_UPF, "feature_ftup": True, "logging_level": "error",
        }  # fmt: skip
        file = folder / "eupf.yml"
        file.write_text(json.dumps(keys))
        # It pins its maps in a file system of BPF, which a namespace's own /sys does not have.
        script = 'mount -t bpf bpf /sys/fs/bpf && exec "$0" --config "$1"'
        self.process = spawn(within(UPF, "sh", "-c", script, binary, str(file)), core=1)
        while '"prog"' not in sh("ip", "-n", UPF, "-j", "-d", "link", "show", "n6"):
            if self.process.poll() is not None:
                sys.exit(f"error: eUPF did not start: {self.process.communicate()}")
            time.sleep(0.05)
        time.sleep(0.5)
        found = json.loads(sh(*within(UPF, sys.executable, __file__, "--set-up", "1")))
        self.teids: list[int] = found["teids"]

    def stop(self) -> None:
        """Ends it."""
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=30)


def forwarding() -> None:
    """The kernel forwards: the same packets, without tunnels."""
    sh(*within(UPF, "sysctl", "-qw", "net.ipv4.ip_forward=1"))
    sh("ip", "-n", UPF, "route", "replace", "10.60.0.0/16", "via", GNB)


def no_forwarding() -> None:
    """The kernel does not."""
    sh("ip", "-n", UPF, "route", "del", "10.60.0.0/16", "via", GNB, check=False)


def load(args: argparse.Namespace, folder: Path, way: str, octets: bytes, rate: float) -> dict:
    """One run: packets a second of processor time, and the share that was lost."""
    file = folder / "frames"
    file.write_bytes(octets)
    name, device = (DN, "n6dn") if way == "down" else (RAN, "n3ran")
    words = within(name, args.frames, "send", device, str(file), str(rate), str(args.seconds))
    words += ["as-they-are"] if args.runs else []
    used, had = cpu(), arrived(way)
    with_group = spawn(words, core=0)
    out, err = with_group.communicate()
    if with_group.returncode != 0:
        sys.exit(f"error: frames: {err}")
    time.sleep(0.05)
    used, had = cpu() - used, arrived(way) - had
    sent = json.loads(out)["sent"]
    return {"rate": had / used, "lost": 1 - had / max(1, sent), "pps": had / args.seconds, "cpu": used}


def delays(args: argparse.Namespace, folder: Path, way: str, octets: bytes, rate: float) -> dict:
    """How long packets take at a rate, by the kernel's stamps at the other end."""
    file = folder / "frames"
    file.write_bytes(octets)
    ends = {"down": ((DN, "n6dn"), (RAN, "n3ran")), "up": ((RAN, "n3ran"), (DN, "n6dn"))}[way]
    (name, device), (there, last) = ends
    listener = subprocess.Popen(
        within(there, args.frames, "receive", last, str(args.seconds + 0.5)), stdout=subprocess.PIPE, text=True
    )
    time.sleep(0.2)
    sender = spawn(within(name, args.frames, "send", device, str(file), str(rate), str(args.seconds)), core=0)
    sender.communicate()
    found, _ = listener.communicate()
    result: dict = json.loads(found)
    return result


def shown(values: list[float], scale: float = 1.0, decimals: int = 0) -> str:
    """The median, and the range."""
    low, middle, high = (f"{v * scale:,.{decimals}f}" for v in (min(values), statistics.median(values), max(values)))
    return f"{middle} ({low} to {high})"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/slackwater")
    parser.add_argument("--frames", default="target/release/examples/frames")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rate", type=float, default=400_000, help="packets offered a second")
    parser.add_argument("--delay-rate", type=float, default=50_000, help="packets a second while delays are measured")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_400, 64])
    parser.add_argument("--ways", nargs="+", default=["down", "up"])
    parser.add_argument("--n6", nargs="+", default=["port", "tun"])
    parser.add_argument("--n3", nargs="+", default=["ring", "socket"])
    parser.add_argument("--vaqm", nargs="+", default=["auto", "off"])
    parser.add_argument("--sessions", type=int, nargs="+", default=[1, 10_000])
    parser.add_argument("--gather", type=int, nargs="+", default=[45], help="turns.gather, us")
    parser.add_argument("--runs", type=int, default=0, help="segments of a flow of TCP in a row; 0: datagrams")
    parser.add_argument("--pushed", action="store_true", help="PSH in each segment")
    parser.add_argument("--no-delay", action="store_true")
    parser.add_argument("--fast", action="store_true", help="the path in the kernel, too; needs a build with `bpf`")
    parser.add_argument("--eupf", help="eUPF's binary, to take its turn in each round")
    parser.add_argument("--set-up", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.set_up:
        set_up(args.set_up)
        return
    args.binary, args.frames = str(Path(args.binary).resolve()), str(Path(args.frames).resolve())
    args.eupf = args.eupf and str(Path(args.eupf).resolve())
    group().mkdir(exist_ok=True)
    try:
        with tempfile.TemporaryDirectory() as name, namespaces():
            costs(args, Path(name))
            if not args.no_delay:
                added(args, Path(name))
    finally:
        with contextlib.suppress(OSError):
            group().rmdir()


def costs(args: argparse.Namespace, folder: Path) -> None:
    """Packets a second of processor time."""
    cases = [
        (n3, n6, vaqm, gather, sessions)
        for n3 in args.n3
        for n6 in args.n6
        for vaqm in args.vaqm
        for gather in args.gather
        for sessions in args.sessions
        if sessions == 1 or (n3 == args.n3[0] and n6 == args.n6[0] and vaqm == args.vaqm[0])
    ]
    if args.fast:
        cases.extend(
            ("ring", n6, vaqm + IN_KERNEL, args.gather[0], sessions)
            for n6 in args.n6
            for vaqm in args.vaqm
            for sessions in args.sessions
        )
    if args.eupf:
        cases.append(("eUPF", "eUPF", "none", 0, 1))
    found: dict[tuple, list[dict]] = {}
    memory: dict[tuple, tuple] = {}
    for _ in range(args.rounds):
        for case in cases:
            for way in args.ways:
                for size in args.sizes:
                    peer = case[0] == "eUPF"
                    function = Peer(args.eupf, folder) if peer else Function(args.binary, *case, folder)
                    flags = 0x18 if args.pushed else 0x10
                    octets = frames(way, size, case[4], True, function.teids, args.runs, flags)
                    rate = args.rate
                    row = load(args, folder, way, octets, rate)
                    while row["lost"] > LOSS and rate > args.rate / 16:
                        rate /= 2
                        row = load(args, folder, way, octets, rate)
                    if isinstance(function, Function):
                        memory[case] = (*function.memory, function.set_up)
                    function.stop()
                    forwarding()
                    plain = load(args, folder, way, frames(way, size, case[4], False, [], args.runs, flags), rate)
                    no_forwarding()
                    row["share"] = row["rate"] / plain["rate"]
                    row["plain"] = plain["rate"]
                    found.setdefault((way, size, *case), []).append(row)
                    print(f"  {way} {size} {case}: {row}", file=sys.stderr, flush=True)
    print(
        "| way | octets | N3 | N6 | vAQM | gather (us) | sessions "
        "| packets per CPU second (k) | kernel (k) | share | bound | lost (%) |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for (way, size, n3, n6, vaqm, gather, sessions), rows in found.items():
        bound = f"{BOUNDS[n6, way]:.2f}" if size == 1_400 and n6 in {"port", "tun"} else ""
        cells = [
            way, f"{size:,}", n3, n6, vaqm, f"{gather}", f"{sessions:,}",
            shown([r["rate"] for r in rows], 1e-3), shown([r["plain"] for r in rows], 1e-3),
            shown([r["share"] for r in rows], 1, 2), bound, shown([r["lost"] for r in rows], 100, 1),
        ]  # fmt: skip
        print(f"| {' | '.join(cells)} |", flush=True)
    for (n3, n6, vaqm, _, sessions), (before, after, seconds) in memory.items():
        if sessions > 1:
            print(f"\n{sessions:,} sessions ({n3}, {n6}, vAQM {vaqm}): {before / 2**20:.1f} MiB before, ", end="")
            print(f"{after / 2**20:.1f} MiB after, {sessions / seconds:,.0f} set-ups a second", flush=True)
    falls(args, found)


def falls(args: argparse.Namespace, found: dict[tuple, list[dict]]) -> None:
    """What the function loses from the fewest sessions to the most, beside what forwarding loses."""
    few, many = min(args.sessions), max(args.sessions)
    if few == many:
        return
    print(f"\nLess with {many:,} sessions than with {few:,}, %, by medians:\n")
    print(f"| way | octets | N3 | N6 | vAQM | gather (us) | rate | bound ({FALL:.0f}) | kernel | share |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for (*case, sessions), rows in found.items():
        others = found.get((*case, many))
        if sessions != few or not others:
            continue
        way, size, n3, n6, vaqm, gather = case
        less = [
            100 * (1 - statistics.median(r[key] for r in others) / statistics.median(r[key] for r in rows))
            for key in ("rate", "plain", "share")
        ]
        verdict = "holds" if less[0] <= FALL else "**misses**"
        rate, plain, share = (f"{x:.0f}" for x in less)
        cells = [way, f"{size:,}", n3, n6, vaqm, f"{gather}", rate, verdict, plain, share]
        print(f"| {' | '.join(cells)} |", flush=True)


def added(args: argparse.Namespace, folder: Path) -> None:
    """What the function adds to a packet's way at `--delay-rate`, to be half of what it carries."""
    print(
        "\n| way | N3 | N6 | vAQM | gather (us) | kernel p50, us | p99 | function p50, us | p99 "
        "| added p50 (bound 50) | added p99 (bound 500) |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    sink(False)
    vaqms = [args.vaqm[0], *([args.vaqm[0] + IN_KERNEL] if args.fast else [])]
    for way in args.ways:
        for n3, n6, vaqm, gather in itertools.product(args.n3, args.n6, vaqms, args.gather):
            rows = []
            for _ in range(args.rounds):
                forwarding()
                plain = delays(args, folder, way, frames(way, 1_400, 1, False, []), args.delay_rate)
                no_forwarding()
                function = Function(args.binary, n3, n6, vaqm, gather, 1, folder)
                octets = frames(way, 1_400, 1, True, function.teids)
                rows.append((plain, delays(args, folder, way, octets, args.delay_rate)))
                function.stop()
                print(f"  {way} {n3} {n6} {vaqm} {gather}: {rows[-1]}", file=sys.stderr, flush=True)
            cells = [shown([r[k][q] for r in rows], 1e-3) for k in (0, 1) for q in ("p50_ns", "p99_ns")]
            more = [shown([r[1][q] - r[0][q] for r in rows], 1e-3) for q in ("p50_ns", "p99_ns")]
            print(f"| {way} | {n3} | {n6} | {vaqm} | {gather} | {' | '.join(cells + more)} |", flush=True)
    sink(True)


def ie(kind: int, value: bytes) -> bytes:
    """An information element: type, length, value (TS 29.244, 8.1.1)."""
    return struct.pack("!HH", kind, len(value)) + value


def ies(octets: bytes) -> Iterator[tuple[int, bytes]]:
    """Elements in a row."""
    while octets:
        kind, length = struct.unpack("!HH", octets[:4])
        yield kind, octets[4 : 4 + length]
        octets = octets[4 + length :]


def establishment(k: int, smf: bytes) -> bytes:
    """A Session Establishment Request: both ways, no bound, QFI 9 (TS 29.244, 7.5.2)."""
    address = socket.inet_aton(ue(1 + k))

    def pdr(number: int, pdi: bytes, removal: bytes) -> bytes:
        head = ie(56, struct.pack("!H", number)) + ie(29, struct.pack("!I", 100))
        return ie(1, head + ie(2, pdi) + removal + ie(108, struct.pack("!I", number)) + ie(109, struct.pack("!I", 1)))

    def far(number: int, parameters: bytes) -> bytes:
        return ie(3, ie(108, struct.pack("!I", number)) + ie(44, b"\x02") + ie(4, parameters))

    tunnel = ie(84, struct.pack("!HI", 0x0100, 1 + k) + socket.inet_aton(GNB))
    return b"".join([
        ie(60, b"\0" + smf),
        ie(57, b"\x02" + struct.pack("!Q", 1 + k) + smf),
        pdr(1, ie(20, b"\0") + ie(21, b"\x05") + ie(93, b"\x02" + address), ie(95, b"\0")),
        pdr(2, ie(20, b"\x01") + ie(93, b"\x06" + address), b""),
        far(1, ie(42, b"\x01")),
        far(2, ie(42, b"\0") + tunnel),
        ie(7, ie(109, struct.pack("!I", 1)) + ie(25, b"\0") + ie(124, b"\x09")),
    ])  # fmt: skip


def set_up(count: int) -> None:
    """Orders sessions, 64 requests under way; prints their uplink tunnels and how long that took."""
    smf = socket.inet_aton("127.0.0.3")
    control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    control.bind(("127.0.0.3", 8805))
    control.connect(("127.0.0.1", 8805))
    control.settimeout(5)

    def message(kind: int, seq: int, body: bytes, seid: bool) -> bytes:
        rest = (bytes(8) if seid else b"") + struct.pack("!I", seq << 8) + body
        return struct.pack("!BBH", 0x20 | seid, kind, len(rest)) + rest

    control.send(message(5, 1, ie(60, b"\0" + smf) + ie(96, struct.pack("!I", 1)), False))
    while control.recv(4_000)[1] != 6:
        pass
    orders = [message(50, 2 + k, establishment(k, smf), True) for k in range(count)]
    tunnels: dict[int, int] = {}
    begun, sent = time.monotonic(), 0
    while len(tunnels) < count:
        while sent < min(count, len(tunnels) + 64):
            control.send(orders[sent])
            sent += 1
        answer = control.recv(4_000)
        if answer[1] == 1:
            body = answer[4:8] + ie(96, struct.pack("!I", 1))
            control.send(struct.pack("!BBH", 0x20, 2, len(body)) + body)
        elif answer[1] == 51:
            said = dict(ies(answer[16:]))
            if said[19] != b"\x01":
                sys.exit(f"error: refused: {said}")
            created = dict(ies(said[8]))
            tunnels[struct.unpack("!I", answer[12:16])[0] >> 8] = struct.unpack("!I", created[21][1:5])[0]
    seconds = time.monotonic() - begun
    print(json.dumps({"teids": [tunnels[2 + k] for k in range(count)], "seconds": seconds}))


if __name__ == "__main__":
    main()
