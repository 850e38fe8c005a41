/** What all plots over time share: their cursor, their range and the line that reads both. */

import type uPlot from "uplot";
import { fmt } from "../../shared/format";
import { tint } from "./lanes";
import { state } from "./state";

export const timeCursor = (): uPlot.Cursor => ({
  sync: { key: "time", scales: ["x", null], setSeries: false },
  focus: { prox: 24 },
  drag: { x: true, y: false },
  points: { size: 6 },
  y: false,
});

/** The hooks of a plot over time; `more` is called as the pointer moves. */
export function timeHooks(more: ((u: uPlot) => void)[] = []): uPlot.Hooks.Arrays {
  const ranged = (u: uPlot, key: string) => {
    if (key !== "x") return;
    const { min = 0, max = 1 } = u.scales["x"] ?? {};
    state.x = min <= state.full[0] && max >= state.full[1] ? null : [min, max];
    clock();
  };
  const moved = (u: uPlot) => {
    const left = u.cursor.left ?? -1;
    clock(left >= 0 ? u.posToVal(left, "x") : undefined);
  };
  return { drawClear: [tint], setScale: [ranged], setCursor: [moved, ...more] };
}

let readout: HTMLElement | null = null;

/** The element that shows the time at the pointer, or the range. */
export function readTimeIn(element: HTMLElement | null): void {
  readout = element;
}

function clock(t?: number): void {
  if (readout === null) return;
  if (t !== undefined) readout.textContent = `t = ${t.toFixed(3)} s`;
  else readout.textContent = state.x === null ? "" : `${fmt(state.x[0])} to ${fmt(state.x[1])} s`;
}
