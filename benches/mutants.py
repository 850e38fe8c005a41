"""Tries the mutants of cargo-mutants on one build that has them all.

    pip install tree-sitter tree-sitter-rust
    python3 benches/mutants.py queue:2/8 ran:16/21

cargo-mutants builds each mutant by itself, which takes hours. This copies the tree and writes the mutants of all shards
into the copy, each in a branch that SLACKWATER_MUTANT chooses. It builds once and runs the tests of the crate for each
mutant: unit tests, the others, and for those that survive `outcomes` of `lab`. A mutant without a branch (a constant),
or one that does not compile beside the others, is not tried. `--alone FILE` tries those without a branch of an earlier
run, one build each. An operator's mutant keeps its operands: cargo-mutants changes the text, and precedence with it.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tree_sitter import Node

Mutant = dict[str, Any]

ROOT = Path(__file__).resolve().parent.parent
TREE = ROOT / "target/mutants/tree"
BUILD = ROOT / "target/mutants/build"
CHOICE = "SLACKWATER_MUTANT"
# A mutant under which tests take so many times as long as without is endless, but not before so many seconds.
ENDLESS, AT_LEAST_S = 10.0, 20.0
# So long at most without a mutant.
MOST_S = 900.0
VERDICTS = ["unit", "own", "runs", "missed", "no branch", "not compiled"]

# What is wrong in each run of a mutant is an error to the compiler; here it fails in the run.
LINTS = "#![allow(arithmetic_overflow, unconditional_panic, clippy::all)]\n"
HOOK = f"""
#[doc(hidden)]
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]
pub fn __mutant(id: usize) -> bool {{
    static CHOSEN: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *CHOSEN.get_or_init(|| std::env::var("{CHOICE}").ok().and_then(|v| v.parse().ok()).unwrap_or(usize::MAX)) == id
}}
"""


def offset(source: str, at: dict[str, int]) -> int:
    """Octets before a line and column of cargo-mutants, which count from 1 in characters."""
    lines = source.split("\n")
    before = sum(len(line.encode()) + 1 for line in lines[: at["line"] - 1])
    return before + len(lines[at["line"] - 1][: at["column"] - 1].encode())


def constant(node: Node | None) -> bool:
    """True where the compiler computes it, so that no branch can be chosen in the run."""
    child = node
    while node is not None:
        if node.type in {"const_item", "static_item", "enum_variant", "const_block"}:
            return True
        length = node.type == "array_expression" and node.child_by_field_name("length") == child
        if length or node.type == "array_type":
            return True
        if node.type == "function_item":
            modifiers = next((c for c in node.children if c.type == "function_modifiers"), None)
            return modifiers is not None and b"const" in modifiers.text.split()
        if node.type == "closure_expression":
            return False
        child, node = node, node.parent
    return False


def place(root: Node, source: str, mutant: Mutant) -> Node | None:
    """The node that a mutant changes; nothing where no branch can be."""
    start = offset(source, mutant["span"]["start"])
    node = root.descendant_for_byte_range(start, start + 1)
    genre = mutant["genre"]
    if genre == "FnValue":
        while node is not None and node.type != "function_item":
            node = node.parent
        # Two branches of an opaque type would have to be one type.
        if node is None or constant(node) or "impl " in mutant["function"]["return_type"]:
            return None
        return node.child_by_field_name("body")
    if genre == "BinaryOperator":
        node = node.parent if node.child_count == 0 else node
        ok = node.type in {"binary_expression", "compound_assignment_expr"}
        ok = ok and node.child_by_field_name("operator").start_byte == start
    elif genre == "UnaryOperator":
        node = node.parent if node.child_count == 0 else node
        ok = node.type == "unary_expression" and node.start_byte == start
    elif genre == "MatchArm":
        while node is not None and node.type != "match_arm":
            node = node.parent
        ok = node is not None
        node = node.child_by_field_name("pattern") if ok else None
    elif genre == "MatchArmGuard":
        while node is not None and node.type != "match_pattern":
            node = node.parent
        ok = node is not None and node.child_by_field_name("condition") is not None
        ok = ok and b"let " not in node.child_by_field_name("condition").text
    elif genre == "StructField":
        while node is not None and node.type != "field_initializer":
            node = node.parent
        ok = node is not None
    else:
        ok = False
    return node if ok and node is not None and not constant(node) else None


def branch(text: str, node: Node, mutants: list[tuple[int, Mutant]]) -> str:
    """The code of a node, in which each of its mutants has a branch."""

    def marked(number: int, code: str) -> str:
        return f"\n/*<{number}*/ {code} /*>{number}*/\n"

    for number, mutant in mutants:
        chosen, new = f"crate::__mutant({number})", mutant["replacement"]
        genre = mutant["genre"]
        if genre == "FnValue":
            text = "{" + marked(number, f"if {chosen} {{ return {new}; }}") + text[1:]
        elif genre == "BinaryOperator":
            left = node.child_by_field_name("left").text.decode()
            right = node.child_by_field_name("right").text.decode()
            text = "(if" + marked(number, f"{chosen} {{ {left} {new} {right} }}") + f"else {{ ({text}) }})"
        elif genre == "UnaryOperator":
            text = "(if" + marked(number, f"{chosen} {{ {node.children[1].text.decode()} }}") + f"else {{ ({text}) }})"
        elif genre == "MatchArm":
            guard = re.match(r"(.*?)\sif\s(.*)$", text, re.DOTALL) if node.child_by_field_name("condition") else None
            pattern, rest = (guard[1], f" && ({guard[2]})") if guard else (text, "")
            text = pattern + marked(number, f"if !{chosen}{rest}")
        elif genre == "StructField":
            # Without the field, it is that of the value behind `..`.
            others = next(c for c in node.parent.children if c.type == "base_field_initializer").text.decode()[2:]
            field = node.child_by_field_name("field").text.decode()
            value = node.child_by_field_name("value").text.decode()
            text = f"{field}: if" + marked(number, f"{chosen} {{ ({others}).{field} }}") + f"else {{ {value} }}"
        else:
            pattern, condition = re.match(r"(.*?)\sif\s(.*)$", text, re.DOTALL).groups()  # type: ignore[union-attr]
            instead = f"({chosen} || ({condition}))" if new == "true" else f"(!{chosen} && ({condition}))"
            text = pattern + marked(number, f"if {instead}")
    return text


def write(crates: list[str], mutants: dict[int, Mutant]) -> set[int]:
    """Writes mutants of some crates into the copy of the tree; those for which it can."""
    import tree_sitter_rust
    from tree_sitter import Language, Parser

    parser = Parser(Language(tree_sitter_rust.language()))
    files = defaultdict(list)
    for number, mutant in mutants.items():
        files[mutant["file"]].append((number, mutant))
    written = set()
    for file, its in files.items():
        source = (ROOT / file).read_text()
        octets = source.encode()
        root = parser.parse(octets).root_node
        at = defaultdict(list)
        for number, mutant in its:
            if (node := place(root, source, mutant)) is not None:
                at[(node.start_byte, node.end_byte, node.type)].append((number, mutant))
                written.add(number)

        def render(node: Node, octets: bytes = octets, at: dict[Any, Any] = at) -> str:
            text, here = "", node.start_byte
            for child in node.children:
                text += octets[here : child.start_byte].decode() + render(child)
                here = child.end_byte
            text += octets[here : node.end_byte].decode()
            return branch(text, node, at.get((node.start_byte, node.end_byte, node.type), []))

        head, tail = octets[: root.start_byte].decode(), octets[root.end_byte :].decode()
        (TREE / file).write_text(head + render(root) + tail)
    for crate in crates:
        library = TREE / f"crates/{crate}/src/lib.rs"
        library.write_text(LINTS + library.read_text() + HOOK)
    return written


def cargo(words: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs cargo in the copy. What it builds has the names of the tree's own programs, and so a folder of its own."""
    env = {**os.environ, "CARGO_TARGET_DIR": str(BUILD)}
    return subprocess.run(["cargo", *words], cwd=TREE, env=env, text=True, capture_output=True, check=False)


def copy() -> None:
    """The tree under test: what git tracks. What is there already stays, so that cargo compiles what differs alone."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    wanted = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    for name in wanted:
        there = TREE / name
        if not there.exists():
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, there)
        elif not filecmp.cmp(ROOT / name, there, shallow=False):
            # With the time of now: cargo would take what it built of a mutant for newer than the old file.
            shutil.copyfile(ROOT / name, there)
    for path in TREE.rglob("*.rs"):
        if str(path.relative_to(TREE)) not in wanted:
            path.unlink()


def blamed(output: str) -> set[int]:
    """The mutants whose branches the compiler's errors point to."""
    numbers: set[int] = set()
    for line in output.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("reason") != "compiler-message" or message["message"]["level"] != "error":
            continue
        found: set[int] = set()
        parts = [message["message"], *message["message"]["children"]]
        spans = sorted((s for p in parts for s in p["spans"]), key=lambda s: not s["is_primary"])
        for span in spans:
            lines = (TREE / span["file_name"]).read_text().split("\n") if (TREE / span["file_name"]).is_file() else []
            opened: set[int] = set()
            for row, text in enumerate(lines, 1):
                opened |= {int(n) for n in re.findall(r"/\*<(\d+)\*/", text)}
                if span["line_start"] <= row <= span["line_end"]:
                    found |= opened
                opened -= {int(n) for n in re.findall(r"/\*>(\d+)\*/", text)}
            if found:
                break
        numbers |= found
        if not found and message["message"]["spans"]:
            print(message["message"]["rendered"], file=sys.stderr)
    return numbers


def rendered(output: str) -> str:
    """The errors in what cargo prints, as a person reads them."""
    messages = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    messages = [m["message"] for m in messages if m.get("reason") == "compiler-message"]
    return "".join(m["rendered"] for m in messages if m["level"] == "error")


def build(words: list[str]) -> tuple[list[tuple[str, Path, Path]], str]:
    """The test programs that a build makes, as (crate and target, program, its folder); its errors where it fails."""
    done = cargo(["test", "--no-run", "--message-format=json", *words])
    if done.returncode:
        return [], rendered(done.stdout) + done.stderr
    programs = []
    for line in done.stdout.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("reason") == "compiler-artifact" and message.get("executable") and message["profile"]["test"]:
            folder = Path(message["manifest_path"]).parent
            name = f"{folder.name}/{message['target']['name']}"
            programs.append((name, "lib" in message["target"]["kind"], Path(message["executable"]), folder))
    return [(name, program, folder) for name, _, program, folder in sorted(programs, key=lambda p: not p[1])], ""


def fails(program: Path, folder: Path, number: int | None, bound: float) -> bool:
    """True where a test fails, or runs for longer than `bound` seconds. The first failure is enough."""
    # An input that killed one mutant is not kept for the next.
    env = {**os.environ, "CARGO_MANIFEST_DIR": str(folder), "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1"}
    env.setdefault("PROPTEST_RNG_SEED", "20261126")
    if number is not None:
        env[CHOICE] = str(number)
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    child = subprocess.Popen([program], cwd=folder, env=env, bufsize=0, stdout=pipe, stderr=null)
    os.set_blocking(child.stdout.fileno(), False)  # type: ignore[union-attr]
    began, seen = time.monotonic(), b""
    while child.poll() is None:
        seen += child.stdout.read() or b""  # type: ignore[union-attr]
        if b"... FAILED" in seen or time.monotonic() - began > bound:
            child.kill()
            child.wait()
            return True
        time.sleep(0.02)
    return child.returncode != 0


def suites(crates: list[str]) -> list[tuple[str, list[str]]]:
    """The three columns of the table: unit tests, other tests of the crates, whole runs."""
    packages = [f"-pslackwater-{crate}" for crate in crates]
    runs = ("runs", ["--workspace", "--test", "outcomes"])
    own = [name for crate in crates for name in tests_of(crate)]
    rows = [("unit", [*packages, "--lib"]), ("own", [*packages, *(w for name in own for w in ("--test", name))])]
    return [*(row for row in rows if row[0] != "own" or own), runs]


def tests_of(crate: str) -> list[str]:
    """The names of a crate's integration tests."""
    folder = ROOT / f"crates/{crate}/tests"
    return sorted({p.stem for p in folder.glob("*.rs")} | {p.parent.name for p in folder.glob("*/main.rs")})


def together(tried: dict[int, Mutant], out: Path) -> None:
    """All mutants in one build."""
    crates = sorted({crate_of(mutant) for mutant in tried.values()})
    # What an earlier run of the same shards found, which was interrupted.
    kept = out.with_suffix(".kept.json")
    known = json.loads(kept.read_text()) if kept.exists() else {}
    uncompiled = {n for n, m in tried.items() if known.get(f"compiles: {m['name']}") is False}
    left = {n: m for n, m in tried.items() if n not in uncompiled}
    while True:
        copy()
        written = write(crates, left)
        packages = [f"-pslackwater-{crate}" for crate in crates]
        checked = cargo(["check", "-q", "--keep-going", *packages, "--lib", "--tests", "--message-format=json"])
        if not checked.returncode:
            break
        wrong = blamed(checked.stdout) & written
        print(f"{len(wrong)} mutants do not compile beside the others", flush=True)
        if not wrong:
            sys.exit(f"mutants: the copy does not compile, and no mutant is to blame:\n{checked.stderr[-3000:]}")
        uncompiled |= wrong
        known |= {f"compiles: {tried[n]['name']}": False for n in wrong}
        kept.write_text(json.dumps(known))
        left = {n: m for n, m in left.items() if n not in wrong}
    verdicts = {n: "no branch" for n in tried if n not in written} | dict.fromkeys(uncompiled, "not compiled")
    alive = sorted(written)
    for name, words in suites(crates):
        programs, wrong_output = build(words)
        if wrong_output:
            sys.exit(f"mutants: {name} does not build:\n{wrong_output[-3000:]}")
        bounds = []
        for program, path, folder in programs:
            began = time.monotonic()
            if fails(path, folder, None, MOST_S):
                sys.exit(f"mutants: {program} fails without a mutant")
            bounds.append(max(AT_LEAST_S, ENDLESS * (time.monotonic() - began)))
            print(f"{program} takes {time.monotonic() - began:.1f} s", flush=True)
        for number in alive:
            key = f"{name}: {tried[number]['name']}"
            if key not in known:
                mine = [
                    (path, folder, bound)
                    for (_, path, folder), bound in zip(programs, bounds, strict=True)
                    if name == "runs" or folder.name == crate_of(tried[number])
                ]
                known[key] = any(fails(path, folder, number, bound) for path, folder, bound in mine)
                kept.write_text(json.dumps(known))
                print(f"{name} {'dies' if known[key] else 'lives'}: {tried[number]['name']}", flush=True)
            if known[key]:
                verdicts[number] = name
        alive = [n for n in alive if n not in verdicts]
        print(f"{len(alive)} of {len(written)} live after {name}", flush=True)
    verdicts |= dict.fromkeys(alive, "missed")
    rows = [{"verdict": verdicts[n], **m} for n, m in tried.items()]
    out.write_text(json.dumps(rows, indent=1))
    for crate in crates:
        of = [row["verdict"] for row in rows if crate_of(row) == crate]
        killed = sum(verdict in ("unit", "own", "runs") for verdict in of)
        judged = killed + of.count("missed")
        counts = ", ".join(f"{of.count(verdict)} {verdict}" for verdict in VERDICTS)
        print(
            f"{crate}: {len(of)} mutants, {counts}; killed {killed} of {judged}, {100 * killed / max(1, judged):.0f} %"
        )


def crate_of(mutant: Mutant) -> str:
    """The crate that a mutant is in."""
    return str(mutant["file"]).split("/")[1]


def alone(tried: dict[int, Mutant], out: Path, seconds: float) -> None:
    """One build for each mutant, as cargo-mutants does it."""
    began, rows = time.monotonic(), []
    copy()
    for mutant in tried.values():
        if time.monotonic() - began > seconds:
            break
        source = (ROOT / mutant["file"]).read_text().encode()
        text = source.decode()
        start, end = offset(text, mutant["span"]["start"]), offset(text, mutant["span"]["end"])
        (TREE / mutant["file"]).write_bytes(source[:start] + mutant["replacement"].encode() + source[end:])
        verdict = "missed"
        for name, words in suites([crate_of(mutant)]):
            programs, wrong = build(words)
            if wrong:
                verdict = "not compiled"
                break
            bound = MOST_S if name == "runs" else 3 * AT_LEAST_S
            if any(fails(program, folder, None, bound) for _, program, folder in programs):
                verdict = name
                break
        (TREE / mutant["file"]).write_bytes(source)
        rows.append({**mutant, "verdict": verdict})
        out.write_text(json.dumps(rows, indent=1))
        print(f"{verdict}: {mutant['name']}", flush=True)
    print(f"{len(rows)} of {len(tried)} judged in {time.monotonic() - began:.0f} s")


def main() -> None:
    """Reads the arguments, and the mutants of the shard."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument(
        "shards", nargs="*", help="crates, each with its shard: queue:2/8 is each 8th mutant from the 2nd"
    )
    arguments.add_argument("--out", type=Path, default=ROOT / "target/mutants/together.json")
    arguments.add_argument("--alone", type=Path, help="one build for each 'no branch' of this file")
    arguments.add_argument("--every", type=int, default=1, help="with --alone: each n-th of them")
    arguments.add_argument("--seconds", type=float, default=3600.0, help="with --alone: begins none later")
    given = arguments.parse_args()
    if given.alone:
        rows = [row for row in json.loads(given.alone.read_text()) if row["verdict"] == "no branch"][:: given.every]
        alone(dict(enumerate(rows)), given.alone.with_suffix(".alone.json"), given.seconds)
        return
    tried: list[Mutant] = []
    for crate, shard in (word.split(":") for word in given.shards):
        words = ["mutants", "--list", "--json", f"-pslackwater-{crate}", "--shard", shard, "--sharding", "round-robin"]
        listed = subprocess.run(["cargo", *words], cwd=ROOT, text=True, capture_output=True, check=True).stdout
        tried += json.loads(listed)
    together(dict(enumerate(tried)), given.out)


if __name__ == "__main__":
    main()
