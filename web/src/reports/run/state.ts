/** What the reader has chosen on the page of a run, or of several. */

import { ascending } from "../columns";
import type { RunPage } from "../data";
import { dataOf } from "../page";

export const data = dataOf<RunPage>();

export const state = {
  /** Runs that are drawn, by their index. */
  shown: new Set(data.runs.flatMap((run, i) => (run.shown ? [i] : []))),
  /** Plots on a logarithmic axis. */
  log: new Set<string>(),
  /** Crowded plots that draw their side curves all the same. */
  sides: new Set<string>(),
  /** Zoomed range of time in seconds. */
  x: null as [number, number] | null,
  /** Key of the lane whose states tint the plots; null: the page chooses. */
  shade: null as string | null,
  /** All of time that the shown runs cover, in seconds. */
  full: [0, 1] as [number, number],
};

export const shownRuns = () => [...state.shown].flatMap((r) => data.runs[r] ?? []);

/** Several runs are drawn: curves have the names of their runs. */
export const many = (): boolean => state.shown.size > 1;

/** From the first to the last point of the shown runs. */
export function covered(): [number, number] {
  const times = shownRuns().flatMap((run) => run.series.map((series) => ascending(series.t)));
  const ends = times.flatMap((t): [number, number][] => {
    const [first, last] = [t[0], t[t.length - 1]];
    return first === undefined || last === undefined ? [] : [[first, last]];
  });
  return ends.length > 0 ? [Math.min(...ends.map(([first]) => first)), Math.max(...ends.map(([, last]) => last))] : [0, 1];
}
