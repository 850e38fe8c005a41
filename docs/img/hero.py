"""Draws the picture of the README: the same cell and seed under two senders.

``python docs/img/hero.py`` writes the variants for light and dark pages.

Needs the package ``slackwater`` (``make python``) and polars.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

import slackwater

FROM, TO = 10.0, 30.0
DELAY_MS = 800.0
CHANGES = {"duration": "30 s", "warmup": "0 s", "cell.rlc.buffer": "1 MB"}
SENDERS = [("cubic", "CUBIC"), ("xrc", "XRC")]
# Of senders: the colours of the reports (crates/report/src/palette.rs).
THEMES = {
    "light": {"ink": "#1d2733", "soft": "#5b6b7c", "grid": "#d5dde5", "room": "#e4eaf0", "of": ("#00539b", "#8e3be0")},
    "dark": {"ink": "#e6edf3", "soft": "#9fb0c0", "grid": "#30404f", "room": "#232f3b", "of": ("#3f8cff", "#c9a2ff")},
}
WIDTH, LEFT, RIGHT = 860, 52, 844
TOP, MIDDLE = (62, 200), (240, 378)


def x(second: float) -> float:
    """The abscissa of a time."""
    return LEFT + (second - FROM) / (TO - FROM) * (RIGHT - LEFT)


def y(value: float, most: float, panel: tuple[int, int]) -> float:
    """The ordinate of a value in a panel."""
    top, bottom = panel
    return bottom - min(value, most) / most * (bottom - top)


def path(points: list[tuple[float, float]]) -> str:
    """A polyline."""
    return "M" + " ".join(f"{px:.1f} {py:.1f}" for px, py in points)


def bins(run: slackwater.Run) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rate and queue delay of the flow, and the cell's capacity, by tenths of a second."""
    flow = run.throughput.to_polars().select(
        t=pl.col("time_ns") / 1e9,
        mbps=pl.col("delivered_bytes") * 80 / 1e6,
        queue=(pl.col("queue_delay_sum_ns") / pl.col("dequeued_packets") / 1e6).fill_nan(None).forward_fill(),
    )
    # The sample that covers the whole downlink has the last index but one.
    cell = run.links.to_polars().filter(pl.col("index") == 2**32 - 2, pl.col("time_ns") % 100_000_000 == 0)
    room = cell.select(t=pl.col("time_ns") / 1e9, mbps=pl.col("capacity_bytes").diff().shift(-1) * 80 / 1e6)
    shown = pl.col("t").is_between(FROM, TO)
    return flow.filter(shown), room.filter(shown).drop_nulls()


def main() -> None:
    """Run and draw."""
    runs = [slackwater.run("lte-demo", seed=1, changes={"flow.controller": name, **CHANGES}) for name, _ in SENDERS]
    drawn = [bins(run) for run in runs]
    room = drawn[0][1]
    most = 10 * (int(room["mbps"].max() or 0) // 10 + 1)  # type: ignore[call-overload]
    panels = [
        (TOP, "Throughput, Mbit/s; grey: what the cell could carry", most),
        (MIDDLE, "Queue delay, ms", DELAY_MS),
    ]
    for theme, c in THEMES.items():
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} 410" role="img" aria-labelledby="t" '
            f'font-family="system-ui, sans-serif" font-size="13" fill="{c["soft"]}">',
            '<title id="t">One LTE cell under CUBIC and under XRC: rate, capacity and queue delay</title>',
        ]
        for panel, unit, limit in panels:
            out.append(f'<text x="{LEFT}" y="{panel[0] - 10}">{unit}</text>')
            for level in [limit * k / 4 for k in range(5)]:
                at = y(level, limit, panel)
                out.append(f'<path d="M{LEFT} {at:.1f}H{RIGHT}" stroke="{c["grid"]}"/>')
                out.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{level:.0f}</text>')
        edge = [(x(t), y(v, most, TOP)) for t, v in room.rows()]
        area = [(edge[0][0], TOP[1]), *edge, (edge[-1][0], TOP[1])]
        out.append(f'<path d="{path(area)}z" fill="{c["room"]}"/>')
        for k, ((_, shown), (flow, _)) in enumerate(zip(SENDERS, drawn, strict=True)):
            colour, at = c["of"][k], LEFT + 380 * k
            rate = [(x(t), y(v, most, TOP)) for t, v, _ in flow.rows()]
            queue = [(x(t), y(v or 0.0, DELAY_MS, MIDDLE)) for t, _, v in flow.rows()]
            lines = f'fill="none" stroke="{colour}" stroke-width="1.8" stroke-linejoin="round"'
            out += [f'<path d="{path(points)}" {lines}/>' for points in (rate, queue)]
            out.append(f'<path d="M{at} 17h22" stroke="{colour}" stroke-width="4"/>')
            out.append(
                f'<text x="{at + 30}" y="22" fill="{c["ink"]}" font-size="15"><tspan font-weight="600">{shown}</tspan>'
                f" {flow['mbps'].mean():.1f} Mbit/s, queue p95 {flow['queue'].quantile(0.95):.0f} ms</text>"
            )
        out += [
            f'<text x="{x(second):.1f}" y="{MIDDLE[1] + 20}" text-anchor="middle">{second} s</text>'
            for second in range(int(FROM), int(TO) + 1, 5)
        ]
        out.append("</svg>\n")
        Path(__file__).with_name(f"hero-{theme}.svg").write_text("\n".join(out))


if __name__ == "__main__":
    main()
