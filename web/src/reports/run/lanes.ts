/** States and events of one flow each. */

import type uPlot from "uplot";
import { dark, hue } from "../../shared/colours";
import { clipped } from "../axes";
import { ascending } from "../columns";
import type { EventKind } from "../data";
import { paintOf, stateHue } from "../page";
import { many, shownRuns, state } from "./state";

export interface Lane {
  key: string;
  label: string;
  run: string;
  controller: string;
  /** States, from `a` to `b` in seconds. */
  bands: { name: string; a: number; b: number }[];
  /** Events at `t` in seconds; `n` before thinning. */
  ticks: { kind: EventKind; n: number; t: number[] }[];
}

let known: Lane[] | undefined;

/** Other runs are shown: their lanes are made anew. */
export function forget(): void {
  known = undefined;
}

export function lanes(): Lane[] {
  if (known !== undefined) return known;
  const found = new Map<string, Lane>();
  for (const run of shownRuns()) {
    const flows = new Set([...run.bands, ...run.events].map((track) => track.label)).size;
    const lane = (track: { label: string; controller: string }): Lane => {
      const key = `${run.name}|${track.label}`;
      const there = found.get(key);
      if (there !== undefined) return there;
      const label = many() ? run.label + (flows > 1 ? ` · ${track.label}` : "") : track.label;
      const made = { key, label, run: run.name, controller: track.controller, bands: [], ticks: [] };
      found.set(key, made);
      return made;
    };
    for (const track of run.bands) lane(track).bands.push(...track.bands.map(([n, a, b]) => ({ name: track.names[n] ?? "", a, b })));
    for (const track of run.events) lane(track).ticks.push({ kind: track.kind, n: track.n, t: ascending(track.t) });
  }
  return (known = [...found.values()]);
}

/** Lanes that have states. */
export const striped = (): Lane[] => lanes().filter((lane) => lane.bands.length > 0);

/** The lane whose states tint the plots: the reader's, or the only one of the only run. */
export function shaded(): Lane | undefined {
  const all = striped();
  if (state.shade !== null) return all.find((lane) => lane.key === state.shade);
  return all.length === 1 && !many() ? all[0] : undefined;
}

export function tint(u: uPlot): void {
  const lane = shaded();
  if (lane === undefined) return;
  clipped(u, (ctx, box) => {
    ctx.globalAlpha = dark() ? 0.2 : 0.15;
    for (const { name, a, b } of lane.bands) {
      const x = u.valToPos(a, "x", true);
      ctx.fillStyle = stateHue(name);
      ctx.fillRect(x, box.top, u.valToPos(b, "x", true) - x, box.height);
    }
  });
}

/** Drops and marks at the foot of a plot. */
export function footTicks(u: uPlot): void {
  clipped(u, (ctx, box, ratio) => {
    ctx.lineWidth = ratio;
    ctx.globalAlpha = 0.75;
    for (const lane of lanes()) {
      ctx.strokeStyle = hue(paintOf(lane.controller));
      for (const { kind, t } of lane.ticks) {
        if (kind !== "drop" && kind !== "mark") continue;
        const height = (kind === "drop" ? 9 : 5) * ratio;
        ctx.beginPath();
        for (const time of t) {
          const x = u.valToPos(time, "x", true);
          ctx.moveTo(x, box.top + box.height);
          ctx.lineTo(x, box.top + box.height - height);
        }
        ctx.stroke();
      }
    }
  });
}
