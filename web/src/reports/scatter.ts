/** Two quantities against each other: best is high and left. */

import { css, hue } from "../shared/colours";
import { shape } from "../shared/dom";
import { fmt, fmtTick, sides, withUnit } from "../shared/format";
import type { Estimate, Trade, TradePoint } from "./data";
import { mark } from "./marks";
import { paintOf } from "./page";
import { logTicks, niceTicks } from "./ticks";

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

interface Rect {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** The mean; a point without one is at zero. */
const meanOf = (e: Estimate): number => e[0] ?? 0;

const isNumber = (v: number | null | undefined): v is number => v != null && isFinite(v);

function extent(points: TradePoint[], axis: "x" | "y", at: 0 | 1): [number, number] {
  const finite = points.flatMap((p) => [...p[axis], ...p.samples.map((s) => s[at])]).filter(isNumber);
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const pad = (high - low || Math.abs(high) || 1) * 0.12;
  return [low - pad < 0 || low < 0.35 * high ? Math.min(0, low) : low - pad, high + pad];
}

/** An axis by the logarithm, for values above zero: room beside the means; what an interval has below is cut. */
function logExtent(points: TradePoint[]): [number, number] {
  const all = points.map((p) => meanOf(p.x));
  return [Math.min(...all) / 1.25, Math.max(...all) * 1.35];
}

const text = (x: number, y: number, content: string, more: Record<string, string | number> = {}) => shape("text", { x, y, ...more }, content);

/** The points that no other is better than in both quantities, from left to right. */
function front(points: TradePoint[]): TradePoint[] {
  const beats = (q: TradePoint, p: TradePoint) => {
    const [right, up] = [meanOf(q.x) - meanOf(p.x), meanOf(q.y) - meanOf(p.y)];
    return right <= 0 && up >= 0 && (right < 0 || up > 0);
  };
  return points.filter((p) => !points.some((q) => beats(q, p))).sort((a, b) => meanOf(a.x) - meanOf(b.x));
}

/** Where a name of this width may stand around a point, the best place first; the last ones are far away. */
const spots = (w: number): [dx: number, dy: number][] => {
  const near: [number, number][] = [
    [11, -8], [-w - 10, -8], [-w / 2, -28], [-w / 2, 12], [11, -24], [11, 8], [-w - 10, -24], [-w - 10, 8], [11, -40], [11, 24],
    [-w - 10, -40], [-w - 10, 24], [-w / 2, -46], [-w / 2, 30], [26, -56], [26, 40], [-w - 26, -56], [-w - 26, 40],
  ];
  const far = [64, 84, 104, 124].flatMap((d): [number, number][] => [
    [26, -d - 8], [26, d - 8], [-w - 26, -d - 8], [-w - 26, d - 8], [d, -24], [d, 8], [-w - d, -24], [-w - d, 8],
  ]);
  return [...near, ...far];
};

/** How far a name's middle may be from its point without a line that ties both. */
const NEAR = 34;

/** The area that two have in common. */
const common = (a: Rect, b: Rect) => {
  const w = Math.min(a.x + a.w, b.x + b.w) - Math.max(a.x, b.x);
  const h = Math.min(a.y + a.h, b.y + b.h) - Math.max(a.y, b.y);
  return w > 0 && h > 0 ? w * h : 0;
};

/** A line from the point at `x`, `y` to the nearest place of its name, where that is far away. */
function tie(x: number, y: number, name: Rect): SVGElement[] {
  const [nx, ny] = [Math.min(Math.max(x, name.x), name.x + name.w), name.y + name.h / 2];
  return Math.hypot(nx - x, ny - y) > NEAR ? [shape("line", { class: "tie", x1: x, y1: y, x2: nx, y2: ny })] : [];
}

export function scatter(trade: Trade, width: number, height: number): SVGSVGElement {
  const [xTitle, yTitle] = [withUnit(trade.x_label, trade.x_unit), withUnit(trade.y_label, trade.y_unit)];
  const box = { left: 62, right: width - 16, top: 12, bottom: height - 46 };
  const [x0, x1] = trade.log ? logExtent(trade.points) : extent(trade.points, "x", 0);
  const [y0, y1] = extent(trade.points, "y", 1);
  const along = (v: number) => (trade.log ? Math.log(Math.max(v, x0) / x0) / Math.log(x1 / x0) : (v - x0) / (x1 - x0));
  const px = (v: number) => box.left + along(v) * (box.right - box.left);
  const py = (v: number) => box.bottom - ((v - y0) / (y1 - y0)) * (box.bottom - box.top);
  const label = `${yTitle} against ${xTitle}; best is high and left`;
  const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label });
  svg.append(...corner(box));

  for (const v of trade.log ? logTicks(x0, x1) : niceTicks(x0, x1, width / 110)) {
    svg.append(
      shape("line", { class: "grid", x1: px(v), x2: px(v), y1: box.top, y2: box.bottom }),
      text(px(v), box.bottom + 17, fmtTick(v), { class: "dim", "text-anchor": "middle" }),
    );
  }
  for (const v of niceTicks(y0, y1, 6)) {
    svg.append(
      shape("line", { class: "grid", x1: box.left, x2: box.right, y1: py(v), y2: py(v) }),
      text(box.left - 7, py(v) + 4, fmtTick(v), { class: "dim", "text-anchor": "end" }),
    );
  }
  const turned = `translate(14 ${(box.top + box.bottom) / 2}) rotate(-90)`;
  svg.append(
    shape("path", { class: "axis", fill: "none", d: `M${box.left} ${box.top}V${box.bottom}H${box.right}` }),
    text((box.left + box.right) / 2, height - 8, xTitle, { class: "dim", "text-anchor": "middle" }),
    text(0, 0, yTitle, { class: "dim", "text-anchor": "middle", transform: turned }),
    text(box.left + 8, box.top + 16, "↖ better", { style: `fill:${css("--good")};font-weight:600` }),
  );

  const best = front(trade.points);
  if (best.length > 1) {
    svg.append(shape("polyline", { class: "front", points: best.map((p) => `${px(meanOf(p.x))},${py(meanOf(p.y))}`).join(" ") }));
  }

  const taken: Rect[] = trade.points.map((p) => ({ x: px(meanOf(p.x)) - 8, y: py(meanOf(p.y)) - 8, w: 16, h: 16 }));
  taken.push({ x: box.left, y: box.top, w: 70, h: 24 });
  const inside = (r: Rect) => r.x >= box.left && r.x + r.w <= width && r.y >= 0 && r.y + r.h <= box.bottom;
  const hidden = (r: Rect) => taken.reduce((all, o) => all + common(r, o), 0);
  for (const p of trade.points) {
    const group = point(trade, p, px, py);
    const [x, y] = [px(meanOf(p.x)), py(meanOf(p.y))];
    const w = 7.5 * p.label.length + 4;
    const places = spots(w).map(([dx, dy]) => ({ x: x + dx, y: y + dy, w, h: 16 })).filter(inside);
    // Where no place is free, the one that hides least.
    const spot = places.find((r) => hidden(r) === 0) ?? places.sort((r, s) => hidden(r) - hidden(s))[0];
    if (spot !== undefined) {
      taken.push(spot);
      group.prepend(...tie(x, y, spot));
      group.append(text(spot.x + 2, spot.y + 12, p.label, { class: "halo" }));
    }
    svg.append(group);
  }
  return svg;
}

/** A shade in the corner where the best are. */
function corner(box: Box): SVGElement[] {
  const good = css("--good");
  const glow = shape(
    "radialGradient",
    { id: "glow", cx: 0, cy: 0, r: 1 },
    shape("stop", { offset: 0, "stop-color": good, "stop-opacity": 0.2 }),
    shape("stop", { offset: 1, "stop-color": good, "stop-opacity": 0 }),
  );
  const size = Math.min(170, (box.right - box.left) / 2);
  return [shape("defs", {}, glow), shape("rect", { x: box.left, y: box.top, width: size, height: size * 0.8, fill: "url(#glow)" })];
}

/** A point with its intervals and its seeds. */
function point(trade: Trade, p: TradePoint, px: (v: number) => number, py: (v: number) => number): SVGGElement {
  const paint = paintOf(p.controller);
  const color = hue(paint);
  const [cx, cy] = [px(meanOf(p.x)), py(meanOf(p.y))];
  const value = (e: Estimate, unit: string) => `${fmt(e[0])}${sides(...e, fmt)} ${unit}`;
  const name = `${p.label}: ${trade.y_label} ${value(p.y, trade.y_unit)}, ${trade.x_label} ${value(p.x, trade.x_unit)}`;
  const group = shape("g", { class: "point", tabindex: 0, role: "img", "aria-label": name }, shape("title", {}, name));
  for (const [a, b] of p.samples) {
    group.append(shape("circle", { cx: px(a ?? 0), cy: py(b ?? 0), r: 2.6, fill: color, "fill-opacity": 0.4 }));
  }
  const bar = (x1: number, y1: number, x2: number, y2: number) => shape("line", { x1, y1, x2, y2, stroke: color, "stroke-width": 1.5 });
  const [, left, right] = p.x;
  const [, low, high] = p.y;
  if (left != null && right != null) group.append(bar(px(left), cy, px(right), cy));
  if (low != null && high != null) group.append(bar(cx, py(low), cx, py(high)));
  group.append(mark(paint.shape, cx, cy, 6, color, p.hollow));
  return group;
}
