"""CPU time of a step of 20 ms: ours, and that of Aurora's simulator in the same run.

Aurora (Jay et al., ICML 2019) is public as PCCproject/PCC-RL; ``python benches/learning.py CHECKOUT`` times the event
loop of its ``src/gym/network_sim.py`` on a link of 20 Mbit/s with one flow at 95 % of it, its observation included. It
was written for the package `gym`; Gymnasium stands in for it.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import gymnasium
import gymnasium.envs.registration
import gymnasium.utils.seeding

from slackwater.train import bench

STEP, STEPS, ROUNDS = 0.02, 200, 7


def aurora(checkout: Path) -> float:
    """Least microseconds of a step over some rounds."""
    sys.path[:0] = [str(checkout / "src"), str(checkout / "src" / "common")]
    for name, module in {
        "gym": gymnasium,
        "gym.spaces": gymnasium.spaces,
        "gym.utils": gymnasium.utils,
        "gym.utils.seeding": gymnasium.utils.seeding,
        "gym.envs": gymnasium.envs,
        "gym.envs.registration": gymnasium.envs.registration,
    }.items():
        sys.modules.setdefault(name, module)
    sys.path.insert(0, str(checkout / "src" / "gym"))
    import network_sim  # type: ignore[import-not-found]

    random.seed(1)
    packets = 20e6 / 8 / 1500
    links = [network_sim.Link(packets, 0.02, 1000, 0.0) for _ in range(2)]
    sender = network_sim.Sender(0.95 * packets, links, 0, ["sent latency inflation"])
    net = network_sim.Network([sender], links)
    sender.rate = 0.95 * packets
    least = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(STEPS):
            net.run_for_dur(STEP)
            sender.record_run()
        least = min(least, (time.process_time() - start) / STEPS)
    return least * 1e6


def main() -> None:
    """Print both."""
    ours = bench.measure()[0]["us_per_step"]
    theirs = aurora(Path(sys.argv[1]))
    print(
        f"a step of 20 ms at 20 Mbit/s: ours {ours:.1f} us, "
        f"Aurora's simulator {theirs:.1f} us, {theirs / ours:.0f} times"
    )


if __name__ == "__main__":
    main()
