/** A plot over time, with the states of senders behind it. */

import type uPlot from "uplot";
import { dark } from "../../shared/colours";
import { el } from "../../shared/dom";
import { fmtTick, withUnit } from "../../shared/format";
import { axes, clipped, guide, joined, spanScale, yScale } from "../axes";
import { lineOf } from "../curves";
import type { PaperPanel, States } from "../data";
import { figure, type Made } from "../figure";
import { stateHue } from "../page";
import { toggle } from "../toggle";
import { curvesOf } from "./curves";
import { logs } from "./state";

/** Height of a lane of states in pixels. */
const LANE = 12;

export function timePlot(panel: PaperPanel): Made {
  const curves = curvesOf(panel.id, panel.curves);
  const log = logs.has(panel.id);
  const { tracks } = panel;
  const ends = curves.flatMap(({ x }) => [x[0], x[x.length - 1]]).filter((t) => t !== undefined);
  const span: [number, number] = ends.length > 0 ? [Math.min(...ends), Math.max(...ends)] : [0, 1];
  const foot = tracks.length * LANE;
  const above = foot > 0 && !log ? { values: (_: uPlot, splits: number[]) => splits.map((v) => (v < 0 ? "" : fmtTick(v))) } : {};
  const made = figure({
    title: panel.title,
    unit: panel.unit,
    xName: "time",
    xUnit: "s",
    help: panel.help,
    curves,
    line: lineOf,
    data: joined(curves, span),
    height: (panel.wide ? 250 : 220) + foot,
    range: () => span,
    buttons: [toggle(logs, panel.id, "Log")],
    options: {
      cursor: { focus: { prox: 24 }, drag: { x: true, y: false }, points: { size: 6 }, y: false },
      scales: { x: spanScale(() => span), y: log ? yScale(true) : roomFor(foot, panel.top) },
      axes: axes("Time (s)", withUnit(panel.axis, panel.unit), above),
      hooks: {
        drawClear: tracks.length > 0 ? [(u) => bands(u, tracks)] : [],
        draw: panel.guides.map(({ at, label }) => (u: uPlot) => guide(u, "y", at, label)),
      },
    },
    csv: () => [
      ["curve", "controller", "unit", "time_s", "value"],
      ...curves.flatMap((curve) => curve.x.map((t, i) => [curve.label, curve.controller, panel.unit, t, curve.y[i]])),
    ],
    stats: () => curves.map((curve) => [curve.label, ...(curve.stats ?? [null, null, null, null])]),
  });
  if (tracks.length > 0) made.node.append(legend(tracks));
  return made;
}

/** A vertical axis with room for `foot` pixels of lanes below zero, and `most` at its upper end. */
function roomFor(foot: number, most: number | null): uPlot.Scale {
  return {
    range: (u, low, top: number | null) => {
      if (top === null) return [0, 1];
      const up = most === null ? (top > 0 ? top * 1.06 : 1) : Math.min(most, top * 1.06);
      const inner = Math.max(60, u.height - 60);
      return [low < 0 ? low * 1.06 : -(up * foot) / Math.max(1, inner - foot), up];
    },
  };
}

/** The states of each sender as a lane at the foot; those of a single one tint the plot too. */
function bands(u: uPlot, tracks: States[]): void {
  clipped(u, (ctx, box, ratio) => {
    tracks.forEach((track, row) => {
      for (const [name, a, b] of track.bands) {
        const x = u.valToPos(a, "x", true);
        const width = Math.max(ratio, u.valToPos(b, "x", true) - x);
        ctx.fillStyle = stateHue(track.names[name] ?? "");
        if (tracks.length === 1) {
          ctx.globalAlpha = dark() ? 0.2 : 0.15;
          ctx.fillRect(x, box.top, width, box.height);
        }
        ctx.globalAlpha = 1;
        ctx.fillRect(x, box.top + box.height - (tracks.length - row) * LANE * ratio + 2 * ratio, width, (LANE - 3) * ratio);
      }
    });
  });
}

/** Names of the states, with the share of time that each track spent there. */
function legend(tracks: States[]): HTMLElement {
  const names = new Set(tracks.flatMap((track) => track.bands.map(([name]) => track.names[name] ?? "")));
  const time = (track: States, wanted: (name: string | undefined) => boolean) =>
    track.bands.reduce((sum, [n, a, b]) => sum + (wanted(track.names[n]) ? b - a : 0), 0);
  const keys = [...names].map((name) => {
    const shares = tracks.map((track) => {
      const all = time(track, () => true);
      const mine = time(track, (other) => other === name);
      return all > 0 ? `${((100 * mine) / all).toFixed(mine / all < 0.1 ? 1 : 0)} %` : "–";
    });
    const box = el("span", { class: "swatch", style: `background:${stateHue(name)};margin:0` });
    return el("span", { class: "key" }, box, name, el("span", { class: "dim" }, shares.length > 3 ? "" : shares.join(" / ")));
  });
  return el("div", { class: "keys states" }, ...keys);
}
