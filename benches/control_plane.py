"""A control plane whose sessions come and go, and what a function that starts again must still have of them.

What it knows of PFCP stands in the control plane of the command's tests.
"""

import contextlib
import random
import socket

from peers import echo
from smf import DELETION, UPF, Smf, g_pdu, sessions

# Addresses of its UEs begin with it.
NETWORK = "10.60.8."
# Sessions at most.
MOST = 30
# Changes of sessions at a time, at most.
CHANGES = 6


class ControlPlane:
    """Sessions by PFCP, one for each UE of 10.60.8.0/24."""

    def __init__(self, seed: int) -> None:
        """It has no session yet."""
        self.draw = random.Random(seed)
        self.smf = Smf(recovery=1)
        # UE's number: endpoint of the session, uplink tunnel.
        self.held: dict[int, tuple[int, int]] = {}
        self.orders = 0
        # The function's recovery time stamp.
        self.stamp = 0

    def forget(self) -> None:
        """Drops what a function that has ended left to read."""
        self.smf.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while self.smf.socket.recv(4000):
                pass
        self.smf.socket.settimeout(10)

    def associate(self) -> None:
        """Begins without sessions."""
        self.held.clear()
        self.stamp = self.smf.associate()

    def change(self) -> None:
        """Orders some sessions, and deletes some."""
        for _ in range(self.draw.randint(1, CHANGES)):
            ue = self.draw.randint(1, MOST)
            if ue in self.held:
                endpoint, _ = self.held.pop(ue)
                answer = dict(self.smf.request(DELETION, b"", endpoint))
                if answer[19] != b"\x01":
                    raise RuntimeError(f"deletion: found cause {answer[19].hex()}, expected 01")
            else:
                self.held[ue] = self.smf.establish(address(ue), downlink=0x1000 + ue, endpoint=ue)
            self.orders += 1

    def ping(self, gnb: socket.socket, server: str) -> int:
        """An echo request in each session; how many that is."""
        for ue, (_, tunnel) in self.held.items():
            gnb.sendto(g_pdu(tunnel, echo(self.orders, address(ue), server)), (UPF, 2152))
        return len(self.held)

    def returned(self, kept: bool) -> str | None:
        """What differs from the law after the function has started again; `kept` where it had its state file.

        With it, it has each confirmed session, no other, and the time stamp of before (TS 23.007, 26.1.1). Without it,
        there is none, and another time stamp.
        """
        expected = {endpoint for endpoint, _ in self.held.values()} if kept else set()
        before = self.stamp
        if kept:
            self.stamp = self.smf.heartbeat()
        else:
            self.associate()
        if (self.stamp == before) != kept:
            return f"time stamp {self.stamp} after {before}, state file: {kept}"
        ours = [session for session in sessions() if (session["ue"]["v4"] or "").startswith(NETWORK)]
        found = {int(session["seid"], 16) for session in ours}
        return None if found == expected else f"found sessions {sorted(found)}, expected {sorted(expected)}"


def address(ue: int) -> str:
    """Of the UE of this number."""
    return f"{NETWORK}{ue}"
