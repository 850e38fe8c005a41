/** What the shown runs put into a plot over time. */

import { ascending, column } from "../columns";
import { byRole, type Curve } from "../curves";
import type { Run, Series } from "../data";
import { isShown } from "../page";
import { data, many, state } from "./state";

export interface RunCurve extends Curve {
  run: Run;
  series: Series;
  /** Main curves of its run in this plot. */
  mains: number;
  /** It would crowd the plot: the reader switches it on. */
  waits: boolean;
}

/** Side curves (ssthresh, head of line) wait where more than two main curves are drawn. */
export function curvesOf(panel: number, withSides: boolean): { curves: RunCurve[]; waiting: string } {
  const curves = gathered(panel);
  const mains = curves.filter((curve) => curve.role === "main").length;
  const areas = curves.filter((curve) => curve.role === "area");
  for (const curve of curves) {
    const side = curve.role === "side";
    if (side && mains === 0) curve.role = "main";
    curve.first = curve === areas[0];
    curve.label = curve.role === "area" ? areaLabel(curve, areas.length) : lineLabel(curve, side);
    curve.waits = (curve.role === "side" && mains > 2) || (curve.role === "area" && !curve.first);
  }
  const waiting = [...new Set(curves.filter((curve) => curve.waits).map((curve) => curve.series.name))];
  return { curves: curves.filter((curve) => withSides || !curve.waits).sort(byRole), waiting: waiting.join(", ") };
}

/** Every curve of the plot once: the same area of several runs is one. */
function gathered(panel: number): RunCurve[] {
  const counts = new Map<string, number>();
  const places = new Map<string, number>();
  const areas = new Set<string>();
  const curves: RunCurve[] = [];
  for (const r of state.shown) {
    const run = data.runs[r];
    if (run === undefined) continue;
    const mine = run.series.filter((series) => series.panel === panel);
    const mains = mine.filter((series) => series.role === "main").length;
    for (const series of mine) {
      if (series.role === "area") {
        const same = `${series.t}|${series.y}`;
        if (areas.has(same)) continue;
        areas.add(same);
      }
      const flow = `${r}|${series.controller}|${series.label}`;
      let place = places.get(flow);
      if (place === undefined) {
        place = counts.get(series.controller) ?? 0;
        counts.set(series.controller, place + 1);
        places.set(flow, place);
      }
      const key = `${panel}|${run.name}|${series.id}`;
      const { role, controller, label } = series;
      const [x, y] = [ascending(series.t), column(series.y)];
      curves.push({ key, run, series, role, mains, controller, label, place, x, y, show: isShown(key), waits: false });
    }
  }
  return curves;
}

const areaLabel = ({ run, series }: RunCurve, areas: number): string => (areas > 1 ? `${run.label} · ${series.label}` : series.label);

function lineLabel({ run, series, mains }: RunCurve, side: boolean): string {
  let label = many() ? run.label : series.label;
  if (many() && (mains > 1 || series.controller === "")) label += ` · ${series.label}`;
  if (side && series.name !== "" && !label.includes(series.name)) label += ` · ${series.name}`;
  return label;
}
