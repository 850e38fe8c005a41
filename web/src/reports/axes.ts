/** Axes, scales and tables of values for plots of uPlot. */

import uPlot from "uplot";
import { css } from "../shared/colours";
import { fmtTick } from "../shared/format";
import type { Curve } from "./curves";

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

/** Both axes; `more` changes the vertical one. */
export function axes(xLabel: string, yLabel: string, more: uPlot.Axis = {}): uPlot.Axis[] {
  const common: uPlot.Axis = {
    stroke: css("--dim"),
    font: FONT,
    labelFont: FONT,
    labelSize: 20,
    labelGap: 2,
    grid: { stroke: css("--grid"), width: 1 },
    ticks: { stroke: css("--line"), width: 1, size: 4 },
    // uPlot leaves gaps among the numbers of an axis by the logarithm.
    values: (_, splits) => splits.map((v: number | null) => (v === null ? null : fmtTick(v))),
  };
  return [
    { ...common, label: xLabel, size: 28 },
    { ...common, label: yLabel, size: 50, ...more },
  ];
}

/** The curves on one axis, from `span[0]` to `span[1]` at least. */
export function joined(curves: Curve[], span?: [number, number]): uPlot.AlignedData {
  if (curves.length === 0) return [[]];
  const rows = uPlot.join(curves.map((curve): uPlot.AlignedData => [curve.x, curve.y]));
  if (span === undefined) return rows;
  // Copies: where all curves have the same times, these are the columns themselves.
  const x = [...(rows[0] ?? [])];
  const ys = rows.slice(1).map((y): (number | null | undefined)[] => [...y]);
  const [first, last] = [x[0], x[x.length - 1]];
  if (first === undefined || last === undefined) return [[]];
  if (first > span[0]) {
    x.unshift(span[0]);
    for (const y of ys) y.unshift(undefined);
  }
  if (last < span[1]) {
    x.push(span[1]);
    for (const y of ys) y.push(undefined);
  }
  return [x, ...ys];
}

/** From zero, or by the logarithm over at most four decades; `most` is what must be seen beside the curves. */
export function yScale(log: boolean, most = 0): uPlot.Scale {
  if (log) {
    return { distr: 3, range: (_, low, high) => (high > 0 ? uPlot.rangeLog(Math.max(low, high / 1e4), high, 10, true) : [0.1, 1]) };
  }
  return {
    range: (_, low: number | null, high) => {
      if (low === null) return [0, 1];
      if (low < 0) return uPlot.rangeNum(low, high, 0.1, true);
      return [0, high > 0 ? Math.max(high, most) * 1.06 : 1];
    },
  };
}

/** A horizontal axis that shows `full` where nothing else is wanted. */
export const spanScale = (full: () => [number, number]): uPlot.Scale => ({
  time: false,
  range: (_, low: number | null, high) => (low === null ? full() : [low, high]),
});

/** Lets `paint` draw within the plot; `ratio` is the screen's pixels for one of the page. */
export function clipped(u: uPlot, paint: (ctx: CanvasRenderingContext2D, box: uPlot.BBox, ratio: number) => void): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.setLineDash([]);
  ctx.globalAlpha = 1;
  paint(ctx, bbox, devicePixelRatio);
  ctx.restore();
}

/** A dashed line across the plot with a word at its end. */
export function guide(u: uPlot, axis: "x" | "y", at: number, label: string, below = false): void {
  clipped(u, (ctx, box, ratio) => {
    ctx.strokeStyle = css("--dim");
    ctx.fillStyle = css("--dim");
    ctx.setLineDash([4 * ratio, 4 * ratio]);
    ctx.lineWidth = ratio;
    ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    ctx.textBaseline = "alphabetic";
    const pos = u.valToPos(at, axis, true);
    ctx.beginPath();
    if (axis === "y") {
      ctx.moveTo(box.left, pos);
      ctx.lineTo(box.left + box.width, pos);
      ctx.textAlign = "right";
      ctx.fillText(label, box.left + box.width - 4 * ratio, pos + (below ? 13 : -4) * ratio);
    } else {
      ctx.moveTo(pos, box.top);
      ctx.lineTo(pos, box.top + box.height);
      ctx.textAlign = "left";
      ctx.fillText(label, pos + 4 * ratio, box.top + box.height - 6 * ratio);
    }
    ctx.stroke();
  });
}
