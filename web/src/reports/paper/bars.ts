/** Bars with 95 % intervals, from left to right. */

import { css, hue } from "../../shared/colours";
import { shape } from "../../shared/dom";
import { fmt, fmtTick, sides, withUnit } from "../../shared/format";
import type { Bar, PaperPanel } from "../data";
import { drawn } from "../drawn";
import { fileName } from "../../figures";
import { link, paintOf } from "../page";
import { niceTicks } from "../ticks";

/** Heights in pixels: of a bar, and of the heading of a group. */
const ROW = 24;
const HEAD = 24;

export function barPlot(panel: PaperPanel): { node: HTMLElement; start: () => void } {
  const head = ["group", "label", "controller", withUnit(panel.axis, panel.unit), "low 95 %", "high 95 %"];
  return drawn({
    title: panel.title,
    help: panel.help,
    file: fileName(panel.title, "csv"),
    rows: () => [head, ...panel.bars.map((bar) => [bar.group, bar.label, bar.controller, ...bar.value])],
    least: 260,
    paint: (width) => bars(panel, width),
  });
}

/** Neighbours of one group stand together. */
function groupsOf(bars: Bar[]): { name: string; bars: Bar[] }[] {
  const groups: { name: string; bars: Bar[] }[] = [];
  for (const bar of bars) {
    const last = groups[groups.length - 1];
    if (last?.name === bar.group) last.bars.push(bar);
    else groups.push({ name: bar.group, bars: [bar] });
  }
  return groups;
}

interface Axis {
  low: number;
  high: number;
  px: (v: number) => number;
}

/** From zero, or from where the axis starts: what lies below is drawn at the edge, its number beside it. */
function axisOf(panel: PaperPanel, left: number, right: number): Axis {
  const isNumber = (v: number | null): v is number => v !== null && isFinite(v);
  const values = panel.bars.flatMap((bar) => [...bar.value, ...bar.samples]).filter(isNumber);
  const ends = [...values, ...panel.guides.map((guide) => guide.at)];
  const low = panel.from ?? Math.min(0, ...values);
  const high = panel.top ?? Math.max(...ends, low + 1e-9) * (panel.from === null ? 1.03 : 1);
  const px = (v: number) => left + ((Math.min(Math.max(v, low), high) - low) / (high - low || 1)) * (right - left);
  return { low, high, px };
}

const text = (x: number, y: number, content: string, more: Record<string, string | number> = {}) => shape("text", { x, y, ...more }, content);

function bars(panel: PaperPanel, width: number): SVGSVGElement {
  const groups = groupsOf(panel.bars);
  const named = groups.some((group) => group.name !== "");
  const widest = Math.max(...panel.bars.map((bar) => bar.label.length), 4);
  const box = { left: Math.min(width * 0.42, 16 + widest * 7), right: width - 70, top: panel.guides.length > 0 ? 18 : 6 };
  const height = box.top + groups.length * (named ? HEAD : 0) + panel.bars.length * ROW + 44;
  const bottom = height - 40;
  const axis = axisOf(panel, box.left, box.right);
  const { px } = axis;
  const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": panel.title });
  for (const v of niceTicks(axis.low, axis.high, Math.max(2, (box.right - box.left) / 90))) {
    svg.append(
      shape("line", { class: "grid", x1: px(v), x2: px(v), y1: box.top, y2: bottom }),
      text(px(v), bottom + 16, fmtTick(v), { class: "dim", "text-anchor": "middle" }),
    );
  }
  svg.append(text((box.left + box.right) / 2, height - 6, withUnit(panel.axis, panel.unit), { class: "dim", "text-anchor": "middle" }));
  let y = box.top;
  for (const group of groups) {
    if (named) {
      svg.append(text(4, y + 16, group.name, { style: "font-weight:600" }));
      y += HEAD;
    }
    for (const bar of group.bars) {
      svg.append(row(panel, bar, axis, y, box));
      y += ROW;
    }
  }
  for (const { at, label } of panel.guides) {
    svg.append(
      shape("line", { x1: px(at), x2: px(at), y1: box.top, y2: bottom, class: "front" }),
      text(px(at), box.top - 6, label, { class: "dim", "text-anchor": "middle" }),
    );
  }
  return svg;
}

/** A bar, or where the axis does not start at zero a point, with its seeds and its interval. */
function row(panel: PaperPanel, bar: Bar, { low, px }: Axis, y: number, box: { left: number; right: number }): SVGGElement {
  const [mean, least, most] = bar.value;
  const color = hue(bar.controller === "" ? link() : paintOf(bar.controller));
  const middle = y + ROW / 2;
  const value = mean === null ? "no value" : `${fmt(mean)}${sides(...bar.value, fmt)} ${panel.unit}`;
  const name = `${bar.group === "" ? "" : `${bar.group}, `}${bar.label}: ${value}`;
  const made = shape("g", { class: "point", tabindex: 0, role: "img", "aria-label": name }, shape("title", {}, name));
  made.append(text(box.left - 8, middle + 4, bar.label, { "text-anchor": "end" }));
  if (mean === null) return made;

  // An interval may reach below zero: bars start at zero all the same.
  const foot = px(Math.max(low, 0));
  made.append(
    shape("rect", {
      x: Math.min(foot, px(mean)),
      y: y + 4,
      width: Math.max(1, Math.abs(px(mean) - foot)),
      height: ROW - 8,
      rx: 2,
      fill: color,
      "fill-opacity": panel.from === null ? 0.78 : 0.16,
    }),
  );
  if (panel.from !== null) made.append(shape("circle", { cx: px(mean), cy: middle, r: 5, fill: color }));
  for (const sample of bar.samples) {
    if (sample !== null) made.append(shape("circle", { cx: px(sample), cy: middle, r: 2, fill: css("--ink"), "fill-opacity": 0.45 }));
  }
  if (least !== null && most !== null) {
    const [a, b] = [px(least), px(most)];
    const line = (x1: number, y1: number, x2: number, y2: number) =>
      shape("line", { x1, y1, x2, y2, stroke: css("--ink"), "stroke-width": 1.3 });
    made.append(line(a, middle, b, middle), line(a, middle - 4, a, middle + 4), line(b, middle - 4, b, middle + 4));
  }
  made.append(text(box.right + 8, middle + 4, fmt(mean), { class: "dim" }));
  return made;
}
