"""The documentation as a site: the repository's Markdown as it is, with the navigation below."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "https://github.com/slackwater/slackwater"

project = "Slackwater"
copyright = "the Slackwater contributors"  # noqa: A001 - Sphinx' name for it
extensions = ["myst_parser"]
include_patterns = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs/**.md"]
root_doc = "README"
myst_heading_anchors = 4
nitpicky = True
html_theme = "furo"
html_title = "Slackwater"
html_extra_path = ["extra"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"source_repository": REPOSITORY, "source_branch": "main", "source_directory": ""}
pygments_style = "friendly"
pygments_dark_style = "native"

NAVIGATION = {
    "Start": [
        "docs/first-run",
        "docs/guide",
        "docs/gallery",
        "docs/glossary",
        "docs/python",
        "docs/python-api",
        "docs/tutorials/README",
        "docs/from-ns-3",
        "docs/from-mahimahi",
    ],
    "Systems": [
        "docs/xrc",
        "docs/vaqm",
        "docs/cecc",
        "docs/al4s",
        "docs/tyrus",
        "docs/ebb",
        "docs/controllers",
        "docs/quic",
        "docs/rtc",
    ],
    "Experiments": [
        "docs/arena",
        "docs/repro",
        "docs/emulate",
        "docs/upf",
        "docs/gnb",
        "docs/training",
        "docs/scale",
        "docs/serve",
        "docs/rfc8867",
    ],
    "Reference": ["docs/scenario", "docs/metrics", "docs/formats", "docs/data", "docs/wire"],
    "Is it right? Is it fast?": ["docs/validation/README", "docs/reliability", "docs/performance", "SECURITY"],
    "The code": ["ARCHITECTURE", "docs/design/README", "CONTRIBUTING", "docs/roadmap", "CHANGELOG", "docs/README"],
}
# Pages below a page.
BELOW = {
    "docs/controllers": ["controllers-measured"],
    "docs/emulate": ["emulate-measured"],
    "docs/quic": ["quic-measured"],
    "docs/performance": ["performance-upf"],
    "docs/vaqm": ["vaqm-measured"],
    "docs/al4s": ["rfc8867"],
    "docs/validation/README": ["live", "ns3"],
    "docs/tutorials/README": ["controller", "python", "scheduler", "sender", "system"],
    "docs/design/README": sorted(p.stem for p in (ROOT / "docs/design").glob("0*.md")),
}

LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def toctree(pages: list[str], caption: str = "") -> str:
    """Navigation that the page itself does not show."""
    named = f":caption: {caption}\n" if caption else ""
    head = f"\n\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n{named}\n"
    return head + "\n".join(pages) + "\n```\n"


def adapt(_: Sphinx, page: str, source: list[str]) -> None:
    """Lead links to folders to their README, and links to code to the repository."""
    here = (ROOT / page).parent

    def target(found: re.Match[str]) -> str:
        path, anchor = found[1], found[2] or ""
        file = (here / path).resolve()
        if file.is_dir() and (file / "README.md").exists() and "docs" in file.relative_to(ROOT).parts:
            return f"]({path.rstrip('/')}/README.md{anchor})"
        if file.exists() and file.suffix not in {".md", ".png", ".svg"}:
            return f"]({REPOSITORY}/blob/main/{file.relative_to(ROOT).as_posix()}{anchor})"
        # What does not exist stays, and fails the build.
        return found[0]

    source[0] = LINK.sub(target, source[0])
    if page == root_doc:
        source[0] += "".join(toctree([f"/{p}" for p in pages], name) for name, pages in NAVIGATION.items())
    if page in BELOW:
        source[0] += toctree(BELOW[page])


def copy_pictures(app: Sphinx, exception: Exception | None) -> None:
    """Copy the pictures that raw HTML shows, of which Sphinx knows nothing."""
    if exception is None:
        folder = Path(app.outdir) / "docs/img"
        folder.mkdir(parents=True, exist_ok=True)
        for picture in (ROOT / "docs/img").glob("*.svg"):
            shutil.copy(picture, folder)


def setup(app: Sphinx) -> None:
    """Register."""
    app.connect("source-read", adapt)
    app.connect("build-finished", copy_pictures)
