"""How soon real encoders follow a target rate, frame by frame: the tables of docs/design/0101.

    python3 benches/encoders/run.py

Needs cc, cargo and libvpx's headers (Debian: libvpx-dev); `CFLAGS` and `LDFLAGS` may name another place of theirs.
OpenH264 is built from the source that its crate holds.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
WIDTH, HEIGHT, FPS, FRAMES = 640, 360, 30, 600
# kbit/s from each frame on: a start, a rise, a fall to a fifth, a rise.
STEPS = ((1000, 0), (3000, 150), (600, 300), (2000, 450))
# A step is settled from the frame on after which two means of so many frames, one behind the other, are this near.
NEAR, MEAN = 0.25, 5
# A second after a step its state is steady.
STEADY = FPS


def command(words: list[str | Path], **options: object) -> str:
    """What `words` prints."""
    print("+", shlex.join(map(str, words)), file=sys.stderr)
    return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def table(name: str, lines: str) -> None:
    """Prints a row for each step of the target, of an encoder's lines."""
    rows = [tuple(map(float, line.split())) for line in lines.splitlines()]
    spent = sorted(row[2] for row in rows)
    ends = [first for _, first in STEPS[1:]] + [FRAMES]
    for (target, first), end in zip(STEPS, ends, strict=True):
        sizes = [size / wanted for wanted, size, _ in rows[first:end]]
        near = [abs(sum(sizes[k : k + MEAN]) / MEAN - 1) <= NEAR for k in range(len(sizes) - MEAN)]
        settled = next((k for k in range(len(near) - MEAN) if near[k] and near[k + MEAN]), None)
        steady = sorted(sizes[STEADY:])
        p5, p95 = (steady[int(len(steady) * q)] for q in (0.05, 0.95))
        print(
            f"| {name} | {target} | {sizes[0]:.2f} | {settled} | {sum(sizes[:15]) / 15:.2f} "
            f"| {sum(steady) / len(steady):.2f} | {p5:.2f} to {p95:.2f} | {spent[len(spent) // 2]:.1f} |"
        )


def main() -> None:
    """Builds, encodes and prints."""
    flags = shlex.split(os.environ.get("CFLAGS", ""))
    libraries = shlex.split(os.environ.get("LDFLAGS", ""))
    steps = [f"{target}@{first}" for target, first in STEPS]
    size = [str(WIDTH), str(HEIGHT), str(FPS)]
    with tempfile.TemporaryDirectory() as folder:
        frames = Path(folder, "frames")
        command(["cc", "-O2", HERE / "pattern.c", "-o", Path(folder, "pattern")])
        command(["cc", "-O2", *flags, HERE / "vpx.c", "-o", Path(folder, "vpx"), *libraries, "-lvpx"])
        command(["cargo", "build", "--release", "--manifest-path", HERE / "Cargo.toml", "--target-dir", folder])
        with frames.open("wb") as out:
            subprocess.run([Path(folder, "pattern"), size[0], size[1], str(FRAMES)], check=True, stdout=out)
        print("| encoder | target | first | settled after | mean of 15 | steady mean | steady p5 to p95 | CPU ms |")
        print("|---|---|---|---|---|---|---|---|")
        for name in ("vp8", "vp9"):
            table(f"libvpx {name}", command([Path(folder, "vpx"), name, frames, *size, *steps]))
        for mode in ("quality", "bitrate"):
            words = [Path(folder, "release/encoders"), frames, *size, mode, *steps]
            table(f"openh264 {mode}", command(words, stderr=subprocess.DEVNULL))


if __name__ == "__main__":
    main()
