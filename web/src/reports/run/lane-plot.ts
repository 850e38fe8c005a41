/** A plot of states and events, a lane for each flow. */

import type uPlot from "uplot";
import { css, hue, type Paint } from "../../shared/colours";
import type { Value } from "../../shared/csv";
import { el, shape } from "../../shared/dom";
import { axes, clipped, spanScale } from "../axes";
import type { EventKind } from "../data";
import { figure, type Made } from "../figure";
import { paintOf, stateHue } from "../page";
import { type Lane, lanes } from "./lanes";
import { state } from "./state";
import { timeCursor, timeHooks } from "./time";

const KINDS: Record<EventKind, Paint & { name: string }> = {
  drop: { name: "drop", light: "#c4163f", dark: "#ff6b86" },
  mark: { name: "CE mark", light: "#b37400", dark: "#ffc04d" },
  retransmission: { name: "retransmission", light: "#7a4b9e", dark: "#c9a2ff" },
  timeout: { name: "timeout", light: "#1a1d21", dark: "#ffffff" },
  handover: { name: "handover", light: "#0072b2", dark: "#6ab7ff" },
};

/** Height of a lane in pixels. */
const LANE = 34;
const MOST_LANES = 24;

export function lanePlot(): Made | null {
  const all = lanes();
  if (all.length === 0) return null;
  const shown = all.slice(0, MOST_LANES);
  const names = [...new Set(shown.flatMap((lane) => lane.bands.map((band) => band.name)))];
  const kinds = (Object.keys(KINDS) as EventKind[]).filter((kind) => shown.some((lane) => lane.ticks.some((tick) => tick.kind === kind)));
  const readings = el("p", { class: "help", style: "min-height:1.5em" });
  const hooks = timeHooks([(u) => read(u, shown, all.length, readings)]);
  const none = () => "";
  const made = figure({
    title: names.length > 0 ? "States and events" : "Events",
    unit: "",
    time: true,
    xName: "time",
    xUnit: "s",
    help: names.length > 0
      ? "Which state each controller was in, and what happened to its packets."
      : "What happened to the packets of each flow.",
    curves: [],
    line: () => ({}),
    data: [[...state.full], [null, null]],
    height: 52 + shown.length * LANE,
    range: () => state.full,
    options: {
      cursor: { ...timeCursor(), points: { show: false }, focus: { prox: -1 } },
      scales: { x: spanScale(() => state.full), y: { range: [0, 1] } },
      axes: axes("Time (s)", "", { values: (_, splits) => splits.map(none), grid: { show: false }, ticks: { show: false } }),
      hooks: { ...hooks, draw: [(u) => paint(u, shown)] },
    },
    csv: () => rows(all),
  });
  made.node.querySelector(".keys")?.append(
    ...names.map((name) => el("span", { class: "key" }, marker(stateHue(name), false), name)),
    ...kinds.map((kind) => el("span", { class: "key" }, marker(hue(KINDS[kind]), true), KINDS[kind].name)),
  );
  made.node.append(readings);
  return made;
}

/** What stands for a state, or narrow for an event, in the legend. */
function marker(color: string, event: boolean): SVGSVGElement {
  const look = event ? { x: 6, y: 0, width: 2.5, height: 12, rx: 0 } : { x: 0, y: 1, width: 14, height: 10, rx: 2 };
  return shape("svg", { width: 14, height: 12, "aria-hidden": "true" }, shape("rect", { ...look, fill: color }));
}

/** Writes the states at the pointer. */
function read(u: uPlot, shown: Lane[], all: number, readings: HTMLElement): void {
  const left = u.cursor.left ?? -1;
  if (left < 0) {
    readings.textContent = all > shown.length ? `The first ${shown.length} of ${all} flows.` : "";
    return;
  }
  const t = u.posToVal(left, "x");
  const found = shown.flatMap((lane) => {
    const band = lane.bands.find(({ a, b }) => a <= t && t < b);
    return band === undefined ? [] : [`${lane.label}: ${band.name}`];
  });
  readings.textContent = found.join("; ");
}

function paint(u: uPlot, shown: Lane[]): void {
  clipped(u, (ctx, box, ratio) => {
    ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    ctx.textBaseline = "top";
    shown.forEach((lane, row) => {
      const top = box.top + row * LANE * ratio;
      ctx.fillStyle = css("--line");
      if (row > 0) ctx.fillRect(box.left, top, box.width, ratio);
      for (const { name, a, b } of lane.bands) {
        const x = u.valToPos(a, "x", true);
        ctx.fillStyle = stateHue(name);
        ctx.fillRect(x, top + 16 * ratio, Math.max(ratio, u.valToPos(b, "x", true) - x), 9 * ratio);
      }
      const [down, height] = lane.bands.length > 0 ? [27, 6] : [17, 14];
      for (const { kind, t } of lane.ticks) {
        ctx.fillStyle = hue(KINDS[kind]);
        for (const time of t) ctx.fillRect(u.valToPos(time, "x", true) - ratio / 2, top + down * ratio, ratio, height * ratio);
      }
      ctx.fillStyle = hue(paintOf(lane.controller));
      ctx.fillRect(box.left + 2 * ratio, top + 4 * ratio, 8 * ratio, 8 * ratio);
      const counts = lane.ticks.map(({ kind, n }) => `${n} ${KINDS[kind].name}${n === 1 ? "" : "s"}`).join(", ");
      ctx.fillStyle = css("--ink");
      ctx.fillText(lane.label, box.left + 14 * ratio, top + 3 * ratio);
      const { width } = ctx.measureText(lane.label);
      ctx.fillStyle = css("--dim");
      ctx.fillText(counts, box.left + width + 26 * ratio, top + 3 * ratio);
    });
  });
}

const rows = (all: Lane[]): Value[][] => [
  ["run", "flow", "controller", "what", "start_s", "end_s"],
  ...all.flatMap((lane): Value[][] => [
    ...lane.bands.map(({ name, a, b }) => [lane.run, lane.label, lane.controller, name, a, b]),
    ...lane.ticks.flatMap(({ kind, t }) => t.map((time) => [lane.run, lane.label, lane.controller, kind, time, time])),
  ]),
];
