/** A distribution. */

import type uPlot from "uplot";
import { withUnit } from "../../shared/format";
import { axes, guide, joined } from "../axes";
import { ascending } from "../columns";
import { lineOf, stepped } from "../curves";
import type { PaperPanel } from "../data";
import { figure, type Made } from "../figure";
import { toggle } from "../toggle";
import { curvesOf, type PanelCurve } from "./curves";
import { logs } from "./state";

/** A side curve is what the others are compared with: dotted, and as strong as they are. */
const line = (curve: PanelCurve): uPlot.Series => ({
  ...lineOf(curve),
  ...stepped(),
  ...(curve.role === "side" ? { dash: [3, 3], width: 1.4, alpha: 1 } : {}),
});

export function cdfPlot(panel: PaperPanel): Made {
  const log = logs.has(panel.id);
  const curves = curvesOf(panel.id, panel.curves);
  for (const curve of curves) {
    const keep = curve.x.map((value) => !log || value > 0);
    curve.y = curve.y.filter((_, i) => keep[i]).map((share) => (share === null ? null : 100 * share));
    curve.x = curve.x.filter((_, i) => keep[i]);
  }
  const ends = curves.flatMap(({ x }) => [x[0], x[x.length - 1]]).filter((v) => v !== undefined);
  const least = log ? Math.min(...ends) : Math.min(0, ...ends);
  const range: [number, number] = ends.length > 0 ? [least, Math.min(panel.top ?? Infinity, Math.max(...ends))] : [0, 1];
  const xRange: uPlot.Scale.Range = (u, low: number | null, high) => {
    if (low === null) return [0, 1];
    return low === u.data[0][0] ? range : [low, high];
  };
  return figure({
    title: panel.title,
    unit: "%",
    xName: panel.axis,
    xUnit: panel.unit,
    help: panel.help,
    curves,
    line,
    data: joined(curves),
    height: 290,
    range: () => range,
    buttons: [toggle(logs, panel.id, "Log")],
    options: {
      cursor: { focus: { prox: 24 }, drag: { x: true, y: false }, points: { size: 6 } },
      scales: { x: { time: false, ...(log ? { distr: 3 } : {}), range: xRange }, y: { range: [0, 100] } },
      axes: axes(withUnit(panel.axis, panel.unit), "Share at or below (%)"),
      hooks: { draw: panel.guides.map(({ at, label }) => (u: uPlot) => guide(u, "x", at, label)) },
    },
    csv: () => [
      ["curve", "controller", panel.axis, "share_at_or_below"],
      ...panel.curves.flatMap((curve) => {
        const p = ascending(curve.y);
        return ascending(curve.x).map((value, i) => [curve.label, curve.controller, value, p[i]]);
      }),
    ],
  });
}
