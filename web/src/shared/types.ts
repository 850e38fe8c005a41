/** What the command serves and what reports hold; crates/report/src/shelf and crates/lab/src/arena have the definitions. */

import type { Paint } from "./colours";

export interface Metric {
  key: string;
  label: string;
  unit: string;
  decimals: number;
  better: "higher" | "lower" | null;
  help: string;
}

export interface Entry {
  path: string;
  scenario: string;
  labels: [string, string][];
  controllers: string[];
  seed: number;
  duration_s: number;
  /** Seconds since 1970. */
  written: number;
  scenario_hash: string;
  metrics: Record<string, number>;
}

/** A mean over seeds, with its 95 % interval where there are several. */
export interface Estimate {
  mean: number;
  interval: { low: number; high: number } | null;
  n: number;
}

/** A row less another, over the seeds that both have. */
export interface Difference extends Estimate {
  /** Chance alone gives such a difference less than once in twenty times. */
  stands: boolean;
}

/** By the path of a row's first run, then by the metric's key. */
export type Differences = Record<string, Record<string, Difference>>;

export interface Group {
  paths: string[];
  seeds: number[];
  /** Seconds since 1970. */
  written: number;
  values: Record<string, Estimate>;
}

export interface Page {
  path: string;
  written: number;
}

export interface Curve {
  name: string;
  unit: string;
  x: number[];
  y: number[];
}

export interface Live {
  path: string;
  kind: string;
  title: string;
  share: number | null;
  elapsed_s: number;
  curves: Curve[];
}

export interface Shelf {
  root: string;
  version: string;
  metrics: Metric[];
  colours: Record<string, Paint>;
  most: number;
  entries: Entry[];
  /** Runs that differ by their seeds alone, with means and intervals: all statistics are the command's. */
  groups: Group[];
  pages: Page[];
}

export interface System {
  name: string;
  title: string;
  controller: string;
  edge: string;
  values: Record<string, Estimate>;
  /** The seeds' own values of the two measures of the front. */
  samples: [number, number][];
  on_front: boolean;
  command: string;
}

export interface Cell {
  name: string;
  /** The scenario's name: `drawn/bulk-17` of a cell `bulk-17`. */
  scenario: string;
  title: string;
  /** What it is. */
  about: string;
  class: string;
  /** Keys of what is drawn against each other: more is better of the first, less of the second. */
  front: [string, string];
  systems: System[];
  /** `significant`: in the first and in the second measure of the front. */
  wins: { winner: number; loser: number; significant: [boolean, boolean] }[];
}

/** A system over all drawn cells of one kind. */
export interface Standing {
  name: string;
  title: string;
  controller: string;
  /** Cells that it shares with the base. */
  cells: number;
  /** In how many of them it is on the front. */
  front: number;
  /** Beside the base, by measure: the geometric mean of ratios, or the mean of differences. */
  beside: [Estimate | null, Estimate | null];
  worst: [Worst | null, Worst | null];
}

/** The worst cell of a system beside the base. */
export type Worst = [value: number, cell: string];

/** All systems of the drawn cells of one kind. */
export interface Overall {
  kind: string;
  class: string;
  front: [string, string];
  /** True where a measure is compared by ratios, else by differences. */
  ratio: [boolean, boolean];
  /** Name of the system that the others are compared with: the first of `systems`. */
  base: string;
  cells: number;
  systems: Standing[];
}

/** Who is how good in an arena. */
export interface Table {
  /** The program's. */
  version: string;
  quick: boolean;
  seeds: number[];
  cells: Cell[];
  /** Cells that were not run. */
  skipped: [cell: string, why: string][];
  /** Of drawn cells, by kind; absent where none was drawn. */
  overall?: Overall[];
}

export interface Arena {
  path: string;
  written: number;
  table: Table;
}

export interface Arenas {
  measures: Metric[];
  colours: Record<string, Paint>;
  arenas: Arena[];
}
