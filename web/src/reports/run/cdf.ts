/** Distributions: curves of the same quantity share a plot. */

import uPlot from "uplot";
import { withUnit } from "../../shared/format";
import { axes, guide, joined } from "../axes";
import { ascending } from "../columns";
import { type Curve, lineOf, stepped } from "../curves";
import type { Cdf, Run } from "../data";
import { figure, type Made } from "../figure";
import { isShown } from "../page";
import { toggle } from "../toggle";
import { many, shownRuns, state } from "./state";

interface CdfCurve extends Curve {
  cdf: Cdf;
  run: Run;
}

export function cdfPlots(): Made[] {
  const groups = new Map<string, CdfCurve[]>();
  const counts = new Map<string, number>();
  for (const run of shownRuns()) {
    run.cdfs.forEach((cdf, i) => {
      const id = `${cdf.quantity}|${cdf.unit}`;
      const flows = run.cdfs.filter((other) => other.quantity === cdf.quantity).length;
      const seen = `${id}|${cdf.controller}`;
      const place = counts.get(seen) ?? 0;
      counts.set(seen, place + 1);
      const key = `cdf|${run.name}|${i}`;
      const label = many() ? run.label + (flows > 1 ? ` · ${cdf.label}` : "") : cdf.label;
      const curve: CdfCurve = { key, cdf, run, role: "main", controller: cdf.controller, place, label, show: isShown(key), x: [], y: [] };
      groups.set(id, [...(groups.get(id) ?? []), curve]);
    });
  }
  return [...groups].map(([id, curves]) => cdfPlot(id, curves));
}

function cdfPlot(id: string, curves: CdfCurve[]): Made {
  const { quantity, unit } = curves[0]?.cdf ?? { quantity: "", unit: "" };
  const [wide, tail] = [`x|${id}`, `tail|${id}`];
  const log = state.log.has(wide);
  const upper = state.log.has(tail);
  for (const curve of curves) fill(curve, log, upper);
  const ends = curves.flatMap(({ x }) => [x[0], x[x.length - 1]]).filter((v) => v !== undefined);
  const range: [number, number] = [log ? Math.min(...ends) : Math.min(0, ...ends), Math.max(...ends)];
  const xRange: uPlot.Scale.Range = (u, low: number | null, high) => {
    if (low === null) return [0, 1];
    if (low === high) return range;
    return [!log && low === u.data[0][0] ? range[0] : low, high];
  };
  const yAxis: uPlot.Scale = upper
    ? { distr: 3, range: (_, low, high) => uPlot.rangeLog(Math.max(low || 0.001, 0.0001), Math.max(100, high || 100), 10, true) }
    : { range: [0, 100] };
  return figure({
    title: `${quantity}: distribution`,
    unit: "%",
    xName: quantity,
    xUnit: unit,
    help: upper
      ? "Share of packets above a value; the lower, the better."
      : "Share of packets at or below a value; the further left, the better.",
    curves,
    line: (curve) => ({ ...lineOf(curve), ...stepped() }),
    data: joined(curves),
    height: 300,
    range: () => range,
    buttons: [toggle(state.log, wide, "Log x"), toggle(state.log, tail, "Tail")],
    options: {
      cursor: { focus: { prox: 24 }, drag: { x: true, y: false }, points: { size: 6 } },
      scales: { x: { time: false, ...(log ? { distr: 3 } : {}), range: xRange }, y: yAxis },
      axes: axes(withUnit(quantity, unit), upper ? "Share above (%)" : "Share at or below (%)"),
      hooks: { draw: [(u) => guide(u, "y", upper ? 5 : 95, "95 %", true)] },
    },
    csv: () => [
      ["run", "curve", "controller", "quantity", "unit", "value", "share_at_or_below"],
      ...curves.flatMap(({ run, cdf }) => {
        const p = ascending(cdf.p);
        return ascending(cdf.x).map((x, i) => [run.name, cdf.label, cdf.controller, quantity, unit, x, p[i]]);
      }),
    ],
  });
}

/** Shares at or below a value in percent, or above it; values above zero alone where the axis goes by the logarithm. */
function fill(curve: CdfCurve, log: boolean, upper: boolean): void {
  const p = ascending(curve.cdf.p);
  const points = ascending(curve.cdf.x).map((x, i): [number, number] => [x, p[i] ?? 0]);
  const kept = points.filter(([x]) => !log || x > 0);
  const shown = (share: number) => (upper ? (share < 1 ? 100 * (1 - share) : null) : 100 * share);
  curve.x = kept.map(([x]) => x);
  curve.y = kept.map(([, share]) => shown(share));
}
