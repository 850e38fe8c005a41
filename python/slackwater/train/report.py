"""The page of a training: curves of all seeds, as pictures in one file."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 560, 260, 60, 34, 12
STYLE = """
:root { color-scheme: light dark; --line: #8884; --ink: #222; --paper: #fff }
@media (prefers-color-scheme: dark) { :root { --ink: #ddd; --paper: #16181c } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 1200px;
  margin: 2rem auto; padding: 0 1rem }
figure { display: inline-block; margin: 0 1rem 1.5rem 0; max-width: 100% } svg { max-width: 100%; height: auto }
* { box-sizing: border-box } .swatch { display: inline-block; width: .8em; height: .8em; border-radius: 3px }
.wide { overflow-x: auto } figcaption { font-weight: 600 }
svg text { font: 11px system-ui, sans-serif; fill: var(--ink) } table { border-collapse: collapse }
td, th { padding: .2rem .8rem; border-bottom: 1px solid var(--line); text-align: right } pre { overflow-x: auto }
"""
# Okabe and Ito's colours, which most people can tell apart.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#999933", "#882255", "#44aa99", "#aa4499")

Series = list[tuple[float, float]]


def _ticks(low: float, high: float) -> list[float]:
    span = (high - low) or 1.0
    step = 10.0 ** math.floor(math.log10(span / 3))
    step *= next(m for m in (1, 2, 5, 10) if span / (step * m) <= 5)
    first = math.ceil(low / step)
    return [k * step for k in range(first, math.floor(high / step) + 1)]


def figure(title: str, across: str, lines: dict[str, Series]) -> str:
    """A line for each name; numbers that are none are left out."""
    lines = {k: [(x, y) for x, y in v if math.isfinite(x) and math.isfinite(y)] for k, v in lines.items()}
    points = [p for line in lines.values() for p in line]
    if not points:
        return ""
    (x0, x1), (y0, y1) = ((min(p[i] for p in points), max(p[i] for p in points)) for i in (0, 1))
    pad = 0.05 * ((y1 - y0) or abs(y1) or 1.0)
    y0, y1 = y0 - pad, y1 + pad

    def at(x: float, y: float) -> tuple[float, float]:
        across = (x - x0) / ((x1 - x0) or 1.0)
        up = (y - y0) / (y1 - y0)
        return LEFT + across * (WIDTH - LEFT - 10), HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - TOP)

    parts = []
    for y in _ticks(y0, y1):
        _, v = at(x0, y)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{v:.1f}" y2="{v:.1f}" stroke="var(--line)"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{v + 4:.1f}" text-anchor="end">{y:.4g}</text>')
    for x in _ticks(x0, x1):
        u, _ = at(x, y0)
        parts.append(f'<text x="{u:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{x:.4g}</text>')
    parts.append(f'<text x="{WIDTH - 10}" y="{HEIGHT - 4}" text-anchor="end">{html.escape(across)}</text>')
    for (name, line), colour in zip(lines.items(), COLOURS * (len(lines) // len(COLOURS) + 1), strict=False):
        if len(line) == 1:  # a line of one point has no length
            u, v = at(*line[0])
            parts.append(f'<circle cx="{u:.1f}" cy="{v:.1f}" r="3" fill="{colour}"/>')
        path = " ".join("{:.1f},{:.1f}".format(*at(x, y)) for x, y in line)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6">'
            f"<title>{html.escape(name)}</title></polyline>"
        )
    body = "".join(parts)
    return (
        f"<figure><figcaption>{html.escape(title)}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" aria-label="{html.escape(title)}">'
        f"{body}</svg></figure>"
    )


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as a table."""
    if not rows:
        return ""
    names = list(rows[0])

    def cell(value: object) -> str:
        return f"{value:.4g}" if isinstance(value, float) else html.escape(str(value))

    head = "".join(f"<th>{html.escape(n)}</th>" for n in names)
    body = "".join("<tr>" + "".join(f"<td>{cell(row[n])}</td>" for n in names) + "</tr>" for row in rows)
    return f'<div class="wide" tabindex="0"><table><tr>{head}</tr>{body}</table></div>'


def page(title: str, command: str, results: Sequence[dict[str, Any]]) -> str:
    """The page of a training: ``results`` as the seeds' tasks gave them."""
    x = next(name for name in ("steps", "update", "generation") if name in results[0]["curve"][0])
    names = [n for n in dict.fromkeys(n for r in results for row in r["curve"] for n in row) if n != x]
    figures = []
    for name in names:
        lines = {f"seed {r['seed']}": [(row[x], row[name]) for row in r["curve"] if name in row] for r in results}
        figures.append(figure(name, x, lines))
    rows = [{k: r[k] for k in ("seed", "score", "over rule2", "over ebb") if r.get(k) is not None} for r in results]
    colours = ", ".join(
        f'<span class="swatch" style="background:{colour}"></span> seed {r["seed"]}'
        for r, colour in zip(results, COLOURS * 9, strict=False)
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style><h1>{html.escape(title)}</h1>"
        f'<pre tabindex="0">{html.escape(command)}</pre>'
        f"<p>{colours}</p>{table(rows)}{''.join(figures)}</html>"
    )
