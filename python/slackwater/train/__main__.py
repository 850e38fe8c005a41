"""``python -m slackwater.train``: what `slackwater train` runs."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slackwater import extras
from slackwater.beacon import Beacon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tqdm import tqdm as Bar  # noqa: N812

    from slackwater.beacon import Curve

SCHEMES = ("residual-linear", "residual-tanh", "poster")
# What a training makes is called after its scheme; `tyrus` is what the controller flies by itself.
NAMES = {"forecast": "ebb", "residual-linear": "tyrus", "residual-tanh": "tyrus-tanh", "poster": "tyrus-poster"}


def revision() -> str:
    """The commit that this code is of, with a mark where files differ from it."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        import slackwater

        return f"release {slackwater.__version__}"
    return done.stdout.strip()


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, about: str, *examples: str
) -> argparse.ArgumentParser:
    """A command with a description and examples in its help."""
    return commands.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog="\n  ".join(["Examples:", *examples]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _common(command: argparse.ArgumentParser, out: str) -> None:
    """What every training takes."""
    command.add_argument("--seeds", type=int, default=5, help="trainings, each with a seed of its own (default: 5)")
    command.add_argument("--seed", type=int, default=1, help="the first seed")
    command.add_argument("--domain", type=Path, action="append", help="JSON of a domain; several make a curriculum")
    command.add_argument("--out", type=Path, default=Path("runs") / out, help=f"where results go (default: runs/{out})")
    command.add_argument("--models", type=Path, help="also put the best policy and its card into this folder")
    command.add_argument("--jobs", type=int, help="processes (default: all cores)")
    command.add_argument(
        "--ray", metavar="ADDRESS", help="train on this Ray cluster: auto, local, HOST:PORT or ray://..."
    )
    command.add_argument("--quiet", action="store_true", help="no progress bar")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="slackwater train",
        description="Train congestion controllers, and look at them.",
        epilog="Examples:\n  slackwater train tyrus\n  slackwater train bench",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    tyrus = _command(
        commands,
        "tyrus",
        "train Tyrus's policies",
        "slackwater train tyrus",
        "slackwater train tyrus --scheme residual-tanh --seeds 2 --generations 5 --out runs/tanh",
    )
    tyrus.add_argument("--scheme", choices=[*SCHEMES, "all"], default="residual-linear", help="what is trained")
    _common(tyrus, "train-tyrus")
    tyrus.add_argument("--steps", type=int, help="decisions of a training of the poster's scheme (default: 1500000)")
    tyrus.add_argument("--generations", type=int, help="generations of a search (default: 20)")
    ebb = _command(
        commands,
        "ebb",
        "train a forecast for ebb, and the margins that suit it",
        "slackwater train ebb",
        "slackwater train ebb --seeds 1 --epochs 10 --generations 4 --out runs/forecast",
    )
    _common(ebb, "train-ebb")
    ebb.add_argument("--epochs", type=int, help="passes over the examples (default: 40)")
    ebb.add_argument(
        "--generations", type=int, help="generations of the search for margins (default: 12); 0: those of ebb"
    )
    look = _command(
        commands,
        "evaluate",
        "score a policy on recorded traces",
        "slackwater train evaluate runs/train-tyrus/tyrus.safetensors traces/*.down",
    )
    look.add_argument("policy", type=Path, help="a policy file")
    look.add_argument("traces", type=Path, nargs="+", help="Mahimahi traces")
    look.add_argument("--in-sample", action="store_true", help="also evaluate traces that it was trained on")
    look.add_argument("--jobs", type=int, help="threads (default: all cores)")
    look.add_argument("--json", action="store_true", help="print JSON")
    export = _command(
        commands,
        "export",
        "write a policy as an ONNX model",
        "slackwater train export runs/train-tyrus/tyrus.safetensors --onnx tyrus.onnx",
    )
    export.add_argument("policy", type=Path, help="a policy file")
    export.add_argument("--onnx", type=Path, metavar="FILE", help="the model (default: the policy's name and .onnx)")
    bench = _command(commands, "bench", "measure what a step of an environment costs", "slackwater train bench")
    bench.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _domains(args: argparse.Namespace, scheme: str) -> list[dict[str, Any]]:
    if not args.domain:
        from slackwater.train.domains import DOMAINS, FORECAST

        if scheme == "forecast":
            return FORECAST
        # The poster's training had single flows on links.
        return [{}] if scheme == "poster" else DOMAINS
    out = []
    for file in args.domain:
        try:
            domain = json.loads(file.read_text())
        except (OSError, json.JSONDecodeError) as error:
            msg = f"--domain {file}: found {error}, expected the JSON of a domain"
            raise ValueError(msg) from error
        # Paths of traces start at the domain's folder.
        domain["traces"] = [str((file.parent / t).resolve()) for t in domain.get("traces", [])]
        out.append(domain)
    return out


def _tasks(args: argparse.Namespace, scheme: str, out: Path, found: str) -> list[dict[str, Any]]:
    from slackwater.cluster import cores
    from slackwater.train.policy import sha256

    domains = _domains(args, scheme)
    hashes = sorted(sha256(Path(t)) for domain in domains for t in domain.get("traces", []))
    jobs = args.jobs or cores()
    options: dict[str, Any] = {"domains": domains, "jobs": jobs if args.seeds == 1 and not args.ray else 1}
    keys = {"poster": ["steps"], "forecast": ["epochs", "generations"]}.get(scheme, ["generations"])
    length = {key: getattr(args, key) for key in keys}
    options |= {k: v for k, v in length.items() if v is not None}
    return [
        {
            "scheme": scheme,
            "options": options | {"seed": seed},
            "folder": str((out / scheme / f"seed-{seed}").resolve()),
            "hashes": hashes,
            "revision": found,
        }
        for seed in range(args.seed, args.seed + args.seeds)
    ]


def _curves(folders: Sequence[str]) -> tuple[int, list[Curve]]:
    """How many updates all seeds have made, and what each reported along the way."""
    done, curves = 0, []
    for folder in folders:
        file = Path(folder) / "curve.jsonl"
        # A line that is being written has no end yet.
        lines = file.read_text().split("\n")[:-1] if file.exists() else []
        done += len(lines)
        rows = [json.loads(line) for line in lines]
        points = [(float(at), row["score"]) for at, row in enumerate(rows, 1) if "score" in row]
        if points:
            x, y = zip(*points, strict=True)
            curves.append((f"score, {Path(folder).name}", "", list(x), list(y)))
    return done, curves


def _watch(bar: Bar, beacon: Beacon, folders: Sequence[str], stop: threading.Event) -> None:
    """Follow the curves that the seeds write; the bar and the page show updates of all of them."""
    while not stop.wait(0.5):
        done, curves = _curves(folders)
        bar.n = min(done, bar.total)
        bar.refresh()
        beacon.tell(bar.n / max(bar.total, 1), curves)


def _seeds(args: argparse.Namespace, scheme: str, out: Path, tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Train all seeds, and show how far they are."""
    from tqdm import tqdm

    from slackwater import cluster
    from slackwater.train import seed

    updates = seed.trainer(scheme, tasks[0]["options"]).updates
    bar = tqdm(total=updates * len(tasks), desc=scheme, unit="upd", disable=args.quiet or None, file=sys.stderr)
    stop = threading.Event()
    with Beacon(out, "training", f"{NAMES[scheme]}, {len(tasks)} seeds") as beacon:
        folders = [t["folder"] for t in tasks]
        watcher = threading.Thread(target=_watch, args=(bar, beacon, folders, stop), daemon=True)
        watcher.start()
        try:
            found = dict(cluster.run(seed.train, tasks, jobs=args.jobs, ray=args.ray))
        finally:
            stop.set()
            watcher.join()
            bar.close()
    return [found[i] for i in range(len(tasks))]


def _train(args: argparse.Namespace, scheme: str, out: Path, command: str, found_revision: str) -> Path:
    from slackwater.train import card, report
    from slackwater.train.evaluate import beyond, evaluate, unseen

    tasks = _tasks(args, scheme, out, found_revision)
    start = time.monotonic()
    results = _seeds(args, scheme, out, tasks)
    best = max(results, key=lambda r: r["score"])
    name = NAMES[scheme]
    path = out / f"{name}.safetensors"
    path.write_bytes(best["policy"])
    (out / f"{name}.html").write_text(report.page(f"Training of {name}", command, results))
    rows, cases = [], {}
    if (traces := unseen()) and not tasks[0]["hashes"]:
        rows, cases = evaluate(path, traces, jobs=args.jobs), beyond(path, traces, jobs=args.jobs)
        (out / f"{name}.evaluation.json").write_text(json.dumps({"single": rows} | cases, indent=1))
    text = card.card(path, scheme, command, tasks[0], results, rows, cases)
    (out / f"{name}.md").write_text(text)
    if args.models:
        args.models.mkdir(parents=True, exist_ok=True)
        (args.models / path.name).write_bytes(path.read_bytes())
        (args.models / f"{name}.md").write_text(text)
    print(f"{name}: seeds {', '.join(str(r['seed']) for r in results)} in {time.monotonic() - start:.0f} s")
    for r in results:
        over = "" if r["over rule2"] is None else f", over rule2 {r['over rule2']:+.4f}"
        print(f"  seed {r['seed']}: score {r['score']:.4f}{over}{'  (best)' if r is best else ''}")
    print(f"{path}\n{out / (name + '.html')}")
    return path


def _train_ebb(args: argparse.Namespace, command: str, found_revision: str) -> None:
    from slackwater.train import card, report
    from slackwater.train.evaluate import forecast, unseen

    tasks = _tasks(args, "forecast", args.out, found_revision)
    start = time.monotonic()
    results = _seeds(args, "forecast", args.out, tasks)
    best = max(results, key=lambda r: r["score"])
    path = args.out / "ebb.safetensors"
    path.write_bytes(best["policy"])
    (args.out / "ebb.html").write_text(report.page("Training of a forecast for ebb", command, results))
    traces = [] if tasks[0]["hashes"] else unseen()
    rows = forecast(path, traces, jobs=args.jobs) if traces else []
    (args.out / "ebb.evaluation.json").write_text(json.dumps(rows, indent=1))
    text = card.forecast(path, command, tasks[0], results, rows)
    (args.out / "ebb.md").write_text(text)
    if args.models:
        args.models.mkdir(parents=True, exist_ok=True)
        (args.models / path.name).write_bytes(path.read_bytes())
        (args.models / "ebb.md").write_text(text)
    print(f"ebb: seeds {', '.join(str(r['seed']) for r in results)} in {time.monotonic() - start:.0f} s")
    for r in results:
        last = r["curve"][-1]
        parts = f"forecast {last['over ebb, forecast']:+.4f}, margins {last['over ebb, margins']:+.4f}"
        print(f"  seed {r['seed']}: S over ebb {r['over ebb']:+.4f} ({parts}){'  (best)' if r is best else ''}")
    print("\n".join(card.verdict(rows)))
    print(f"{path}\n{args.out / 'ebb.html'}\nslackwater run arena/lte-fading --set flow.controller=ebb:forecast={path}")


def _evaluate(args: argparse.Namespace) -> int:
    from slackwater.train import policy as files
    from slackwater.train.evaluate import evaluate, forecast

    trained = files.load(args.policy).metadata.get("kind") == "ebb-forecast"
    rows = (forecast if trained else evaluate)(args.policy, args.traces, in_sample=args.in_sample, jobs=args.jobs)
    if args.json:
        print(json.dumps(rows, indent=1))
        return 0
    print(f"{'trace':40} {'controller':14} {'Mbit/s':>8} {'used':>6} {'p95 ms':>8} {'score':>8}")
    for row in rows:
        print(
            f"{row['trace'][:40]:40} {row['controller'][:14]:14} {row['mbps']:8.2f} {row['used']:6.2f} "
            f"{row['p95_ms']:8.1f} {row['score']:8.3f}"
        )
    return 0


def _export(args: argparse.Namespace) -> int:
    from slackwater.train import onnx
    from slackwater.train import policy as files

    out = args.onnx or args.policy.with_suffix(".onnx")
    out.write_bytes(onnx.model(files.load(args.policy)))
    print(out)
    return 0


def _bench(args: argparse.Namespace) -> int:
    from slackwater.train.bench import measure

    rows = measure()
    if args.json:
        print(json.dumps(rows, indent=1))
        return 0
    for row in rows:
        goal = "" if row["goal_us"] is None else f"  (goal {row['goal_us']:.0f})"
        print(f"{row['case']:34} {row['us_per_step']:8.2f} us a step{goal}")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """`slackwater train`."""
    args = _parser().parse_args(arguments)
    try:
        extras.check("train")
    except ModuleNotFoundError as error:
        print(f"slackwater: {error}", file=sys.stderr)
        return 2
    # Before numpy is loaded.
    from slackwater.train import seed  # noqa: F401

    try:
        if args.command == "evaluate":
            return _evaluate(args)
        if args.command == "export":
            return _export(args)
        if args.command == "bench":
            return _bench(args)
        if args.seeds < 1:
            msg = f"--seeds: found {args.seeds}, expected at least 1"
            raise ValueError(msg)
        args.out.mkdir(parents=True, exist_ok=True)
        words = list(arguments) if arguments is not None else sys.argv[1:]
        # Before anything is written: a policy that this command puts into the tree does not make the next one's dirty.
        found = revision()
        told = " ".join(["slackwater train", *words])
        if args.command == "ebb":
            _train_ebb(args, told, found)
            return 0
        for scheme in SCHEMES if args.scheme == "all" else [args.scheme]:
            _train(args, scheme, args.out, told, found)
    except KeyboardInterrupt:
        print("slackwater: interrupted; the same command goes on", file=sys.stderr)
        return 130
    except (ValueError, OSError, ImportError, RuntimeError) as error:
        print(f"slackwater: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
