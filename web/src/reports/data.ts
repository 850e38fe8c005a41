/** What the command embeds in a page, as JSON; crates/report/src/payload.rs, arena.rs and paper/payload.rs have the definitions. */

import type { Paint as Colours } from "../shared/colours";
import type { Metric, Table } from "../shared/types";

export type Shape = "circle" | "square" | "up" | "down" | "diamond" | "plus" | "cross" | "star";

export interface Paint extends Colours {
  /** Of a point in a scatter plot. */
  shape: Shape;
}

/** Integers `d`, each the difference to the one before, times `q`; `n` integers from `a` in steps of `s`, times `q`; or numbers as they are. */
export type Packed = { q: number; d: number[] } | { q: number; d?: undefined; a: number; s: number; n: number } | (number | null)[];

/** A mean and the ends of its 95 % interval, where there is one. */
export type Estimate = [mean: number | null, low: number | null, high: number | null];

/** Main: what the plot is about. Side: belongs to a main curve, thin. Area: grey, behind everything. */
export type Role = "main" | "side" | "area";

/** What each page has; the validation page has no more. */
export interface Palette {
  controllers: Record<string, Paint>;
  states: Record<string, Paint>;
  /** Of what belongs to no controller. */
  link: Paint;
}

/** What a page with curves has. */
export interface Common extends Palette {
  /** Columns of numbers: curves name them by their index. */
  columns: Packed[];
}

export interface Trade {
  x_label: string;
  x_unit: string;
  y_label: string;
  y_unit: string;
  points: TradePoint[];
  /** The horizontal axis goes by the logarithm. */
  log?: boolean;
}

export interface TradePoint {
  label: string;
  controller: string;
  x: Estimate;
  y: Estimate;
  /** Single seeds, as x and y. */
  samples: [x: number | null, y: number | null][];
  /** Drawn without a filling. */
  hollow?: boolean;
}

// ---- a run, or several

export interface RunPage extends Common {
  panels: Panel[];
  runs: Run[];
  trade_off: Trade | null;
}

export interface Panel {
  id: string;
  title: string;
  axis: string;
  unit: string;
  help: string;
}

export interface Run {
  name: string;
  label: string;
  controllers: string[];
  seed: number | null;
  shown: boolean;
  series: Series[];
  cdfs: Cdf[];
  events: Ticks[];
  bands: States[];
}

export interface Series {
  id: string;
  label: string;
  controller: string;
  /** Index of its plot. */
  panel: number;
  role: Role;
  name: string;
  unit: string;
  t: number;
  y: number;
  /** Number of points before thinning. */
  n: number;
  /** From where to where it goes over the seeds. */
  spread?: { seeds: number; t: number; low: number; high: number };
  /** Least, mean and greatest value before thinning. */
  stats: Estimate | null;
}

export interface Cdf {
  label: string;
  controller: string;
  quantity: string;
  unit: string;
  x: number;
  p: number;
}

export type EventKind = "drop" | "mark" | "retransmission" | "timeout" | "handover";

export interface Ticks {
  kind: EventKind;
  label: string;
  controller: string;
  t: number;
  /** How many there were before thinning. */
  n: number;
}

export interface States {
  label: string;
  controller: string;
  names: string[];
  /** Index into `names`, start and end in seconds. */
  bands: [name: number, start: number, end: number][];
}

// ---- a paper

export interface PaperPage extends Common {
  /** The plots of each figure. */
  figures: PaperPanel[][];
}

export interface Guide {
  at: number;
  label: string;
}

export interface PaperPanel {
  id: string;
  kind: "time" | "cdf" | "bars" | "scatter";
  title: string;
  help: string;
  wide: boolean;
  axis: string;
  unit: string;
  /** Where the axis starts, in place of zero. */
  from: number | null;
  /** Where it ends at most. */
  top: number | null;
  guides: Guide[];
  curves: PaperCurve[];
  tracks: States[];
  bars: Bar[];
  scatter: Trade | null;
}

export interface PaperCurve {
  label: string;
  controller: string;
  role: Role;
  x: number;
  y: number;
  /** Least, mean, greatest value and number of points, before thinning. */
  stats: [number | null, number | null, number | null, number] | null;
}

export interface Bar {
  group: string;
  label: string;
  controller: string;
  value: Estimate;
  samples: (number | null)[];
}

// ---- the arena

export interface ArenaPage extends Palette {
  measures: Metric[];
  table: Table;
  /** Reports of single runs lie beside the page. */
  records: boolean;
}
