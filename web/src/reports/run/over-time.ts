/** The plots over time. */

import type uPlot from "uplot";
import { hue } from "../../shared/colours";
import { withUnit } from "../../shared/format";
import { axes, clipped, joined, spanScale, yScale } from "../axes";
import { ascending, column } from "../columns";
import { lineOf } from "../curves";
import type { Panel } from "../data";
import { figure, type Made } from "../figure";
import { paintOf } from "../page";
import { toggle } from "../toggle";
import { curvesOf, type RunCurve } from "./curves";
import { footTicks, lanes, tint } from "./lanes";
import { state } from "./state";
import { timeCursor, timeHooks } from "./time";

/** From where to where a curve goes over the seeds. */
interface Band {
  curve: RunCurve;
  /** Its place among the curves of the plot. */
  i: number;
  seeds: number;
  t: number[];
  low: (number | null)[];
  high: (number | null)[];
}

export function timePlot(panel: Panel, at: number): Made | null {
  const id = `${panel.id}|${panel.unit}`;
  const { curves, waiting } = curvesOf(at, state.sides.has(id));
  if (curves.length === 0) return null;
  const log = state.log.has(id);
  // Many bands hide each other: they wait until the reader wants them.
  const over = bandsOf(curves);
  const crowd = over.length > 2;
  const bandsId = `bands|${id}`;
  const bands = crowd && !state.sides.has(bandsId) ? [] : over;
  const foot = ["queue", "cwnd"].includes(panel.id) && lanes().some((lane) => lane.ticks.length > 0);
  const hooks = timeHooks();
  if (bands.length > 0) hooks.drawClear = [tint, (u) => envelopes(u, bands, log)];
  if (foot) hooks.draw = [footTicks];
  const most = Math.max(0, ...bands.flatMap((band) => band.high.map((v) => v ?? 0)));
  return figure({
    title: panel.title,
    unit: panel.unit,
    time: true,
    xName: "time",
    xUnit: "s",
    help: help(panel, bands, foot),
    curves,
    line: lineOf,
    data: joined(curves, state.full),
    height: 230,
    range: () => state.full,
    buttons: [
      crowd ? toggle(state.sides, bandsId, "+ bands over seeds") : null,
      waiting === "" ? null : toggle(state.sides, id, `+ ${waiting}`),
      toggle(state.log, id, "Log"),
    ],
    options: {
      cursor: timeCursor(),
      scales: { x: spanScale(() => state.full), y: yScale(log, most) },
      axes: axes("Time (s)", withUnit(panel.axis, panel.unit)),
      hooks,
    },
    csv: () => [
      ["run", "curve", "controller", "quantity", "unit", "time_s", "value"],
      ...curves.flatMap(({ run, series, x, y }) =>
        x.map((t, i) => [run.name, series.label, series.controller, series.name || panel.title, series.unit, t, y[i]]),
      ),
    ],
    stats: () => curves.map(({ label, series }) => [label, ...(series.stats ?? [null, null, null]), series.n]),
  });
}

function help(panel: Panel, bands: Band[], foot: boolean): string {
  let text = panel.help;
  if (bands.length > 0) {
    const seeds = Math.max(...bands.map((band) => band.seeds));
    text += ` Line: the first seed; band: from the least to the greatest of ${seeds} seeds.`;
  }
  if (foot) text += " Ticks at the foot: drops (tall), marks (short), in the colour of the controller.";
  return text;
}

function bandsOf(curves: RunCurve[]): Band[] {
  return curves.flatMap((curve, i) => {
    const { spread } = curve.series;
    if (spread === undefined || curve.role !== "main") return [];
    return [{ curve, i, seeds: spread.seeds, t: ascending(spread.t), low: column(spread.low), high: column(spread.high) }];
  });
}

/** Bands over the seeds, behind the curves of the first; each as its curve is shown. */
function envelopes(u: uPlot, bands: Band[], log: boolean): void {
  const least = u.scales["y"]?.min ?? 0;
  const y = (v: number) => u.valToPos(log ? Math.max(v, least) : v, "y", true);
  clipped(u, (ctx) => {
    ctx.globalAlpha = bands.length > 2 ? 0.14 : 0.2;
    for (const { curve, i, t, low, high } of bands) {
      if (!u.series[i + 1]?.show) continue;
      ctx.fillStyle = hue(paintOf(curve.controller));
      t.forEach((from, k) => {
        const [down, up] = [low[k], high[k]];
        if (down == null || up == null) return;
        // The last stretch is as long as the one before.
        const to = t[k + 1] ?? from + (from - (t[k - 1] ?? from));
        const [a, b] = [u.valToPos(from, "x", true), u.valToPos(to, "x", true)];
        ctx.fillRect(a, y(up), b - a, y(down) - y(up));
      });
    }
  });
}
